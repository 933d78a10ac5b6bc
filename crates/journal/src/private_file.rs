//! File access for journals: mode 0600 from creation on, no symlinks, and an exclusive lock for the one writer.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Maximum number of names read from a directory.
const MAX_DIRECTORY_ENTRIES: usize = 100_000;
/// Maximum bytes read of `/proc/locks`.
const MAX_PROC_LOCKS_BYTES: u64 = 1 << 20;
/// Number of attempts of a write that a signal interrupts.
const MAX_WRITE_ATTEMPTS: usize = 16;
const PRIVATE_FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open directory of journals.
pub(crate) struct JournalDirectory(OwnedFd);

impl JournalDirectory {
    /// Opens the directory, and creates it if it is missing.
    pub(crate) fn open_or_create(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let directory = Self::open(path)?;
        let stat = rustix::fs::fstat(&directory.0)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("the directory belongs to another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(io::Error::other("others may write into the directory: `chmod 700` it"));
        }
        Ok(directory)
    }

    /// Opens an existing directory.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Creates a file for appending; it must not exist.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = append_flags() | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, PRIVATE_FILE_MODE)?))
    }

    /// Opens a file for reading and appending. The file must belong to the current user, and grant others no access.
    pub(crate) fn open_for_append(&self, name: &str) -> io::Result<File> {
        let file =
            rustix::fs::openat(&self.0, name, append_flags(), Mode::empty()).map_err(describe_open_error)?;
        let stat = require_regular_file(&file)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(io::Error::other("others may read it or write to it: `chmod 600` it"));
        }
        Ok(File::from(file))
    }

    /// Opens a file for reading.
    pub(crate) fn open_for_reading(&self, name: &str) -> io::Result<File> {
        let file =
            rustix::fs::openat(&self.0, name, read_flags(), Mode::empty()).map_err(describe_open_error)?;
        require_regular_file(&file)?;
        Ok(File::from(file))
    }

    /// Returns the file names in the directory. Names that are not UTF-8 cannot be journals and are skipped.
    pub(crate) fn file_names(&self) -> io::Result<Vec<String>> {
        let entries = rustix::fs::Dir::read_from(&self.0)?;
        let mut names = Vec::new();
        // ends: a directory is finite, and MAX_NAMES
        for entry in entries.take(MAX_DIRECTORY_ENTRIES) {
            names.extend(entry?.file_name().to_str().ok().map(ToOwned::to_owned));
        }
        Ok(names)
    }

    /// Syncs the directory, so that new file names survive a crash.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.0)
    }
}

/// Opens any file for reading.
pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
    let file = rustix::fs::open(path, read_flags(), Mode::empty()).map_err(describe_open_error)?;
    require_regular_file(&file)?;
    Ok(File::from(file))
}

/// The owner of a lock.
pub(crate) enum LockOwner {
    Ours,
    /// The process id, if known.
    Theirs(Option<u32>),
}

/// Tries to lock a file for as long as it is open.
pub(crate) fn try_lock(file: &File) -> io::Result<LockOwner> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(LockOwner::Ours),
        Err(Errno::WOULDBLOCK) => Ok(LockOwner::Theirs(lock_holder(file))),
        Err(error) => Err(error.into()),
    }
}

/// Releases a lock. Closing the file is not enough, because a child process briefly inherits it between fork and exec.
pub(crate) fn unlock(file: &File) {
    // Unlocking a held lock cannot fail.
    let _unlocked = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Writes in one system call, and returns the number of bytes written.
pub(crate) fn write_once(file: &File, bytes: &[u8]) -> io::Result<usize> {
    for _ in 0..MAX_WRITE_ATTEMPTS {
        match rustix::io::write(file, bytes) {
            Err(Errno::INTR) => {}
            written => return Ok(written?),
        }
    }
    Err(Errno::INTR.into())
}

fn append_flags() -> OFlags {
    // Opening a FIFO must not block until it has a reader.
    OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn read_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn describe_open_error(error: Errno) -> io::Error {
    if error == Errno::LOOP { io::Error::other("it is a symbolic link") } else { error.into() }
}

fn require_regular_file(file: impl AsFd) -> io::Result<Stat> {
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        return Ok(stat);
    }
    Err(io::Error::other("it is no regular file"))
}

/// Returns whether a process has the file locked, if the kernel tells. It does not try the lock, which would refuse a
/// writer that opens the file at the same moment.
pub(crate) fn is_locked(file: &File) -> bool {
    lock_holders(file).is_some_and(|holders| !holders.is_empty())
}

/// Returns whether a process writes to the journal at `path`, if the kernel tells.
#[must_use]
pub fn is_in_use(path: &Path) -> bool {
    open_for_reading(path).is_ok_and(|file| is_locked(&file))
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
