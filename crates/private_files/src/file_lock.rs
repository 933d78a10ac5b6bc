//! Exclusive locks of files (`flock`), and the process that holds one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::open_dir::open_for_reading;

/// Maximum bytes read of `/proc/locks`.
const MAX_PROC_LOCKS_BYTES: u64 = 1 << 20;

/// The owner of a lock.
pub enum LockOwner {
    /// This process took it.
    Ours,
    /// Another process has it: its id, if known.
    Theirs(Option<u32>),
}

/// Tries to lock a file for as long as it is open.
///
/// # Errors
/// If the file system has no locks.
pub fn try_lock(file: &File) -> io::Result<LockOwner> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(LockOwner::Ours),
        Err(Errno::WOULDBLOCK) => Ok(LockOwner::Theirs(lock_holder(file))),
        Err(error) => Err(error.into()),
    }
}

/// Releases a lock. Closing the file is not enough, because a child process briefly inherits it between fork and exec.
pub fn unlock(file: &File) {
    // Unlocking a held lock cannot fail.
    let _unlocked = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Returns whether a process has the file locked, if the kernel tells. It does not try the lock, which would refuse a
/// writer that opens the file at the same moment.
pub fn is_locked(file: &File) -> bool {
    lock_holders(file).is_some_and(|holders| !holders.is_empty())
}

/// Returns the process that has the file locked, if the kernel tells.
fn lock_holder(file: &File) -> Option<u32> {
    // The kernel reports 0 for processes that are not visible to us.
    lock_holders(file)?.into_iter().find(|process| *process > 0)
}

fn lock_holders(file: &File) -> Option<Vec<u32>> {
    let stat = rustix::fs::fstat(file).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let ours = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
    let mut locks = String::new();
    open_for_reading(Path::new("/proc/locks"))
        .ok()?
        .take(MAX_PROC_LOCKS_BYTES)
        .read_to_string(&mut locks)
        .ok()?;
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:2883586 0 EOF
    let rows = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let holders = rows.filter_map(|row| match row[..] {
        [_, "FLOCK", _, _, process, file, ..] if file == ours => Some(process.parse().unwrap_or_default()),
        _ => None,
    });
    Some(holders.collect())
}
