//! Git directories that commands make where the user's git would walk into them by itself, configuration and all.
//!
//! Git takes a directory with a `HEAD`, `objects` and `refs` in it for a repository, and from a repository it walks into what
//! lies at the place of a submodule. No mount can wait for such names, so they are looked for when a run is over, and what
//! would make git believe them is renamed.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, RenameFlags, renameat_with};

use super::hash::Format;
use super::index::{self, Known};
use super::{Repository, discover, sys};
use crate::sandbox::plan::to_path;

/// How many submodules are looked at.
const MAX_MODULES: usize = 1_000;
/// What a configuration may hold.
const CONFIG: u64 = 1 << 20;
/// What is put behind the name of what was renamed.
const BEHIND: &str = ".untrusted";

/// Where commands of a session could make git directories that git walks into by itself.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    repositories: Vec<Repository>,
    places: Mutex<Vec<Stray>>,
}

impl Strays {
    /// Those of `roots` that are in no repository, and the places of submodules that are not there.
    pub(crate) fn new<'a>(roots: impl Iterator<Item = &'a PathBuf>, repositories: &[Repository]) -> Self {
        let roots = roots.cloned().filter_map(Stray::of_root);
        let places = roots.chain(repositories.iter().flat_map(empty_modules)).collect();
        Self { repositories: repositories.to_vec(), places: Mutex::new(places) }
    }

    /// A run is over: renames what git must not walk into, and says what was done. If git directories were `changed`, there
    /// may be more such places for the next one.
    pub(crate) fn defuse(&self, changed: bool) -> Vec<String> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let told = places.iter().filter_map(Stray::defuse).collect();
        if changed {
            let new: Vec<Stray> = self.repositories.iter().flat_map(empty_modules).collect();
            let room = MAX_MODULES.saturating_sub(places.len());
            let new: Vec<Stray> =
                new.into_iter().filter(|place| !places.contains(place)).take(room).collect();
            places.extend(new);
        }
        told
    }
}

/// A place where there was no git directory when the session began.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stray {
    /// A root that is in no repository: it could become one itself.
    Root(PathBuf),
    /// A root that is a git directory itself: it could be led to another one.
    Bare(PathBuf),
    /// The place of a submodule of the repository at `of` that is not there.
    Module { at: PathBuf, of: PathBuf },
}

/// The places of submodules of `repository` at which there is no git directory yet.
fn empty_modules(Repository { at, root }: &Repository) -> Vec<Stray> {
    let Ok(git) = sys::root(at) else { return Vec::new() };
    let read = |name: &str, most| sys::small(git.as_fd(), Path::new(name), most);
    let Some(format) = read("config", CONFIG).and_then(|config| Format::of(&config)) else {
        return Vec::new();
    };
    let index = read("index", index::LARGEST).unwrap_or_default();
    let links = Known::of(&index, format).links.into_iter().take(MAX_MODULES);
    let places = links.map(|path| root.join(to_path(path)));
    let has_none = |place: &PathBuf| {
        let found = sys::root(place).map(|dir| sys::look(dir.as_fd(), OsStr::new(".git")));
        !matches!(found, Ok(Ok(Some(_))))
    };
    places.filter(has_none).map(|place| Stray::Module { at: place, of: at.clone() }).collect()
}

impl Stray {
    fn of_root(root: PathBuf) -> Option<Self> {
        if !discover::is_git(&root) {
            return Some(Self::Root(root));
        }
        let common =
            sys::root(&root).ok().and_then(|dir| sys::look(dir.as_fd(), OsStr::new("commondir")).ok());
        matches!(common, Some(None)).then_some(Self::Bare(root))
    }

    /// Renames what git must not walk into; says what was done.
    fn defuse(&self) -> Option<String> {
        match self {
            Self::Root(root) => {
                let done = discover::is_git(root) && rename(root, "HEAD");
                done.then(|| told(&root.join("HEAD"), "the directory would be a git directory itself"))
            }
            Self::Bare(root) => {
                let done = rename(root, "commondir");
                done.then(|| {
                    told(&root.join("commondir"), "git would take it for the way to another git directory")
                })
            }
            Self::Module { at, of } => {
                let git =
                    sys::root(at).ok().and_then(|dir| sys::look(dir.as_fd(), OsStr::new(".git")).ok()?);
                let kept = match git.map(|stat| sys::kind(&stat)) {
                    None => true,
                    Some(FileType::RegularFile) => leads_to_modules(at, of),
                    Some(_) => false,
                };
                let done = !kept && rename(at, ".git");
                done.then(|| told(&at.join(".git"), "git would walk into it from the repository above"))
            }
        }
    }
}

/// Whether the pointer in `at` leads into the modules of the git directory `of`, whose configuration we have written.
fn leads_to_modules(at: &Path, of: &Path) -> bool {
    discover::pointer(at)
        .and_then(|git| sys::real(&git).ok())
        .is_some_and(|git| git.starts_with(of.join("modules")))
}

fn rename(directory: &Path, name: &str) -> bool {
    let Ok(dir) = sys::root(directory) else { return false };
    let new = |number: usize| {
        if number == 0 { format!("{name}{BEHIND}") } else { format!("{name}{BEHIND}-{number}") }
    };
    // Nothing is lost: what has that name already keeps it.
    (0..100).any(|number| renameat_with(&dir, name, &dir, new(number), RenameFlags::NOREPLACE).is_ok())
}

fn told(path: &Path, why: &str) -> String {
    format!(
        "`{}` was renamed to `…{BEHIND}`: {why}, with a configuration that nobody has looked at",
        path.display()
    )
}
