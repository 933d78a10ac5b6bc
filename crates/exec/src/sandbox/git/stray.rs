//! What commands make where a program of the user's would obey it by itself: git directories that git walks into, and
//! configuration of agents and editors that was not there.
//!
//! Git takes a directory with a `HEAD`, `objects` and `refs` in it for a repository, and from a repository it walks into what
//! lies at the place of a submodule. No mount can wait for such names. They are looked for while a run goes on and when it is
//! over, and what would make a program obey them is renamed. The places are written down, so that the next session finds what
//! was made by one that was killed.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::FileType;

use super::hash::Format;
use super::index::{self, Known};
use super::{Repository, discover, sys};
use crate::sandbox::plan::to_path;
use crate::sandbox::scratch;
use crate::sandbox::set_aside::{set_aside, told};

/// How many submodules are looked at.
const MAX_MODULES: usize = 1_000;
/// What a configuration may hold.
const CONFIG: u64 = 1 << 20;

/// Where commands of a session could make what a program of the user's obeys by itself.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    repositories: Vec<Repository>,
    places: Mutex<Vec<Stray>>,
    /// What a session that was killed had left, which nobody has been told of.
    left: Mutex<Vec<String>>,
}

impl Strays {
    /// Those of `roots` that are in no repository, the places of submodules that are not there, and those of missing
    /// `configuration`, each with the action that makes it take effect. `left` is told with the first run.
    pub(crate) fn new<'a>(
        roots: impl Iterator<Item = &'a PathBuf>,
        repositories: &[Repository],
        configuration: Vec<(PathBuf, String)>,
        left: Vec<String>,
    ) -> Self {
        let roots = roots.cloned().filter_map(Stray::of_root);
        let modules = repositories.iter().flat_map(empty_modules);
        let missing = configuration.into_iter().map(|(at, when)| Stray::Configuration { at, when });
        let places = roots.chain(modules).chain(missing).collect();
        Self { repositories: repositories.to_vec(), places: Mutex::new(places), left: Mutex::new(left) }
    }

    /// Renames what a program must not obey, but for what was `accepted`, and says what was done. If git directories were
    /// `changed`, there may be more such places for the next run.
    pub(crate) fn defuse(&self, accepted: &BTreeSet<PathBuf>, changed: bool) -> Vec<String> {
        let mut told = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let open = places.iter().filter(|place| !place.is_in(accepted));
        told.extend(open.filter_map(Stray::defuse));
        if changed {
            let new: Vec<Stray> = self.repositories.iter().flat_map(empty_modules).collect();
            let room = MAX_MODULES.saturating_sub(places.len());
            let new: Vec<Stray> =
                new.into_iter().filter(|place| !places.contains(place)).take(room).collect();
            places.extend(new);
        }
        told
    }

    /// The places as bytes, for [`recover`].
    pub(crate) fn written(&self) -> Vec<u8> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().flat_map(Stray::written).collect()
    }
}

/// Renames what a session that was killed has let be made at the places that it had `written` down, and says what was done.
/// `made_then` says whether a path was made while that session lived.
pub(crate) fn recover(written: &[u8], made_then: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut fields = written.split(|&byte| byte == 0);
    let mut told = Vec::new();
    // ends: each step takes three fields of the text
    while let (Some(kind), Some(at), Some(rest)) = (fields.next(), fields.next(), fields.next()) {
        let (at, of) = (to_path(at.to_vec()), to_path(rest.to_vec()));
        let when = String::from_utf8_lossy(rest).into_owned();
        let place = match kind {
            b"root" => Stray::Root(at),
            b"bare" => Stray::Bare(at),
            b"module" => Stray::Module { at, of },
            b"configuration" if made_then(&at) => Stray::Configuration { at, when },
            _ => continue,
        };
        told.extend(place.defuse());
    }
    told
}

/// A place where there was nothing to obey when the session began.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stray {
    /// A root that is in no repository: it could become one itself.
    Root(PathBuf),
    /// A root that is a git directory itself: it could be led to another one.
    Bare(PathBuf),
    /// The place of a submodule of the repository at `of` that is not there.
    Module { at: PathBuf, of: PathBuf },
    /// Configuration that is missing, and would take effect when the user does `when`.
    Configuration { at: PathBuf, when: String },
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
    let has_none = |place: &PathBuf| !sys::is_there(&place.join(".git"));
    places.filter(has_none).map(|place| Stray::Module { at: place, of: at.clone() }).collect()
}

impl Stray {
    fn of_root(root: PathBuf) -> Option<Self> {
        if !discover::is_git(&root) {
            return Some(Self::Root(root));
        }
        (!sys::is_there(&root.join("commondir"))).then_some(Self::Bare(root))
    }

    fn is_in(&self, accepted: &BTreeSet<PathBuf>) -> bool {
        matches!(self, Self::Configuration { at, .. } if accepted.contains(at))
    }

    fn written(&self) -> Vec<u8> {
        let (kind, at, rest) = match self {
            Self::Root(root) => ("root", root, Vec::new()),
            Self::Bare(root) => ("bare", root, Vec::new()),
            Self::Module { at, of } => ("module", at, of.as_os_str().as_encoded_bytes().to_vec()),
            Self::Configuration { at, when } => ("configuration", at, when.clone().into_bytes()),
        };
        [kind.as_bytes(), b"\0", at.as_os_str().as_encoded_bytes(), b"\0", &rest, b"\0"].concat()
    }

    /// Renames what a program must not obey; says what was done, or that it could not be.
    fn defuse(&self) -> Option<String> {
        match self {
            Self::Root(root) => {
                let head = root.join("HEAD");
                let why = "git would take the directory for a repository and obey its configuration when you use git there";
                discover::is_git(root).then(|| told(&head, set_aside(&head), why))
            }
            Self::Bare(root) => {
                let common = root.join("commondir");
                let why = "git would follow it to another git directory when you use git there";
                sys::is_there(&common).then(|| told(&common, set_aside(&common), why))
            }
            Self::Module { at, of } => {
                let git = at.join(".git");
                let kept = match sys::kind_of(&git) {
                    None => true,
                    Some(FileType::RegularFile) => leads_to_modules(at, of),
                    Some(_) => false,
                };
                let why = "git would walk into it from the repository above and obey its configuration when you use git there";
                (!kept).then(|| told(&git, set_aside(&git), why))
            }
            Self::Configuration { at, when } => {
                let why = format!("it would take effect on this machine next time you {when}");
                is_made(at).then(|| told(at, set_aside(at), &why))
            }
        }
    }
}

/// Whether there is something at `at` that is more than an empty directory of ours.
fn is_made(at: &Path) -> bool {
    sys::is_there(at) && !scratch::is_placeholder(at)
}

/// Whether the pointer in `at` leads into the modules of the git directory `of`, whose configuration we have written.
fn leads_to_modules(at: &Path, of: &Path) -> bool {
    discover::pointer(at)
        .and_then(|git| sys::real(&git).ok())
        .is_some_and(|git| git.starts_with(of.join("modules")))
}
