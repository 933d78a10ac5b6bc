//! The change of one name: puts the new content in place, reverts that, and determines its progress.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::commit_record::{FileFingerprint, RecordedMove};
use super::remove_tree;
use super::syscalls::{self, FileStatus, InodeId};

/// The reason why a move failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveError {
    /// Another file is there than the one that was found.
    Changed,
    Errno(Errno),
}

impl From<Errno> for MoveError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::EXIST => Self::Changed,
            other => Self::Errno(other),
        }
    }
}

/// The name under which a replaced file is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptName<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) index: usize,
}

impl KeptName<'_> {
    fn name(&self) -> PathBuf {
        PathBuf::from(self.index.to_string())
    }
}

/// The progress of a move, as seen from the commit point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveState {
    Pending,
    Done,
    /// Another process interfered, so the move can only be reverted.
    Changed,
}

impl RecordedMove {
    fn leaf_path(&self) -> PathBuf {
        self.leaf.to_path_buf()
    }

    fn temp_path(&self) -> &Path {
        Path::new(&self.temp)
    }

    /// Returns a second temporary name, for file systems without an atomic exchange.
    fn spare_path(&self) -> PathBuf {
        PathBuf::from(format!("{}-old", self.temp))
    }

    fn is_staged(&self, status: Option<FileStatus>) -> bool {
        status.is_some_and(|seen| Some(seen.inode_id()) == self.staged)
    }

    fn is_found(&self, status: Option<FileStatus>) -> bool {
        status.map(|seen| FileFingerprint::from_status(&seen)) == self.found
    }

    /// Puts the new file in place and keeps the old one under the temporary name, or moves a deleted file there.
    ///
    /// After an error the name may already have changed: [`RecordedMove::move_back`] restores it.
    pub(super) fn move_forward(&self, dir: BorrowedFd<'_>) -> Result<(), MoveError> {
        let leaf = self.leaf_path();
        match (self.puts, self.found) {
            (true, None) => return Ok(syscalls::rename_no_replace(dir, self.temp_path(), &leaf)?),
            (true, Some(_)) => self.swap(dir, &leaf)?,
            (false, _) => syscalls::rename_no_replace(dir, &leaf, self.temp_path())?,
        }
        // Compare and swap: the file that came out must be the one that was found.
        if self.is_found(syscalls::status_of_name(dir, self.temp_path())?) {
            Ok(())
        } else {
            Err(MoveError::Changed)
        }
    }

    /// Restores the old file, as far as it was moved away. Idempotent.
    pub(super) fn move_back(&self, dir: BorrowedFd<'_>) -> Result<(), MoveError> {
        self.finish_interrupted_swap(dir)?;
        let leaf = self.leaf_path();
        let (here, kept) =
            (syscalls::status_of_name(dir, &leaf)?, syscalls::status_of_name(dir, self.temp_path())?);
        let kept_old = kept.is_some() && !self.is_staged(kept);
        match (self.puts, self.found) {
            (true, None) if self.is_staged(here) => {
                syscalls::rename_no_replace(dir, &leaf, self.temp_path())?;
                // Another process may have put a file there at that very moment.
                if !self.is_staged(syscalls::status_of_name(dir, self.temp_path())?) {
                    syscalls::rename_no_replace(dir, self.temp_path(), &leaf)?;
                }
            }
            (true, Some(_)) if kept_old && self.is_staged(here) => self.swap(dir, &leaf)?,
            (_, Some(_)) if kept_old && here.is_none() => {
                syscalls::rename_no_replace(dir, self.temp_path(), &leaf)?;
            }
            (true | false, _) => {}
        }
        if self.holds_foreign(dir)? { Err(MoveError::Changed) } else { Ok(()) }
    }

    /// Returns true if the temporary name holds a foreign file from the leaf that cannot go back, since another file is
    /// there now. It is never removed, and its record is kept.
    fn holds_foreign(&self, dir: BorrowedFd<'_>) -> Result<bool, MoveError> {
        let found = self.found.map(|found| found.id);
        let kept = syscalls::status_of_name(dir, self.temp_path())?;
        let is_found = |seen: Option<FileStatus>| seen.map(|seen| seen.inode_id()) == found;
        let is_foreign = kept.is_some() && !self.is_staged(kept) && !is_found(kept);
        Ok(found.is_some() && self.staged.is_some() == self.puts && is_foreign)
    }

    /// Returns the progress. Valid after the commit point, when all new files are staged.
    pub(super) fn state(&self, dir: BorrowedFd<'_>) -> Result<MoveState, MoveError> {
        self.finish_interrupted_swap(dir)?;
        let (here, kept) = (
            syscalls::status_of_name(dir, &self.leaf_path())?,
            syscalls::status_of_name(dir, self.temp_path())?,
        );
        let state = match (self.puts, self.found) {
            (true, Some(_)) if self.is_staged(here) => done_if(kept.is_none() || self.is_found(kept)),
            (true, Some(_)) if self.is_staged(kept) => pending_if(self.is_found(here)),
            (true, Some(_)) => done_if(!self.is_found(here)),
            (true, None) if self.is_staged(here) => MoveState::Done,
            (true, None) if self.is_staged(kept) => pending_if(here.is_none()),
            (true, None) => MoveState::Done,
            (false, _)
                if kept.is_some() && here.map(|seen| seen.inode_id()) == kept.map(|seen| seen.inode_id()) =>
            {
                MoveState::Pending
            }
            (false, _) if kept.is_some() => done_if(self.is_found(kept)),
            (false, _) if here.is_none() => MoveState::Done,
            (false, _) => pending_if(self.is_found(here)),
        };
        Ok(state)
    }

    /// Removes leftovers under the names that only this commit uses, and only files that it put there. The replaced
    /// file is moved to `keep` instead, if that is given.
    pub(super) fn remove_leftovers(
        &self,
        dir: BorrowedFd<'_>,
        keep: Option<KeptName<'_>>,
    ) -> Result<(), MoveError> {
        for name in [self.temp_path(), &self.spare_path()] {
            let Some(status) = syscalls::status_of_name(dir, name)? else { continue };
            match keep {
                _ if !self.belongs_to_commit(&status) => {}
                Some(keep) if !self.is_staged(Some(status)) => {
                    remove_tree::keep_entry(dir, name, keep.dir, &keep.name())?;
                }
                Some(_) | None => remove_tree::remove_entry(dir, name)?,
            }
        }
        Ok(())
    }

    fn belongs_to_commit(&self, status: &FileStatus) -> bool {
        let own_ids: [Option<InodeId>; 2] = [self.staged, self.found.map(|found| found.id)];
        // Before the commit point the inode is unknown. Then the unguessable name must be proof enough.
        let is_usual_kind = self.any_kind || status.kind == FileType::RegularFile;
        let unrecorded = self.puts && self.staged.is_none() && is_usual_kind;
        own_ids.contains(&Some(status.inode_id())) || unrecorded
    }

    fn swap(&self, dir: BorrowedFd<'_>, leaf: &Path) -> Result<(), MoveError> {
        match syscalls::exchange(dir, self.temp_path(), leaf) {
            Err(errno) if syscalls::is_unsupported(errno) => {}
            other => return Ok(other?),
        }
        syscalls::rename_no_replace(dir, leaf, &self.spare_path())?;
        syscalls::rename_no_replace(dir, self.temp_path(), leaf)?;
        Ok(syscalls::rename_no_replace(dir, &self.spare_path(), self.temp_path())?)
    }

    /// Completes an exchange by three renames that was interrupted.
    fn finish_interrupted_swap(&self, dir: BorrowedFd<'_>) -> Result<(), MoveError> {
        let (leaf, spare) = (self.leaf_path(), self.spare_path());
        if !self.puts || self.found.is_none() || syscalls::status_of_name(dir, &spare)?.is_none() {
            return Ok(());
        }
        if syscalls::status_of_name(dir, &leaf)?.is_none() {
            syscalls::rename_no_replace(dir, &spare, &leaf)?;
            return Ok(());
        }
        if syscalls::is_same_file(dir, &leaf, self.temp_path())? {
            syscalls::remove_name(dir, self.temp_path())?;
        }
        if syscalls::status_of_name(dir, self.temp_path())?.is_none() {
            syscalls::rename_no_replace(dir, &spare, self.temp_path())?;
        }
        Ok(())
    }
}

fn done_if(condition: bool) -> MoveState {
    if condition { MoveState::Done } else { MoveState::Changed }
}

fn pending_if(condition: bool) -> MoveState {
    if condition { MoveState::Pending } else { MoveState::Changed }
}
