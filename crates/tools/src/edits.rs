//! What the tools that read and change files know of each other: which files a model saw, and how they were then.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use exec::fs::Found;
use patch::Stamp;

/// Files that are remembered; when there are more, all are forgotten, and nothing is said to have changed.
const REMEMBERED: usize = 10_000;

/// What is known of files that were seen, and where a commit notes what it is about to do.
#[derive(Debug)]
pub struct Edits {
    /// Where a commit writes what it is about to do, so that whatever stops it half-way can be mended; a directory of ours.
    pub records: PathBuf,
    seen: Mutex<HashMap<PathBuf, Seen>>,
}

/// What a file was known by when it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    identity: (u64, u64),
    size: u64,
    modified: i128,
}

impl From<Stamp> for Seen {
    fn from(stamp: Stamp) -> Self {
        Self { identity: (stamp.dev, stamp.ino), size: stamp.size, modified: stamp.mtime }
    }
}

impl From<&Found> for Seen {
    fn from(found: &Found) -> Self {
        let since = |at: SystemTime| match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let modified = found.modified().map_or(0, since);
        Self { identity: found.identity(), size: found.size(), modified }
    }
}

impl Default for Edits {
    /// For a process that has no place of its own: what it leaves half-way, nobody mends.
    fn default() -> Self {
        Self::recorded_in(std::env::temp_dir().join(format!("toolgate-edits-{}", std::process::id())))
    }
}

impl Edits {
    /// Commits are recorded in `records`.
    pub fn recorded_in(records: impl Into<PathBuf>) -> Self {
        Self { records: records.into(), seen: Mutex::default() }
    }

    /// The model has seen the file that was found.
    pub(crate) fn saw(&self, found: &Found) {
        self.note(found.path(), found.into());
    }

    /// The model has made the file that is really at `path`.
    pub(crate) fn made(&self, path: &Path, stamp: Stamp) {
        self.note(path, stamp.into());
    }

    fn note(&self, path: &Path, seen: Seen) {
        let mut all = self.lock();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(path.to_owned(), seen);
    }

    /// Whether the model saw the file, and saw another than this.
    pub(crate) fn is_stale(&self, path: &Path, now: Stamp) -> bool {
        self.lock().get(path).is_some_and(|then| *then != Seen::from(now))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Seen>> {
        // A map is whole between any two statements.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
