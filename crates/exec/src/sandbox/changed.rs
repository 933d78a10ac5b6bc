//! Finds files that take effect on the user's machine and that a run has made or changed.
//!
//! The walk that a cell is made with knows the files that were there. This one looks for new ones when a run is over. It lists
//! the upper directories of each root, and from there only directories that are new, so a large tree costs little.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use policy::{HOST_CONFIGURATION, HostFile, host_file_by_name};
use rustix::fs::{AtFlags, CWD, FileType, fstat, statat};

use super::git::sys;
use super::look::is_of_others;

/// Directories that are listed after a run.
const MAX_DIRECTORIES: usize = 2_000;
/// Entries that are looked at after a run.
const MAX_ENTRIES: usize = 50_000;
/// How deep a directory is listed that was there before.
const DEPTH: usize = 2;
/// How deep a directory is listed that the run has made or changed.
const NEW_DEPTH: usize = 12;
/// The kernel's clock for files is a little behind.
const BEHIND: Duration = Duration::from_millis(10);

/// Files that take effect on the user's machine and were changed since a moment.
#[derive(Debug)]
pub(crate) struct ChangedSince {
    roots: Vec<PathBuf>,
    /// Seconds and nanoseconds.
    since: (i64, i64),
}

impl ChangedSince {
    /// Remembers the moment for the writable `roots`.
    pub(crate) fn now(roots: &[PathBuf]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(BEHIND);
        let since = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()));
        Self { roots: roots.to_vec(), since }
    }

    /// Returns the files, no more than the bounds of the walk let be seen.
    pub(crate) fn look(&self) -> Vec<(PathBuf, HostFile)> {
        let mut found = Vec::new();
        let (mut directories, mut entries) = (MAX_DIRECTORIES, MAX_ENTRIES);
        for root in &self.roots {
            let Ok(top) = sys::root(root) else { continue };
            let mut next = VecDeque::from([PathBuf::new()]);
            // ends: only so many directories are listed
            while let Some(below) = next.pop_front().filter(|_| directories > 0) {
                directories -= 1;
                let Ok(directory) = sys::beneath(top.as_fd(), &below, sys::LIST) else { continue };
                let is_new = fstat(&directory).is_ok_and(|stat| {
                    self.is_since(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0))
                });
                let depth = below.components().count();
                let _seen = sys::list(directory.as_fd(), |name, kind| {
                    if entries == 0 {
                        return ControlFlow::Break(());
                    }
                    entries -= 1;
                    let entry = below.join(name);
                    if kind == FileType::Directory {
                        let deeper = depth < DEPTH || is_new && depth < NEW_DEPTH;
                        if deeper && name != ".git" && !is_of_others(name) {
                            next.push_back(entry);
                        }
                    } else if let Some(file) = told_by_name(&entry)
                        && self.is_changed(&root.join(&entry))
                    {
                        found.push((root.join(&entry), file));
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        found
    }

    fn is_changed(&self, path: &Path) -> bool {
        statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| self.is_since(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)))
    }

    fn is_since(&self, seconds: i64, nanoseconds: i64) -> bool {
        (seconds, nanoseconds) >= self.since
    }
}

/// The part that a file plays whose changes are told: `below` is its path in a root. Configuration at the top of a root is held
/// or set aside instead.
pub(super) fn told_by_name(below: &Path) -> Option<HostFile> {
    let first = below.components().next()?;
    let is_held = HOST_CONFIGURATION.iter().any(|(name, _, _)| first.as_os_str() == *name);
    if is_held { None } else { host_file_by_name(below) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use super::*;

    #[test]
    fn new_and_changed_files_are_found_where_they_take_effect() {
        let place = tempfile::tempdir().unwrap();
        let at = std::fs::canonicalize(place.path()).unwrap();
        let write = |name: &str| {
            std::fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
            std::fs::write(at.join(name), "x").unwrap();
        };
        for name in ["old/package.json", "a/Makefile"] {
            write(name);
        }
        std::thread::sleep(BEHIND * 5);
        let since = ChangedSince::now(std::slice::from_ref(&at));
        assert_eq!(since.look(), []);
        let new = [
            ".cargo/config.toml",
            "a/Makefile",
            "a/b/c/d/e/AGENTS.md",
            "package.json",
            "s/.claude/settings.json",
            "x.code-workspace",
        ];
        for name in new {
            write(name);
        }
        for name in ["src/main.rs", "node_modules/x/package.json", ".claude/settings.json"] {
            write(name);
        }
        let mut found: Vec<_> = since.look().into_iter().map(|(path, _)| path).collect();
        found.sort();
        assert_eq!(found, new.map(|name| at.join(name)));
    }
}
