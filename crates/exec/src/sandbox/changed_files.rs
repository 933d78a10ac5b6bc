//! Finds files that take effect on the user's machine and that a run has created or changed.
//!
//! The scan at the creation of a cell knows the files and directories that existed. This one looks for new ones when
//! a run is over. It lists the upper directories of each root, deeper ones that have changed, and all of a directory
//! that is new in its place. So a large tree costs little.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use policy::{HOST_CONFIGURATION, HostFile, HostFileRole, host_file_by_name};
use rustix::fs::{AtFlags, CWD, FileType, Stat, fstat, statat};

use super::git::sys;
use super::root_scan::{is_package_directory, is_third_party};

/// The maximum number of directories listed after a run.
const MAX_DIRECTORIES: usize = 2_000;
/// The maximum number of entries checked after a run.
const MAX_ENTRIES: usize = 50_000;
/// The depth to which a known directory is listed.
pub(super) const KNOWN_DIRECTORY_DEPTH: usize = 2;
/// The depth to which a directory is listed that the run has created or changed.
const NEW_DIRECTORY_DEPTH: usize = 12;
/// The kernel's clock for files lags a little.
const FILE_CLOCK_LAG: Duration = Duration::from_millis(10);

/// The identities of known directories in the writable roots. They distinguish a created or moved directory from a
/// changed one.
#[derive(Debug, Default)]
pub(crate) struct DirectoryIndex {
    identities: HashMap<PathBuf, (u64, u64)>,
    /// True if not all reported files were recorded.
    pub(super) lacks_files: bool,
}

impl DirectoryIndex {
    /// Creates an index that knows no directory and treats none as new.
    pub(super) fn disabled() -> Self {
        Self { lacks_files: true, ..Self::default() }
    }

    /// Adds the directory at `path`, up to the limit.
    pub(super) fn add(&mut self, path: &Path, stat: &Stat) {
        if self.identities.len() < MAX_DIRECTORIES {
            self.identities.insert(path.to_owned(), (stat.st_dev, stat.st_ino));
        }
    }

    /// Returns whether the directory is new in its place, as far as known.
    fn is_new(&self, path: &Path, stat: &Stat) -> bool {
        match self.identities.get(path) {
            Some(known) => *known != (stat.st_dev, stat.st_ino),
            None => self.identities.len() < MAX_DIRECTORIES && !self.lacks_files,
        }
    }
}

/// Finds files that take effect on the user's machine and were changed since a point in time.
#[derive(Debug)]
pub(crate) struct ChangedSince {
    roots: Vec<PathBuf>,
    directories: Arc<Mutex<DirectoryIndex>>,
    /// Seconds and nanoseconds.
    since: (i64, i64),
}

/// A directory to list.
struct QueuedDirectory {
    below: PathBuf,
    /// True if the path lies in a directory that is new in its place.
    in_new: bool,
}

impl ChangedSince {
    /// Records the current time for the writable `roots`, with the known `directories` in them.
    pub(crate) fn start(roots: &[PathBuf], directories: Arc<Mutex<DirectoryIndex>>) -> Self {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(FILE_CLOCK_LAG);
        let since = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()));
        Self { roots: roots.to_vec(), directories, since }
    }

    /// Returns the changed files, within the limits of the walk. This includes all files in directories that are new
    /// in their place: moving a directory changes no file in it.
    pub(crate) fn find(&self) -> Vec<(PathBuf, HostFile)> {
        let mut found = Vec::new();
        let mut index = self.directories.lock();
        let (mut left, mut entries) = (MAX_DIRECTORIES, MAX_ENTRIES);
        for root in &self.roots {
            let Ok(top) = sys::root(root) else { continue };
            let mut next = VecDeque::from([QueuedDirectory { below: PathBuf::new(), in_new: false }]);
            next.extend(self.changed_directories(root, &index));
            let mut listed = HashSet::new();
            // ends: only so many directories are listed
            while let Some(QueuedDirectory { below, in_new }) = next.pop_front().filter(|_| left > 0) {
                if !listed.insert(below.clone()) {
                    continue;
                }
                left -= 1;
                let Ok(directory) = sys::beneath(top.as_fd(), &below, sys::LIST_FLAGS) else { continue };
                let Ok(stat) = fstat(&directory) else { continue };
                let (depth, is_root) = (below.components().count(), below.as_os_str().is_empty());
                let path = root.join(&below);
                let in_new = in_new || !is_root && self.has_changed(&stat) && index.is_new(&path, &stat);
                let goes_deeper = depth < KNOWN_DIRECTORY_DEPTH
                    || (in_new || self.has_changed(&stat)) && depth < NEW_DIRECTORY_DEPTH;
                index.add(&path, &stat);
                let _seen = sys::list(directory.as_fd(), |name, kind| {
                    if entries == 0 {
                        return ControlFlow::Break(());
                    }
                    entries -= 1;
                    let entry = below.join(name);
                    if kind == FileType::Directory {
                        if goes_deeper && name != ".git" && !is_package_directory(name) {
                            next.push_back(QueuedDirectory { below: entry, in_new });
                        }
                    } else if let Some(file) = role_by_name(&entry)
                        && (in_new || self.is_changed(&root.join(&entry)))
                    {
                        found.push((root.join(&entry), file));
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        found
    }

    /// Returns the deeper directories in `root` that have changed.
    fn changed_directories(&self, root: &Path, index: &DirectoryIndex) -> Vec<QueuedDirectory> {
        let below = index.identities.keys().filter_map(|path| path.strip_prefix(root).ok());
        let deep = below.filter(|below| below.components().count() > KNOWN_DIRECTORY_DEPTH);
        let changed = deep.filter(|below| self.is_changed(&root.join(below)));
        changed.map(|below| QueuedDirectory { below: below.to_owned(), in_new: false }).collect()
    }

    fn is_changed(&self, path: &Path) -> bool {
        statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| self.has_changed(&stat))
    }

    fn has_changed(&self, stat: &Stat) -> bool {
        (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)) >= self.since
    }
}

/// Returns the role of a file whose changes are reported; `below` is its path in a root. Configuration at the top of
/// a root is held or set aside instead. Of third-party code, only configuration is reported.
pub(super) fn role_by_name(below: &Path) -> Option<HostFile> {
    let file = host_file_by_name(below)?;
    let first = below.components().next()?;
    let is_held = HOST_CONFIGURATION.iter().any(|(name, _, _)| first.as_os_str() == *name);
    let is_reported = file.role == HostFileRole::Configuration || !below.iter().any(is_third_party);
    (is_reported && !is_held).then_some(file)
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
        std::thread::sleep(FILE_CLOCK_LAG * 5);
        let since = ChangedSince::start(std::slice::from_ref(&at), Arc::default());
        // The scan at the creation of a cell knows the existing files.
        let mut index = since.directories.lock();
        for name in ["old", "a"] {
            index.add(&at.join(name), &rustix::fs::stat(at.join(name)).unwrap());
        }
        drop(index);
        assert_eq!(since.find(), []);
        let new = [
            ".cargo/config.toml", "a/Makefile", "a/b/c/d/e/AGENTS.md", "package.json",
            "s/.claude/settings.json", "x.code-workspace",
        ];
        for name in new {
            write(name);
        }
        for name in ["src/main.rs", "node_modules/x/package.json", ".claude/settings.json"] {
            write(name);
        }
        let mut found: Vec<_> = since.find().into_iter().map(|(path, _)| path).collect();
        found.sort();
        assert_eq!(found, new.map(|name| at.join(name)));
    }
}
