//! Marks on disk that calls of a session may be changing files in a directory. A killed session leaves its mark, so that
//! `toolgate diff` does not take an older diff for the newest.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use private_files::{LockOwner, PrivateDir, is_locked, try_lock, unlock};

use crate::turn_diff_store::{diff_directory, directory_key};

/// The end of a mark's file name.
const MARK_SUFFIX: &str = ".open";
/// Maximum bytes that are read of a mark: the ID of a session.
const MAX_MARK_BYTES: u64 = 200;

/// A mark. Dropping it removes it.
pub struct OpenTurnMark {
    marks: PrivateDir,
    name: String,
    /// Locked as long as the session lives.
    file: File,
}

/// A turn whose changes are not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnstoredTurn {
    /// The ID of its session.
    pub session: String,
    /// The state of its session.
    pub state: UnstoredTurnState,
}

/// The state of the session of an unstored turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnstoredTurnState {
    /// Its calls are running.
    Running,
    /// It was killed. Its changes will not be stored.
    CutOff,
}

impl OpenTurnMark {
    /// Marks `directory` for the session. Without a file for it there is no mark.
    pub fn create(state: &Path, directory: &Path, session: &str) -> Option<Self> {
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let marks = PrivateDir::open_or_create(&diff_directory(state)).ok()?;
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{}-{number}{MARK_SUFFIX}", directory_key(directory), std::process::id());
        // A killed session may have had this process ID.
        let _none = marks.remove(&name);
        let file = marks.create_file(&name).ok()?;
        let mark = Self { marks, name, file };
        let is_locked = matches!(try_lock(&mark.file), Ok(LockOwner::Ours));
        (is_locked && (&mark.file).write_all(session.as_bytes()).is_ok()).then_some(mark)
    }
}

impl Drop for OpenTurnMark {
    fn drop(&mut self) {
        let _gone = self.marks.remove(&self.name);
        unlock(&self.file);
    }
}

/// Returns the turns in `directory` whose changes are not stored.
pub fn unstored_turns(state: &Path, directory: &Path) -> Vec<UnstoredTurn> {
    let Ok(marks) = PrivateDir::open(&diff_directory(state)) else { return Vec::new() };
    let mut turns: Vec<UnstoredTurn> = mark_names(&marks, directory)
        .iter()
        .filter_map(|name| {
            let session = marks.read(name, MAX_MARK_BYTES).ok()??;
            let file = marks.open_for_reading(name).ok()?;
            let state = if is_locked(&file) { UnstoredTurnState::Running } else { UnstoredTurnState::CutOff };
            Some(UnstoredTurn { session: String::from_utf8_lossy(&session).into_owned(), state })
        })
        .collect();
    turns.sort_by(|one, other| one.session.cmp(&other.session));
    turns
}

/// Removes the marks of killed sessions in `directory`.
pub(crate) fn forget_cut_off_turns(state: &Path, directory: &Path) {
    let Ok(marks) = PrivateDir::open(&diff_directory(state)) else { return };
    for name in mark_names(&marks, directory) {
        if marks.open_for_reading(&name).is_ok_and(|file| !is_locked(&file)) {
            let _gone = marks.remove(&name);
        }
    }
}

fn mark_names(marks: &PrivateDir, directory: &Path) -> Vec<String> {
    let beginning = format!("{}.", directory_key(directory));
    let mut names = marks.file_names().unwrap_or_default();
    names.retain(|name| name.starts_with(&beginning) && name.ends_with(MARK_SUFFIX));
    names
}
