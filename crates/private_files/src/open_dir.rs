//! An open directory of private files: mode 0600 from creation on, no symlinks, atomic replacement.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::private_dir::create_private_dir;

/// Maximum number of names read from a directory.
const MAX_DIRECTORY_ENTRIES: usize = 100_000;
const PRIVATE_FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open directory that belongs to this user.
pub struct PrivateDir(OwnedFd);

impl PrivateDir {
    /// Opens the directory, and creates it if it is missing.
    ///
    /// # Errors
    /// If it cannot be created, belongs to another user, or others may write into it.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        create_private_dir(path)?;
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
    ///
    /// # Errors
    /// If it cannot be opened, or is a symlink.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        // Linux reports a symlink as ENOTDIR with these flags.
        opened.map(Self).map_err(|error| match error {
            Errno::NOTDIR if path.is_symlink() => describe_open_error(Errno::LOOP),
            error => describe_open_error(error),
        })
    }

    /// Returns the size and the time of the last change of a file, without following a symlink.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn file_facts(&self, name: &str) -> io::Result<(u64, SystemTime)> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let since = Duration::new(
            u64::try_from(stat.st_mtime).unwrap_or_default(),
            u32::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        );
        Ok((u64::try_from(stat.st_size).unwrap_or_default(), UNIX_EPOCH + since))
    }

    /// Creates a file for appending; it must not exist.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = append_flags() | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, PRIVATE_FILE_MODE)?))
    }

    /// Opens a file for reading and appending. The file must belong to the current user, and grant others no access.
    ///
    /// # Errors
    /// If it is not private, is a symlink, or cannot be opened.
    pub fn open_for_append(&self, name: &str) -> io::Result<File> {
        let file =
            rustix::fs::openat(&self.0, name, append_flags(), Mode::empty()).map_err(describe_open_error)?;
        require_private_file(&file)?;
        Ok(File::from(file))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If it is not a regular file, or cannot be opened.
    pub fn open_for_reading(&self, name: &str) -> io::Result<File> {
        let file =
            rustix::fs::openat(&self.0, name, read_flags(), Mode::empty()).map_err(describe_open_error)?;
        require_regular_file(&file)?;
        Ok(File::from(file))
    }

    /// Returns the file names in the directory. Names that are not UTF-8 are skipped.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn file_names(&self) -> io::Result<Vec<String>> {
        let entries = rustix::fs::Dir::read_from(&self.0)?;
        let mut names = Vec::new();
        // ends: a directory is finite, and MAX_DIRECTORY_ENTRIES
        for entry in entries.take(MAX_DIRECTORY_ENTRIES) {
            names.extend(entry?.file_name().to_str().ok().map(ToOwned::to_owned));
        }
        Ok(names)
    }

    /// Returns the content of a private file; `None` if it does not exist. Reads no more than `max_bytes`.
    ///
    /// # Errors
    /// If the file is not private, is a symlink, or cannot be read.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match rustix::fs::openat(&self.0, name, read_flags(), Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(describe_open_error)?,
        };
        require_private_file(&file)?;
        let mut bytes = Vec::new();
        File::from(file).take(max_bytes).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Replaces the content of a file atomically.
    ///
    /// # Errors
    /// If the content cannot be written. The file is then as before.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{name}.{}.{count}.new", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, &*aside, flags, PRIVATE_FILE_MODE)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| Ok(rustix::fs::renameat(&self.0, &*aside, &self.0, name)?));
        if renamed.is_err() {
            self.remove(&aside)?;
        }
        renamed
    }

    /// Removes a file, if it exists.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file if it is missing, and locks it until it is dropped; `None` if another process holds the lock.
    ///
    /// # Errors
    /// If the file is not private, or cannot be locked.
    pub fn lock_file(&self, name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, PRIVATE_FILE_MODE)?);
        require_private_file(&file)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Syncs the directory, so that new file names survive a crash.
    ///
    /// # Errors
    /// If the disk reports one.
    pub fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.0)
    }
}

/// Opens any file for reading.
///
/// # Errors
/// If it is not a regular file, or cannot be opened.
pub fn open_for_reading(path: &Path) -> io::Result<File> {
    let file = rustix::fs::open(path, read_flags(), Mode::empty()).map_err(describe_open_error)?;
    require_regular_file(&file)?;
    Ok(File::from(file))
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

fn require_private_file(file: impl AsFd) -> io::Result<()> {
    let stat = require_regular_file(file)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(io::Error::other("others may read it or write to it: `chmod 600` it"));
    }
    Ok(())
}

fn require_regular_file(file: impl AsFd) -> io::Result<Stat> {
    let stat = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        return Ok(stat);
    }
    Err(io::Error::other("it is not a regular file"))
}
