//! Private files: mode 0600 from creation, symlinks never followed, writes atomic.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A directory of private files.
pub(super) struct PrivateFileDir(OwnedFd);

impl PrivateFileDir {
    /// Opens the directory and creates it if it does not exist.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = Self(rustix::fs::open(path, flags, Mode::empty())?);
        let stat = rustix::fs::fstat(&directory.0)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("the directory belongs to another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(io::Error::other("others may write into the directory"));
        }
        Ok(directory)
    }

    /// Returns the content of a file; `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        // Non-blocking, so that opening a FIFO does not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(io::Error::other("it is a symbolic link")),
            Err(error) => return Err(error.into()),
        };
        check_private(&file)?;
        let mut bytes = Vec::new();
        File::from(file).take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Replaces the content of a file atomically.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{name}.{}.{count}.new", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, &*aside, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| Ok(rustix::fs::renameat(&self.0, &*aside, &self.0, name)?));
        if renamed.is_err() {
            self.remove(&aside)?;
        }
        renamed
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks a file until the returned descriptor is dropped; `None` if another process holds the lock.
    pub(super) fn try_lock(&self, name: impl AsRef<OsStr>) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name.as_ref(), flags, Mode::RUSR | Mode::WUSR)?;
        check_private(&file)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Checks that a file is regular, owned by this user, and private.
fn check_private(file: &OwnedFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(io::Error::other("others may read it or write to it: `chmod 600` it, or log in anew"));
    }
    Ok(())
}
