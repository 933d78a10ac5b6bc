//! Stores the diff of the last turn for each working directory, and reads it back for `toolgate diff`.
#![expect(clippy::disallowed_methods, reason = "our own files, in the user's own state directory")]

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use runtime::{Toolgate, TurnDiff, TurnDiffTracker};

use crate::open_turn_mark;

/// Tracks the turns of a session, and stores the diff of the last one.
pub struct TurnDiffRecorder {
    tracker: TurnDiffTracker,
    /// The state directory, and the watched directory.
    directories: Option<(PathBuf, PathBuf)>,
    /// True if the diff of this turn so far is stored.
    is_stored: bool,
}

impl TurnDiffRecorder {
    /// Starts tracking; stores nothing if `state` is `None`.
    pub fn start(toolgate: &Toolgate, state: Option<&Path>) -> Self {
        let directories = state.map(|state| (state.to_owned(), toolgate.router().working_dir().cwd.clone()));
        Self { tracker: toolgate.track_turns(), directories, is_stored: false }
    }

    /// Stores the diff of the turn so far. Without a change, the stored diff stays.
    pub fn save_progress(&mut self) {
        let turn = self.tracker.peek_turn();
        self.save_if_changed(&turn);
    }

    /// Ends a turn like [`end_turn`](Self::end_turn). Without a change, the stored diff stays.
    pub fn end_turn_if_changed(&mut self) -> Option<TurnDiff> {
        let turn = self.tracker.finish_turn();
        self.save_if_changed(&turn);
        self.is_stored = false;
        (turn.files > 0).then_some(turn)
    }

    fn save_if_changed(&mut self, turn: &TurnDiff) {
        // A change of this turn that was undone since leaves an empty diff, not an older one.
        if turn.files == 0 && !self.is_stored {
            return;
        }
        self.is_stored = true;
        if let Some((state, directory)) = &self.directories {
            save_diff(state, directory, &turn.text);
        }
    }

    /// Ends a turn, and returns its diff if files changed.
    pub fn end_turn(&mut self) -> Option<TurnDiff> {
        let turn = self.tracker.finish_turn();
        if let Some((state, directory)) = &self.directories {
            save_diff(state, directory, &turn.text);
        }
        (turn.files > 0).then_some(turn)
    }
}

/// Returns the diff of the last turn in `directory`, if there is one.
pub fn last_diff(state: &Path, directory: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(diff_file(state, directory)) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Returns a file name for a directory: a hash of its path, which may be too long for a file name.
pub fn directory_key(directory: &Path) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = directory.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{hash:016x}")
}

/// Returns the directory of the stored diffs.
pub(crate) fn diff_directory(state: &Path) -> PathBuf {
    state.join("turns")
}

fn diff_file(state: &Path, directory: &Path) -> PathBuf {
    diff_directory(state).join(format!("{}.diff", directory_key(directory)))
}

/// Returns the time at which the diff of the last turn in `directory` was stored.
pub(crate) fn diff_modified(state: &Path, directory: &Path) -> Option<SystemTime> {
    let meta = diff_file(state, directory).symlink_metadata().ok()?;
    if meta.is_file() { meta.modified().ok() } else { None }
}

/// Removes the diff of the last turn in `directory`.
pub(crate) fn remove_diff(state: &Path, directory: &Path) {
    // Another process may have removed it.
    let _gone = std::fs::remove_file(diff_file(state, directory));
}

/// Stores the diff of a turn in `directory`; it may be empty.
pub fn save_diff(state: &Path, directory: &Path, text: &str) {
    let file = diff_file(state, directory);
    // This diff is newer than the changes of sessions that were killed.
    open_turn_mark::forget_cut_off_turns(state, directory);
    if let Err(fault) = private_files::replace_file(&file, text) {
        // Without a change there is nothing to show later.
        if text.is_empty() {
            tracing::debug!(%fault, "an empty diff was not kept");
        } else {
            tracing::warn!("the diff for `toolgate diff` was not kept in `{}`: {fault}", file.display());
        }
    }
}
