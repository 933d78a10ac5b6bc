//! A file tree on disk: reached through open directories, checked by real paths, and changed atomically.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod commit;
mod commit_plan;
mod commit_record;
mod copy_entry;
mod directory_mode;
mod entry_change;
mod file_move;
mod path_syntax;
mod recorded_path;
mod recover;
mod remove_tree;
mod resolve;
mod stage;
mod syscalls;

pub use entry_change::{DirectoryMode, EntryChange, EntryCommit, ModeChange, NewEntry};
pub use recorded_path::RecordedPath;
pub use recover::{RecoveredCommit, RecoveryOutcome, recover};
pub use remove_tree::{copy_tree, remove_tree};

use crate::file_tree::CommitStep;

/// The intended access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileAccess {
    /// Reads content and attributes.
    Read,
    /// Creates, changes or removes the file.
    Write,
}

/// Decides whether the file at a real path may be touched. The error is a sentence with the reason.
pub type AccessCheck = Arc<dyn Fn(&Path, FileAccess) -> Result<(), String> + Send + Sync>;

/// The default hint for a file with several hard links.
const WRITE_IN_PLACE: &str = "change it with a command that writes in place";

/// A file tree on disk.
pub struct DiskTree {
    root: PathBuf,
    given_root: PathBuf,
    fd: OwnedFd,
    mounted: Vec<MountedRoot>,
    access_check: Option<AccessCheck>,
    hard_link_policy: HardLinkPolicy,
    hard_link_hint: &'static str,
}

/// A directory that is used in place of the one on disk at its path.
#[derive(Debug)]
pub struct MountedRoot {
    /// The real path.
    pub path: PathBuf,
    /// The open directory.
    pub directory: OwnedFd,
}

/// A milestone of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitMilestone<'a> {
    /// The new content is on disk, beside its destination.
    Written(&'a CommitStep),
    /// The new file is in place, or the file is deleted.
    Placed(&'a CommitStep),
}

/// The handling of a file with several hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HardLinkPolicy {
    Refuse,
    Break,
}

impl DiskTree {
    /// Opens the tree in the directory `root`. Nothing outside of it can be touched.
    pub fn open_at(root: &Path) -> io::Result<Self> {
        let fd = syscalls::open_dir(rustix::fs::CWD, root, syscalls::SymlinkPolicy::Follow)?;
        let real_path = syscalls::real_path(fd.as_fd())?;
        let given_root = if root.is_absolute() { root.to_owned() } else { real_path.clone() };
        Ok(Self {
            root: real_path,
            given_root,
            fd,
            mounted: Vec::new(),
            access_check: None,
            hard_link_policy: HardLinkPolicy::Refuse,
            hard_link_hint: WRITE_IN_PLACE,
        })
    }

    /// Uses the directories `mounted` in place of those on disk at the same paths.
    pub fn with_mounted_roots(mut self, mounted: Vec<MountedRoot>) -> io::Result<Self> {
        self.mounted = mounted;
        self.fd = self.open_real_dir(&self.root.clone())?;
        Ok(self)
    }

    /// Opens the directory at a real path: in a mounted root, if it lies in one.
    fn open_real_dir(&self, real: &Path) -> rustix::io::Result<OwnedFd> {
        match self.mounted_root(real) {
            Some((mounted, below)) => {
                syscalls::open_dir(mounted.directory.as_fd(), below, syscalls::SymlinkPolicy::Refuse)
            }
            None => syscalls::open_dir(rustix::fs::CWD, real, syscalls::SymlinkPolicy::Refuse),
        }
    }

    /// Returns the innermost mounted root that contains `real`, and the path below it.
    fn mounted_root<'a>(&self, real: &'a Path) -> Option<(&MountedRoot, &'a Path)> {
        let containing =
            self.mounted.iter().filter_map(|one| Some((one, real.strip_prefix(&one.path).ok()?)));
        containing.min_by_key(|(_, below)| below.components().count())
    }

    /// Sets the access check, for paths inside the root and outside of it.
    #[must_use]
    pub fn with_access_check(mut self, access_check: AccessCheck) -> Self {
        self.access_check = Some(access_check);
        self
    }

    /// Sets whether a file with several hard links may be replaced. The other names then keep the old content.
    #[must_use]
    pub fn with_hard_links_broken(mut self, allowed: bool) -> Self {
        self.hard_link_policy = if allowed { HardLinkPolicy::Break } else { HardLinkPolicy::Refuse };
        self
    }

    /// Sets the hint for a file with several hard links, in the words of its reader.
    #[must_use]
    pub fn with_hard_link_hint(mut self, hint: &'static str) -> Self {
        self.hard_link_hint = hint;
        self
    }

    /// Returns the real path of the root.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl fmt::Debug for DiskTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("root", &self.root)
            .field("links", &self.hard_link_policy)
            .finish_non_exhaustive()
    }
}
