//! The files themselves: 0600 from their first moment, never through a link, written to by one program at a time.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Names that are looked at in a directory.
const MAX_NAMES: usize = 100_000;
/// Bytes of the kernel's list of locks that are looked at.
const MAX_LOCKS: u64 = 1 << 20;
/// How often a write is tried that a signal interrupts.
const TRIES: usize = 16;
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A directory of journals.
pub(crate) struct Directory(OwnedFd);

impl Directory {
    /// Opens it, and makes it if it is not there.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let directory = Self::open(path)?;
        let stat = rustix::fs::fstat(&directory.0)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("the directory is somebody else's"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(io::Error::other("others may write into the directory: `chmod 700` it"));
        }
        Ok(directory)
    }

    /// Opens it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Makes a file to append to; it must not be there.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let flags = appending() | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, PRIVATE)?))
    }

    /// Opens a file to read it and append to it; it must be nobody else's.
    pub(crate) fn reopen(&self, name: &str) -> io::Result<File> {
        let file = rustix::fs::openat(&self.0, name, appending(), Mode::empty()).map_err(worded)?;
        let stat = regular(&file)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it is somebody else's"));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(io::Error::other("others may read it or write to it: `chmod 600` it"));
        }
        Ok(File::from(file))
    }

    /// Opens a file to read it.
    pub(crate) fn read(&self, name: &str) -> io::Result<File> {
        let file = rustix::fs::openat(&self.0, name, reading(), Mode::empty()).map_err(worded)?;
        regular(&file)?;
        Ok(File::from(file))
    }

    /// The names in it; those that are no text are none of ours.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let entries = rustix::fs::Dir::read_from(&self.0)?;
        let mut names = Vec::new();
        // ends: a directory is finite, and MAX_NAMES
        for entry in entries.take(MAX_NAMES) {
            names.extend(entry?.file_name().to_str().ok().map(ToOwned::to_owned));
        }
        Ok(names)
    }

    /// Waits until the names in it are on the disk.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.0)
    }
}

/// Opens a file to read it, wherever it is.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = rustix::fs::open(path, reading(), Mode::empty()).map_err(worded)?;
    regular(&file)?;
    Ok(File::from(file))
}

/// Who has a lock.
pub(crate) enum Lock {
    Ours,
    /// The process, if it can be known.
    Theirs(Option<u32>),
}

/// Locks a file for as long as it is open.
pub(crate) fn lock(file: &File) -> io::Result<Lock> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock::Ours),
        Err(Errno::WOULDBLOCK) => Ok(Lock::Theirs(holder(file))),
        Err(error) => Err(error.into()),
    }
}

/// Gives a lock back. Closing the file is not enough: a process that is just being started has it open too, for a moment.
pub(crate) fn unlock(file: &File) {
    // There is no way to have a lock that cannot be given back.
    let _unlocked = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Writes in one system call; how much of `bytes` went in.
pub(crate) fn write_once(file: &File, bytes: &[u8]) -> io::Result<usize> {
    for _ in 0..TRIES {
        match rustix::io::write(file, bytes) {
            Err(Errno::INTR) => {}
            written => return Ok(written?),
        }
    }
    Err(Errno::INTR.into())
}

fn appending() -> OFlags {
    // Not to wait for whoever reads a pipe.
    OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC
}

fn worded(error: Errno) -> io::Error {
    if error == Errno::LOOP { io::Error::other("it is a symbolic link") } else { error.into() }
}

fn regular(file: impl AsFd) -> io::Result<Stat> {
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        return Ok(stat);
    }
    Err(io::Error::other("it is no regular file"))
}

/// Whether somebody has a file locked, where the kernel tells. Nothing is locked to find out: whoever wants to write at
/// this moment would be refused.
pub(crate) fn is_locked(file: &File) -> bool {
    holders(file).is_some_and(|holders| !holders.is_empty())
}

/// Whether somebody writes to the journal at `path`, where the kernel tells.
#[must_use]
pub fn is_in_use(path: &Path) -> bool {
    open(path).is_ok_and(|file| is_locked(&file))
}

/// The process that has a file locked, where the kernel tells.
fn holder(file: &File) -> Option<u32> {
    // Nobody is 0, which stands for those whom we cannot see.
    holders(file)?.into_iter().find(|process| *process > 0)
}

fn holders(file: &File) -> Option<Vec<u32>> {
    let stat = rustix::fs::fstat(file).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let ours = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
    let mut locks = String::new();
    open(Path::new("/proc/locks")).ok()?.take(MAX_LOCKS).read_to_string(&mut locks).ok()?;
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:2883586 0 EOF
    let rows = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let holders = rows.filter_map(|row| match row[..] {
        [_, "FLOCK", _, _, process, file, ..] if file == ours => Some(process.parse().unwrap_or_default()),
        _ => None,
    });
    Some(holders.collect())
}
