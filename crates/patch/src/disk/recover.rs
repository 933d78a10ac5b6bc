//! Crash recovery: completes or reverts the commit of every leftover record, unless its files were changed since.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::commit::{finish_commit, roll_back, sync_dirs};
use super::commit_record::{CommitPhase, CommitRecord, LeftoverRecord, RecordStore};
use super::directory_mode::ModeSide;
use super::file_move::MoveState;
use super::syscalls::{self, SymlinkPolicy};

/// The result for a commit that a crash interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredCommit {
    /// The path of its record.
    pub record: PathBuf,
    /// The files of the commit.
    pub files: Vec<PathBuf>,
    /// The action taken.
    pub outcome: RecoveryOutcome,
}

/// The outcome of a recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// Rolled back: every file is as it was before.
    RolledBack,
    /// Rolled forward: every file is as the commit intended.
    RolledForward,
    /// Nothing was done and the record was kept, for this reason.
    RecordKept(String),
}

/// Completes or reverts every interrupted commit. `records` is the directory of their records.
pub fn recover(records: &Path) -> io::Result<Vec<RecoveredCommit>> {
    match rustix::fs::stat(records) {
        Err(Errno::NOENT) => Ok(Vec::new()),
        _ => recover_all(&RecordStore::open(records)?),
    }
}

/// Recovers all commits. The caller holds the lock.
pub(super) fn recover_all(records: &RecordStore) -> io::Result<Vec<RecoveredCommit>> {
    Ok(records.read_leftovers()?.into_iter().map(|leftover| recover_one(leftover, records)).collect())
}

fn recover_one(leftover: LeftoverRecord, records: &RecordStore) -> RecoveredCommit {
    let LeftoverRecord { file, record } = leftover;
    let mut record = match record {
        Ok(record) => record,
        Err(why) => {
            return RecoveredCommit {
                record: file,
                files: Vec::new(),
                outcome: RecoveryOutcome::RecordKept(why),
            };
        }
    };
    let names = record.moves.iter().map(|file_move| {
        record.folders[file_move.folder].path.to_path_buf().join(file_move.leaf.to_path_buf())
    });
    let files = names.collect();
    let outcome = complete_or_revert(&mut record, records).unwrap_or_else(RecoveryOutcome::RecordKept);
    RecoveredCommit { record: file, files, outcome }
}

fn complete_or_revert(record: &mut CommitRecord, records: &RecordStore) -> Result<RecoveryOutcome, String> {
    let dirs = open_recorded_dirs(record)?;
    let unfinished = "not all could be done; the next recovery tries again";
    let goes_forward = match record.phase {
        CommitPhase::Staging | CommitPhase::Undoing => false,
        CommitPhase::Committed => roll_forward(record, &dirs)?,
        CommitPhase::Done => true,
    };
    let (worked, outcome) = if goes_forward {
        (finish_commit(record, &dirs, records), RecoveryOutcome::RolledForward)
    } else {
        (roll_back(record, &dirs, records), RecoveryOutcome::RolledBack)
    };
    if worked { Ok(outcome) } else { Err(unfinished.to_owned()) }
}

/// Completes the remaining moves. Returns `false` if a file was changed since, so that the commit must not go forward.
fn roll_forward(record: &CommitRecord, dirs: &[Option<OwnedFd>]) -> Result<bool, String> {
    let mut pending = Vec::new();
    for file_move in &record.moves {
        // A directory that is gone took its files with it.
        let Some(dir) = dirs[file_move.folder].as_ref() else { return Ok(false) };
        match file_move.state(dir.as_fd()) {
            Ok(MoveState::Done) => {}
            Ok(MoveState::Pending) => pending.push((file_move, dir)),
            Ok(MoveState::Changed) => return Ok(false),
            Err(error) => return Err(format!("a file cannot be looked at: {error:?}")),
        }
    }
    for (file_move, dir) in pending {
        if file_move.move_forward(dir.as_fd()).is_err() {
            return Ok(false);
        }
    }
    for mode in &record.modes {
        let Some(dir) = dirs[mode.folder].as_ref() else { continue };
        mode.set(dir.as_fd(), ModeSide::New)
            .map_err(|errno| format!("a directory cannot be changed: {errno}"))?;
    }
    sync_dirs(dirs).map_err(|(_, errno)| format!("a directory cannot be written: {errno}"))?;
    Ok(true)
}

/// Opens the directories of the commit, identified by inode; `None` for those that are gone.
///
/// Never follows a symlink: a process that may write to the tree may have put one there.
fn open_recorded_dirs(record: &CommitRecord) -> Result<Vec<Option<OwnedFd>>, String> {
    let mut dirs: Vec<Option<OwnedFd>> = Vec::with_capacity(record.folders.len());
    for folder in &record.folders {
        let path = folder.path.to_path_buf();
        let opened = match (folder.id, folder.made_in) {
            (None, Some(parent)) => match (dirs[parent].as_ref(), path.file_name()) {
                (Some(parent), Some(name)) => {
                    syscalls::open_dir(parent.as_fd(), Path::new(name), SymlinkPolicy::Refuse)
                }
                _ => Err(Errno::NOENT),
            },
            _ => syscalls::open_dir(rustix::fs::CWD, &path, SymlinkPolicy::Refuse),
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT) => {
                dirs.push(None);
                continue;
            }
            Err(errno) => return Err(format!("{} cannot be entered: {errno}", path.display())),
        };
        let id = syscalls::status_of_fd(dir.as_fd())
            .map_err(|errno| format!("{}: {errno}", path.display()))?
            .inode_id();
        if folder.id.is_some_and(|known| known != id) {
            return Err(format!("{} is another directory now", path.display()));
        }
        dirs.push(Some(dir));
    }
    Ok(dirs)
}
