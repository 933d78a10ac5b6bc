//! Discovers the git directories of working trees.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::git_settings::MAX_CONFIG_FILE_BYTES;
use super::{Repository, config_rewrite, path_text, sys};

/// The maximum number of writable repositories: each has a layer in every run.
const MAX_LAYERED_REPOSITORIES: usize = 32;
/// The maximum number of other repositories: each becomes a read-only mount.
const MAX_READ_ONLY_MOUNTS: usize = 20_000;
/// The maximum size of a `.git` file: a path and a few letters.
const MAX_POINTER_BYTES: u64 = 8 * 1024;

/// The git directories that were discovered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DiscoveredRepositories {
    /// The writable git directories, none inside another.
    pub(crate) repositories: Vec<Repository>,
    /// Files and links named `.git`, which must be read-only.
    pub(crate) pointers: Vec<PathBuf>,
    /// Git directories without a layer, which must be read-only.
    pub(crate) read_only: Vec<PathBuf>,
    /// Git directories without a working tree here: bare ones, and those whose tree lies elsewhere.
    pub(crate) bare: Vec<PathBuf>,
    /// All repositories of working trees, including those inside another one.
    pub(crate) trees: Vec<Repository>,
    /// True if the limits were exceeded.
    pub(crate) truncated: bool,
}

/// Returns the git directories of the working trees `trees` (real paths) in the writable roots. Also returns those of
/// `trees` that are git directories themselves.
pub(crate) fn find_repositories<'a>(
    trees: impl IntoIterator<Item = &'a PathBuf>,
    writable: &[PathBuf],
) -> DiscoveredRepositories {
    let mut found = DiscoveredRepositories::default();
    for tree in trees {
        let Ok(dir) = sys::root(tree) else { continue };
        if found.record_tree(tree, dir.as_fd(), writable).is_break() {
            found.truncated = true;
            break;
        }
    }
    let DiscoveredRepositories { repositories, read_only, bare, .. } = &mut found;
    let is_known = |at: &PathBuf| {
        read_only.iter().chain(repositories.iter().map(|known| &known.at)).any(|known| at.starts_with(known))
    };
    bare.retain(|at| !is_known(at));
    found
}

/// Decides whether git could take a directory for a git directory.
///
/// Git requires a `HEAD`, and searchable `objects` and `refs`. It accepts an executable file or a FIFO for such a
/// directory too, and finds both elsewhere if there is a `commondir`. So only names count here, not kinds.
pub(crate) fn is_git(path: &Path) -> bool {
    // Git does not list the directory, so neither does this check.
    let has = |name: &str| sys::is_there(&path.join(name));
    let head = sys::kind_of(&path.join("HEAD"));
    matches!(head, Some(FileType::RegularFile | FileType::Symlink))
        && (has("commondir") || has("objects") && has("refs"))
}

/// Returns the repositories of the directories above `root`, the nearest first: git searches upwards, and their
/// configuration may name files in `root`. `is_ours` decides whether a directory belongs to this user.
pub(crate) fn outer_repositories(root: &Path, is_ours: impl Fn(&Path) -> bool) -> Vec<Repository> {
    let above = root.ancestors().skip(1).take_while(|above| is_ours(above));
    let repository = |above: &Path| {
        let at = match sys::kind_of(&above.join(".git"))? {
            FileType::Directory => above.join(".git"),
            _ => common_directory(above)?,
        };
        Some(Repository { at, root: above.to_owned() })
    };
    above.filter_map(repository).collect()
}

/// Returns the git directory of a linked working tree's own, beside the common one.
pub(super) fn worktree_git_directory(Repository { at, root }: &Repository) -> Option<PathBuf> {
    let own = sys::canonical_path(&read_git_pointer(root)?).ok()?;
    (own != *at).then_some(own)
}

impl DiscoveredRepositories {
    /// Records the `.git` of the directory `tree`.
    fn record_tree(&mut self, tree: &Path, dir: BorrowedFd<'_>, writable: &[PathBuf]) -> ControlFlow<()> {
        if is_git(tree) {
            if self.bare.len() == MAX_READ_ONLY_MOUNTS {
                return ControlFlow::Break(());
            }
            self.bare.push(tree.to_owned());
        }
        let Ok(Some(stat)) = sys::stat_name(dir, OsStr::new(".git")) else {
            return ControlFlow::Continue(());
        };
        match sys::file_type(&stat) {
            FileType::Directory => self.add(Repository { at: tree.join(".git"), root: tree.to_owned() }),
            kind => {
                if self.pointers.len() == MAX_READ_ONLY_MOUNTS {
                    return ControlFlow::Break(());
                }
                self.pointers.push(tree.join(".git"));
                let at = match kind {
                    FileType::RegularFile => {
                        let text = sys::read_small_file(dir, Path::new(".git"), MAX_POINTER_BYTES);
                        text.and_then(|text| {
                            verified_git_directory(&text, tree)
                                .or_else(|| writable_git_directory(&parse_pointer(&text, tree)?, writable))
                        })
                    }
                    FileType::Symlink => writable_git_directory(&tree.join(".git"), writable),
                    _ => None,
                };
                at.map_or(ControlFlow::Continue(()), |at| self.add(Repository { at, root: tree.to_owned() }))
            }
        }
    }

    fn add(&mut self, repository: Repository) -> ControlFlow<()> {
        if !self.trees.contains(&repository) {
            self.trees.push(repository.clone());
        }
        if self.repositories.iter().any(|known| repository.at.starts_with(&known.at)) {
            return ControlFlow::Continue(());
        }
        self.repositories.retain(|known| !known.at.starts_with(&repository.at));
        // A directory that is not a git directory, or one too many, stays read-only, regardless of its creator.
        if self.repositories.len() < MAX_LAYERED_REPOSITORIES && is_git(&repository.at) {
            self.repositories.push(repository);
        } else if self.read_only.len() == MAX_READ_ONLY_MOUNTS {
            return ControlFlow::Break(());
        } else {
            self.read_only.push(repository.at);
        }
        ControlFlow::Continue(())
    }
}

/// Returns the git directory that `path` leads to, if it lies in a writable root: protecting that needs no proof of
/// ownership.
fn writable_git_directory(path: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let real = sys::canonical_path(path).ok()?;
    let inside = writable.iter().any(|root| real.starts_with(root) && real != *root);
    (inside && is_git(&real)).then_some(real)
}

/// Returns the git directory that the file `.git` in `tree` states.
pub(super) fn read_git_pointer(tree: &Path) -> Option<PathBuf> {
    let dir = sys::root(tree).ok()?;
    parse_pointer(&sys::read_small_file(dir.as_fd(), Path::new(".git"), MAX_POINTER_BYTES)?, tree)
}

/// Returns the git directory that the file `.git` in `tree` leads to. For a linked working tree, it is the common
/// directory.
pub(crate) fn common_directory(tree: &Path) -> Option<PathBuf> {
    let git = sys::canonical_path(&read_git_pointer(tree)?).ok()?;
    let dir = sys::root(&git).ok()?;
    let common = sys::read_small_file(dir.as_fd(), Path::new("commondir"), MAX_POINTER_BYTES);
    match common.as_deref().and_then(single_line) {
        Some(common) => sys::canonical_path(&git.join(common)).ok(),
        None => Some(git),
    }
}

/// Returns the git directory that the pointer `text` in `tree` states.
fn parse_pointer(text: &[u8], tree: &Path) -> Option<PathBuf> {
    Some(tree.join(single_line(text.strip_prefix(b"gitdir: ")?)?))
}

/// Returns the git directory that the pointer `text` in `tree` leads to, if that directory refers back to the tree:
/// the pointer is content of the repository, and may lie.
fn verified_git_directory(text: &[u8], tree: &Path) -> Option<PathBuf> {
    let git = sys::canonical_path(&parse_pointer(text, tree)?).ok()?;
    let dir = sys::root(&git).ok()?;
    match sys::stat_name(dir.as_fd(), OsStr::new("commondir")).ok()? {
        Some(_) => {
            let common = sys::read_small_file(dir.as_fd(), Path::new("commondir"), MAX_POINTER_BYTES)?;
            let common = sys::canonical_path(&git.join(single_line(&common)?)).ok()?;
            // Otherwise a directory in the workspace could claim any repository.
            let listed = git.parent() == Some(&common.join("worktrees"));
            let back = sys::read_small_file(dir.as_fd(), Path::new("gitdir"), MAX_POINTER_BYTES)?;
            let back = git.join(single_line(&back)?);
            (listed && back.file_name() == Some(OsStr::new(".git")) && resolves_to(back.parent()?, tree))
                .then_some(common)
        }
        None => {
            let text = sys::read_small_file(dir.as_fd(), Path::new("config"), MAX_CONFIG_FILE_BYTES)?;
            let named = config_rewrite::worktree(&text)?;
            let is_module = path_text::parts(&git).contains(&b"modules".as_slice());
            (is_module && resolves_to(&git.join(named), tree)).then_some(git)
        }
    }
}

fn resolves_to(path: &Path, tree: &Path) -> bool {
    sys::canonical_path(path).is_ok_and(|real| real == tree)
}

/// Returns the single line of a pointer.
fn single_line(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let text = &text[..end];
    (!text.is_empty() && !text.contains(&b'\n') && !text.contains(&0))
        .then(|| Path::new(OsStr::from_bytes(text)))
}
