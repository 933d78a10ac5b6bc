//! Tracks the file versions that the model has seen, so that external changes between a read and an edit are noticed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use exec::fs::FileHandle;
use parking_lot::Mutex;
use patch::FileVersion;

/// The most files that are tracked. Beyond it, all are forgotten, and no change is reported.
const MAX_TRACKED_FILES: usize = 10_000;

/// The file versions that were seen, and the directory for commit records.
#[derive(Debug)]
pub struct EditTracker {
    /// The directory in which a commit records its next steps, so that an interrupted commit can be repaired. Owned by
    /// us.
    pub records_dir: PathBuf,
    seen_versions: Mutex<HashMap<PathBuf, SeenVersion>>,
}

/// The identity of a file version at the time it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenVersion {
    identity: (u64, u64),
    size: u64,
    modified: i128,
}

impl From<FileVersion> for SeenVersion {
    fn from(stamp: FileVersion) -> Self {
        Self { identity: (stamp.dev, stamp.ino), size: stamp.size, modified: stamp.mtime }
    }
}

impl From<&FileHandle> for SeenVersion {
    fn from(found: &FileHandle) -> Self {
        let since = |at: SystemTime| match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let modified = found.modified().map_or(0, since);
        Self { identity: found.identity(), size: found.size(), modified }
    }
}

impl Default for EditTracker {
    /// For a process without a state directory: its interrupted commits are never repaired.
    fn default() -> Self {
        Self::with_records_dir(std::env::temp_dir().join(format!("toolgate-edits-{}", std::process::id())))
    }
}

impl EditTracker {
    /// Creates a tracker whose commits are recorded in `records_dir`.
    pub fn with_records_dir(records_dir: impl Into<PathBuf>) -> Self {
        Self { records_dir: records_dir.into(), seen_versions: Mutex::default() }
    }

    /// Records that the model has read the file.
    pub(crate) fn record_read(&self, found: &FileHandle) {
        self.record(found.path(), found.into());
    }

    /// Records that the model has written the file at the real path `path`.
    pub(crate) fn record_write(&self, path: &Path, stamp: FileVersion) {
        self.record(path, stamp.into());
    }

    fn record(&self, path: &Path, version: SeenVersion) {
        let mut all = self.seen_versions.lock();
        if all.len() >= MAX_TRACKED_FILES {
            all.clear();
        }
        all.insert(path.to_owned(), version);
    }

    /// Returns true if the model has seen another version of the file than `now`.
    pub(crate) fn is_stale(&self, path: &Path, now: FileVersion) -> bool {
        self.seen_versions.lock().get(path).is_some_and(|then| *then != SeenVersion::from(now))
    }
}
