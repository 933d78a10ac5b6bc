//! The view of a workspace: directories that a session sees in place of the user's, at the same paths.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Directories that tools and commands see in place of the user's: the user's files, with the staged changes of the
/// session on top. `exec` mounts them; a decision only passes them on.
pub trait WorkspaceView: fmt::Debug + Send + Sync {
    /// Returns the real paths of the directories, outer ones first.
    fn roots(&self) -> &[PathBuf];

    /// Opens the directory that is seen at `root`.
    fn open_root(&self, root: &Path) -> io::Result<OwnedFd>;

    /// Returns a mount of each directory that is attached nowhere, in the order of [`WorkspaceView::roots`].
    fn detached_mounts(&self) -> io::Result<Vec<OwnedFd>>;

    /// Returns a number that changes whenever other directories are mounted.
    fn generation(&self) -> u64;
}

/// Returns the innermost of `roots` that contains `path`, and the path below it.
pub fn innermost_root<'a, 'b>(roots: &'a [PathBuf], path: &'b Path) -> Option<(&'a Path, &'b Path)> {
    let containing = roots.iter().filter_map(|root| Some((root.as_path(), path.strip_prefix(root).ok()?)));
    containing.min_by_key(|(_, below)| below.components().count())
}
