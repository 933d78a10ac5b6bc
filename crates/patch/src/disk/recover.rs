//! What a crash left: every record of a dead process is finished or taken back, if nobody has touched its places.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::commit::{finish, sync_dirs, undo};
use super::moves::State;
use super::record::{Left, Phase, Record, Records};
use super::sys::{self, Links};

/// What became of a commit that a crash had interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The record that it left.
    pub record: PathBuf,
    /// The files that it was about.
    pub files: Vec<PathBuf>,
    /// What was done.
    pub outcome: Outcome,
}

/// What a recovery did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every file is as it was before.
    Back,
    /// Every file is as it should have become.
    Forward,
    /// Nothing was done, and the record was kept: one sentence why.
    Left(String),
}

/// Finishes or takes back every commit that a crash has interrupted; `records` is where they kept their records.
pub fn recover(records: &Path) -> io::Result<Vec<Recovered>> {
    match rustix::fs::stat(records) {
        Err(Errno::NOENT) => Ok(Vec::new()),
        _ => all(&Records::open(records)?),
    }
}

/// The same for whoever holds the lock already.
pub(super) fn all(records: &Records) -> io::Result<Vec<Recovered>> {
    Ok(records.left()?.into_iter().map(|left| one(left, records)).collect())
}

fn one(left: Left, records: &Records) -> Recovered {
    let Left { file, record } = left;
    let mut record = match record {
        Ok(record) => record,
        Err(why) => return Recovered { record: file, files: Vec::new(), outcome: Outcome::Left(why) },
    };
    let names = record.moves.iter().map(|one| record.folders[one.folder].path.path().join(one.leaf.path()));
    let files = names.collect();
    let outcome = settle(&mut record, records).unwrap_or_else(Outcome::Left);
    Recovered { record: file, files, outcome }
}

fn settle(record: &mut Record, records: &Records) -> Result<Outcome, String> {
    let dirs = open_folders(record)?;
    let unfinished = "not all could be done; the next recovery tries again";
    let goes_forward = match record.phase {
        Phase::Staging | Phase::Undoing => false,
        Phase::Committed => go_forward(record, &dirs)?,
        Phase::Done => true,
    };
    let (worked, outcome) = if goes_forward {
        (finish(record, &dirs, records), Outcome::Forward)
    } else {
        (undo(record, &dirs, records), Outcome::Back)
    };
    if worked { Ok(outcome) } else { Err(unfinished.to_owned()) }
}

/// Does what was not done yet. `false`: somebody has changed a file meanwhile, so nothing may be done.
fn go_forward(record: &Record, dirs: &[Option<OwnedFd>]) -> Result<bool, String> {
    let mut pending = Vec::new();
    for one in &record.moves {
        // A directory that is gone took its files with it.
        let Some(dir) = dirs[one.folder].as_ref() else { return Ok(false) };
        match one.state(dir.as_fd()) {
            Ok(State::Done) => {}
            Ok(State::Pending) => pending.push((one, dir)),
            Ok(State::Changed) => return Ok(false),
            Err(trouble) => return Err(format!("a file cannot be looked at: {trouble:?}")),
        }
    }
    for (one, dir) in pending {
        if one.forward(dir.as_fd()).is_err() {
            return Ok(false);
        }
    }
    sync_dirs(dirs).map_err(|(_, errno)| format!("a directory cannot be written: {errno}"))?;
    Ok(true)
}

/// Opens the very directories in which the commit worked; those that are gone are none.
///
/// Never through a link: whoever may write to the tree may have put one there.
fn open_folders(record: &Record) -> Result<Vec<Option<OwnedFd>>, String> {
    let mut dirs: Vec<Option<OwnedFd>> = Vec::with_capacity(record.folders.len());
    for folder in &record.folders {
        let path = folder.path.path();
        let opened = match (folder.id, folder.made_in) {
            (None, Some(parent)) => match (dirs[parent].as_ref(), path.file_name()) {
                (Some(parent), Some(name)) => sys::open_dir(parent.as_fd(), Path::new(name), Links::Refuse),
                _ => Err(Errno::NOENT),
            },
            _ => sys::open_dir(rustix::fs::CWD, &path, Links::Refuse),
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT) => {
                dirs.push(None);
                continue;
            }
            Err(errno) => return Err(format!("{} cannot be entered: {errno}", path.display())),
        };
        let id = sys::seen(dir.as_fd()).map_err(|errno| format!("{}: {errno}", path.display()))?.id();
        if folder.id.is_some_and(|known| known != id) {
            return Err(format!("{} is another directory now", path.display()));
        }
        dirs.push(Some(dir));
    }
    Ok(dirs)
}
