//! Where the git directories of a writable root are.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Repository, config, paths, sys};

/// How deep below the root a repository is looked for.
const LEVELS: usize = 4;
/// How many directories are listed.
const DIRECTORIES: usize = 4_000;
/// How many repositories are told of.
const REPOSITORIES: usize = 32;
/// How many pointers are told of: each becomes a mount.
const POINTERS: usize = 256;
/// What a pointer may hold: a path and a few letters.
const POINTER: u64 = 8 * 1024;
/// What a configuration may hold.
const CONFIG: u64 = 1 << 20;
/// How many directories may wait to be listed.
const WAITING: usize = 200_000;

/// What the walk found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Discovered {
    /// The git directories, no one inside another.
    pub(crate) repositories: Vec<Repository>,
    /// Files and links with the name `.git`, which must be read-only.
    pub(crate) pointers: Vec<PathBuf>,
    /// The walk stopped early: there were too many directories, or repositories, or pointers.
    pub(crate) cut: bool,
}

/// The git directories of the writable root `root` (a real path). Nothing deeper than four levels is found.
pub(crate) fn repositories(root: &Path) -> Discovered {
    let mut found = Discovered::default();
    let Ok(top) = sys::root(root) else { return found };
    let mut waiting = VecDeque::from([(PathBuf::new(), 0)]);
    // What is large and seldom holds a repository waits until everything else has been seen.
    let mut last = VecDeque::new();
    // ends: each turn takes one of at most DIRECTORIES
    for _ in 0..DIRECTORIES {
        let Some((below, level)) = waiting.pop_front().or_else(|| last.pop_front()) else { return found };
        let Ok(dir) = sys::beneath(top.as_fd(), &below, sys::LIST) else { continue };
        let mut git = None;
        // A directory that cannot be listed to its end is taken for what was seen of it.
        let _ = sys::list(dir.as_fd(), |name, listed| {
            if name == ".git" {
                git = Some(listed);
            } else if level < LEVELS && listed == FileType::Directory {
                let queue = if name == "node_modules" || name == "target" { &mut last } else { &mut waiting };
                if queue.len() == WAITING {
                    found.cut = true;
                    return ControlFlow::Break(());
                }
                queue.push_back((below.join(name), level + 1));
            }
            ControlFlow::Continue(())
        });
        if git.is_some() && found.see(&root.join(&below), dir.as_fd()).is_break() {
            found.cut = true;
            return found;
        }
    }
    found.cut |= !waiting.is_empty() || !last.is_empty();
    found
}

impl Discovered {
    /// Takes in the `.git` of the directory `tree`.
    fn see(&mut self, tree: &Path, dir: BorrowedFd<'_>) -> ControlFlow<()> {
        let Ok(Some(stat)) = sys::look(dir, OsStr::new(".git")) else { return ControlFlow::Continue(()) };
        match sys::kind(&stat) {
            FileType::Directory => self.add(Repository { at: tree.join(".git"), root: tree.to_owned() }),
            kind => {
                if self.pointers.len() == POINTERS {
                    return ControlFlow::Break(());
                }
                self.pointers.push(tree.join(".git"));
                let text = (kind == FileType::RegularFile)
                    .then(|| sys::small(dir, Path::new(".git"), POINTER))
                    .flatten();
                match text.and_then(|text| proven(&text, tree)) {
                    Some(at) => self.add(Repository { at, root: tree.to_owned() }),
                    None => ControlFlow::Continue(()),
                }
            }
        }
    }

    fn add(&mut self, repository: Repository) -> ControlFlow<()> {
        if self.repositories.iter().any(|known| repository.at.starts_with(&known.at)) {
            return ControlFlow::Continue(());
        }
        self.repositories.retain(|known| !known.at.starts_with(&repository.at));
        if self.repositories.len() == REPOSITORIES {
            return ControlFlow::Break(());
        }
        self.repositories.push(repository);
        ControlFlow::Continue(())
    }
}

/// The git directory that the pointer `text` in `tree` leads to, if that one says itself that it belongs to the tree: the
/// pointer is content of the repository, and may lie.
fn proven(text: &[u8], tree: &Path) -> Option<PathBuf> {
    let git = sys::real(&tree.join(line(text.strip_prefix(b"gitdir: ")?)?)).ok()?;
    let dir = sys::root(&git).ok()?;
    match sys::look(dir.as_fd(), OsStr::new("commondir")).ok()? {
        Some(_) => {
            let common = sys::small(dir.as_fd(), Path::new("commondir"), POINTER)?;
            let common = sys::real(&git.join(line(&common)?)).ok()?;
            // Or else a directory in the workspace could claim any repository for its own.
            let listed = git.parent() == Some(&common.join("worktrees"));
            let back = sys::small(dir.as_fd(), Path::new("gitdir"), POINTER)?;
            let back = git.join(line(&back)?);
            (listed && back.file_name() == Some(OsStr::new(".git")) && leads(back.parent()?, tree))
                .then_some(common)
        }
        None => {
            let text = sys::small(dir.as_fd(), Path::new("config"), CONFIG)?;
            let named = config::worktree(&text)?;
            let is_module = paths::parts(&git).contains(&b"modules".as_slice());
            (is_module && leads(&git.join(named), tree)).then_some(git)
        }
    }
}

fn leads(path: &Path, tree: &Path) -> bool {
    sys::real(path).is_ok_and(|real| real == tree)
}

/// The one line of a pointer.
fn line(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let text = &text[..end];
    (!text.is_empty() && !text.contains(&b'\n') && !text.contains(&0))
        .then(|| Path::new(OsStr::from_bytes(text)))
}
