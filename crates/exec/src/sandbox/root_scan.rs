//! Scans the roots of a policy once, for denied files, git directories and files that take effect on the host.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::{DenyRead, HostFile};
use rustix::fs::{Access, AtFlags, CWD, FileType, OFlags, StatxFlags, accessat, fstat, statat, statx};
use rustix::io::{Errno, Result};
use rustix::process::geteuid;

use super::changed_files::{DirectoryIndex, role_by_name};
use super::git::{is_git, sys};
use crate::fs::canonicalize;

/// The maximum number of entries. A cell is created once in a session.
const MAX_ENTRIES: usize = 5_000_000;
/// The maximum number of hidden paths; each is a mount.
const MAX_HIDDEN: usize = 20_000;
/// A directory with a longer path is hidden as a whole: a file too deep for a path could not be hidden.
const MAX_PATH_BYTES: usize = 3_000;
/// The maximum number of working trees.
const MAX_TREES: usize = 20_000;
/// The maximum number of files below the top of a root whose changes are reported.
const MAX_WATCHED_FILES: usize = 1_000;
/// The maximum number of files in a directory that a link named like configuration leads to.
const MAX_BEHIND_LINK: usize = 100;
/// Large directories with third-party files.
const THIRD_PARTY_DIRECTORIES: &[&str] =
    &["node_modules", "target", "vendor", ".venv", "venv", "site-packages"];
/// Names in a git directory, of which each has at least two.
const GIT_DIRECTORY_NAMES: &[&str] = &["HEAD", "objects", "refs", "commondir"];

/// System directories: a link with the name of a secret does not make a file there secret.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/sys", "/dev", "/run", "/nix"];

/// Returns the birth time of `path`, which no program can set. It is equal for all files where the file system lacks
/// it.
fn birth_time(path: &Path) -> (i64, u32) {
    let stat = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME);
    let known = stat.ok().filter(|stat| stat.stx_mask & StatxFlags::BTIME.bits() != 0);
    known.map_or((0, 0), |stat| (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

/// Returns true if the opened file belongs to this user, who can change its mode.
fn is_owned_by_user(opened: Result<OwnedFd>) -> bool {
    opened.and_then(fstat).is_ok_and(|stat| stat.st_uid == geteuid().as_raw())
}

/// Returns true if no file in a directory is reported: package managers and builds write it.
pub(super) fn is_package_directory(name: &OsStr) -> bool {
    is_third_party(name) && name != "vendor"
}

/// Returns true if a directory is large and holds third-party files.
pub(super) fn is_third_party(name: &OsStr) -> bool {
    THIRD_PARTY_DIRECTORIES.iter().any(|other| name == *other)
}

/// The findings of the scan.
#[derive(Debug, Default)]
pub(crate) struct RootScan {
    /// Paths that deny-read globs match.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Directories that contain `.git`, and git directories of another name.
    pub(crate) trees: Vec<PathBuf>,
    /// Files below the top of a root that take effect on the user's machine. Their changes are reported.
    pub(crate) watched_files: Vec<(PathBuf, HostFile)>,
    /// The first directories that commands can change.
    pub(crate) directories: DirectoryIndex,
    /// True if the limits cut the scan short.
    pub(crate) truncated: bool,
    /// The writable roots: only files in them can change.
    writable: Vec<PathBuf>,
}

/// Scans everything below `roots`, of which commands can change the `writable` ones. Git directories are not scanned.
pub(crate) fn scan_roots(
    roots: impl IntoIterator<Item = PathBuf>,
    writable: &[PathBuf],
    deny: &DenyRead,
) -> RootScan {
    let mut scan = RootScan { writable: writable.to_vec(), ..RootScan::default() };
    let mut left = MAX_ENTRIES;
    let mut walked: Vec<PathBuf> = Vec::new();
    for root in roots {
        if !walked.iter().any(|before| root.starts_with(before)) {
            scan.walk(&root, deny, &mut left);
            walked.push(root);
        }
    }
    // Only so many repositories can be writable. The oldest belong to the user rather than to a command.
    scan.trees.sort_by_cached_key(|tree| {
        (!walked.contains(tree), birth_time(&tree.join(".git")), depth(tree), tree.clone())
    });
    scan
}

impl RootScan {
    fn walk(&mut self, root: &Path, deny: &DenyRead, left: &mut usize) {
        let Ok(top) = sys::root(root) else {
            // A command that owns it could make it accessible again.
            self.truncated |= is_owned_by_user(sys::open_path(root));
            return;
        };
        let mut next = VecDeque::from([PathBuf::new()]);
        // Large directories that seldom hold either are scanned last.
        let mut last = VecDeque::new();
        // ends: every entry is read once, and only so many are
        while let Some(below) = next.pop_front().or_else(|| last.pop_front()) {
            let Some(directory) = self.open_directory(root, top.as_fd(), &below) else { continue };
            let mut of_git = 0;
            let at = root.join(&below);
            let is_watched = !below.as_os_str().is_empty() && self.is_watched_directory(&at, &below);
            if let Some(stat) = fstat(&directory).ok().filter(|_| is_watched) {
                self.directories.add(&at, &stat);
            }
            let tells = is_watched && self.watched_files.len() < MAX_WATCHED_FILES;
            // For a directory that cannot be listed completely, the entries read so far count.
            let _seen = sys::list(directory.as_fd(), |name, kind| {
                if *left == 0 {
                    self.truncated = true;
                    return ControlFlow::Break(());
                }
                *left -= 1;
                let entry = below.join(name);
                let path = root.join(&entry);
                of_git += usize::from(GIT_DIRECTORY_NAMES.iter().any(|known| name == *known));
                if deny.denying_entry_pattern(&path).is_some() {
                    match kind {
                        FileType::Symlink => self.hide_target(&path),
                        _ => self.hide(path),
                    }
                } else if name == ".git" {
                    self.add_tree(root, &below);
                } else if kind == FileType::Directory && path.as_os_str().len() > MAX_PATH_BYTES {
                    self.hide(path);
                } else if kind == FileType::Directory {
                    if is_third_party(name) { &mut last } else { &mut next }.push_back(entry);
                } else if tells {
                    self.record_watched_file(&path, &entry, kind);
                }
                ControlFlow::Continue(())
            });
            if of_git > 1 && !below.as_os_str().is_empty() && is_git(&root.join(&below)) {
                self.add_tree(root, &below);
            }
        }
    }

    /// Opens a directory for listing. An inaccessible one of the user's own is hidden as a whole: a command could
    /// change its mode, and find files that were not scanned.
    fn open_directory(&mut self, root: &Path, top: BorrowedFd<'_>, below: &Path) -> Option<OwnedFd> {
        let directory = sys::beneath(top, below, sys::LIST_FLAGS);
        let is_closed = match &directory {
            Ok(directory) => {
                accessat(directory, ".", Access::EXEC_OK, AtFlags::empty()) == Err(Errno::ACCESS)
            }
            Err(errno) => *errno == Errno::ACCESS,
        };
        if !is_closed {
            return directory.ok();
        }
        if is_owned_by_user(sys::beneath(top, below, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)) {
            self.hide(root.join(below));
        }
        None
    }

    /// Hides the target of a link with the name of a secret. System files stay: a link that a command has created
    /// must not hide a program from the next session.
    fn hide_target(&mut self, link: &Path) {
        let Ok(target) = canonicalize(link) else { return };
        let is_system = SYSTEM_DIRECTORIES.iter().any(|system| target.starts_with(system));
        let is_file = || {
            statat(CWD, &target, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                    && stat.st_uid == geteuid().as_raw()
            })
        };
        if !is_system && is_file() {
            self.hide(target);
        }
    }

    fn hide(&mut self, path: PathBuf) {
        if self.hidden.len() < MAX_HIDDEN {
            self.hidden.insert(path);
        } else {
            self.truncated = true;
        }
    }

    /// Returns true if changes of files in the directory at `path` are reported; `below` is its path in a root.
    fn is_watched_directory(&self, path: &Path, below: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root)) && !below.iter().any(is_package_directory)
    }

    /// Records a file that takes effect by its name, `below` a root, and the target of such a link. They are
    /// reported, not protected.
    fn record_watched_file(&mut self, path: &Path, below: &Path, kind: FileType) {
        let Some(file) = role_by_name(below) else { return };
        let mut found = vec![path.to_owned()];
        if let Some(target) = canonicalize(path).ok().filter(|_| kind == FileType::Symlink) {
            if let Ok(directory) = sys::root(&target) {
                let _seen = sys::list(directory.as_fd(), |name, _| {
                    found.push(target.join(name));
                    if found.len() < MAX_BEHIND_LINK {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                });
            }
            found.push(target);
        }
        found.retain(|path| self.writable.iter().any(|root| path.starts_with(root) && path != root));
        for path in found {
            if self.watched_files.len() < MAX_WATCHED_FILES {
                self.watched_files.push((path, file.clone()));
            }
        }
        self.directories.lacks_files |= self.watched_files.len() >= MAX_WATCHED_FILES;
    }

    fn add_tree(&mut self, root: &Path, below: &Path) {
        if self.trees.len() < MAX_TREES {
            self.trees.push(if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) });
        } else {
            self.truncated = true;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn directories_too_deep_for_a_path_are_hidden() {
        let place = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(place.path()).unwrap();
        let mut deep = root.clone();
        while deep.as_os_str().len() <= MAX_PATH_BYTES {
            deep.push("d".repeat(200));
        }
        std::fs::create_dir_all(deep.join("x")).unwrap();
        std::fs::write(deep.join("x/.env"), "x").unwrap();
        let seen = scan_roots([root], &[], &DenyRead::new(["**/.env"], None).unwrap());
        assert_eq!(seen.hidden, BTreeSet::from([deep]));
    }

    #[test]
    fn closed_directories_and_targets_of_links_are_hidden() {
        let place = tempfile::tempdir().unwrap();
        let at = std::fs::canonicalize(place.path()).unwrap();
        let (root, outside) = (at.join("w"), at.join("shared.txt"));
        for name in ["none", "no-entry", "open"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for file in [&root.join("open/.env"), &outside] {
            std::fs::write(file, "x").unwrap();
        }
        symlink("../shared.txt", root.join(".env")).unwrap();
        symlink("/usr/bin/env", root.join("open/.env.local")).unwrap();
        let modes = [("none", 0o000), ("no-entry", 0o600)];
        let set = |name: &str, mode| {
            std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        modes.iter().for_each(|(name, mode)| set(name, *mode));
        let deny = DenyRead::new(["**/.env", "**/.env.*"], None).unwrap();
        let seen = scan_roots([root.clone()], &[], &deny);
        modes.iter().for_each(|(name, _)| set(name, 0o755));
        let mut hidden = BTreeSet::from([outside, root.join("open/.env")]);
        // Root can read them.
        if !geteuid().is_root() {
            hidden.extend(modes.map(|(name, _)| root.join(name)));
        }
        assert_eq!((seen.hidden, seen.truncated), (hidden, false));
    }

    #[test]
    fn repositories_that_were_there_first_come_first() {
        let place = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(place.path()).unwrap();
        for name in ["deep/z", "b", "a", "."] {
            std::fs::create_dir_all(root.join(name).join(".git")).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let trees = scan_roots([root.clone()], &[], &DenyRead::new(["**/.env"], None).unwrap()).trees;
        assert_eq!(trees, [root.clone(), root.join("deep/z"), root.join("b"), root.join("a")]);
    }
}
