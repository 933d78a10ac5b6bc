//! Atomic update of a user's file: under a lock and by rename, so that no reader sees a partial file.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, fchmod, fchown, openat};

/// The maximum time to wait for the lock; a save takes some milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between two attempts to lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// The mode of a new file: only its owner may read and write it.
const OWNER_ONLY_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A file, with its lock file and its temporary file in the same directory.
#[derive(Debug)]
pub struct AtomicFile {
    directory: PathBuf,
    file: PathBuf,
    /// Never removed: removal could break the lock of a process that holds it.
    lock_path: PathBuf,
    temp_path: PathBuf,
}

impl AtomicFile {
    /// Prepares to change `file`, and creates its directory if missing. A symlink is kept: its target is changed.
    pub fn open(file: &Path) -> io::Result<Self> {
        // A broken link is an error, since its intended target is unclear.
        let nothing = |_| io::Error::other("it is a link to nothing; remove it, or make what it points to");
        let file =
            if file.is_symlink() { crate::fs::canonicalize(file).map_err(nothing)? } else { file.to_owned() };
        let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(io::Error::other("that is no path of a file"));
        };
        let directory = Path::new(".").join(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let beside = |end: &str| directory.join(format!(".{}.{end}", name.to_string_lossy()));
        let (lock_path, temp_path) = (beside("lock"), beside("new"));
        Ok(Self { directory, file, lock_path, temp_path })
    }

    /// Returns the path, with links resolved.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Returns the path of the lock file.
    pub fn lock_path(&self) -> &Path {
        &self.lock_path
    }

    /// Takes the lock. Returns `None` if that takes too long.
    pub fn lock(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = File::from(openat(CWD, &self.lock_path, flags, OWNER_ONLY_MODE)?);
        let until = Instant::now() + LOCK_TIMEOUT;
        // ends: when time is up
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(lock)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
                // A file system without locks: the rename still prevents partial reads.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Some(lock));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Atomically replaces the file with `text`.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        // A leftover of an interrupted save: this process holds the lock.
        let _not_there = std::fs::remove_file(&self.temp_path);
        let done = self.write_temp_file(text).and_then(|()| std::fs::rename(&self.temp_path, &self.file));
        if done.is_err() {
            let _not_there = std::fs::remove_file(&self.temp_path);
        }
        done?;
        let directory =
            openat(CWD, &self.directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        File::from(directory?).sync_all()
    }

    fn write_temp_file(&self, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut new = File::from(openat(CWD, &self.temp_path, flags, OWNER_ONLY_MODE)?);
        if let Ok(old) = self.file.symlink_metadata() {
            // Root may change a user's file, whose owner stays the same. Other users change only their own.
            let _ours_anyway = fchown(&new, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
            fchmod(&new, Mode::from_raw_mode(old.mode()))?;
        }
        new.write_all(text.as_bytes())?;
        new.sync_all()
    }
}
