//! Lists recently changed files of a session's own directory, for a warning that they will not persist.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The maximum number of directory entries that are read.
const MAX_ENTRIES_READ: usize = 10_000;

/// Lists the files directly in `directory` that changed within the duration `within`, sorted, at most `most`.
/// `directory` belongs to the session. If a symlink leads to it, the list is empty.
#[expect(
    clippy::disallowed_methods,
    reason = "a directory of the session's own, outside every readable root"
)]
pub fn changed_within(directory: &Path, within: Duration, most: usize) -> Vec<PathBuf> {
    let Some(since) = SystemTime::now().checked_sub(within) else { return Vec::new() };
    if super::canonicalize(directory).ok().as_deref() != Some(directory) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    // Symlinks are not followed.
    let is_recent = |entry: &std::fs::DirEntry| {
        entry.metadata().is_ok_and(|found| found.is_file() && found.modified().is_ok_and(|at| at >= since))
    };
    let recent = entries.take(MAX_ENTRIES_READ).filter_map(Result::ok).filter(is_recent);
    let mut recent: Vec<PathBuf> = recent.map(|entry| entry.path()).collect();
    recent.sort();
    recent.truncate(most);
    recent
}
