//! A file of the user's own that is changed: under a lock, and in one step, so that nobody ever reads half of it.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, fchmod, fchown, openat};

/// How long to wait for others that save; each takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(5);
/// For a file that is new: its owner's alone.
const OWN: Mode = Mode::RUSR.union(Mode::WUSR);

/// A file and what lies beside it while it is changed.
#[derive(Debug)]
pub struct OwnFile {
    directory: PathBuf,
    file: PathBuf,
    /// Stays: whoever removed it could take it away from under somebody who holds it.
    lock: PathBuf,
    new: PathBuf,
}

impl OwnFile {
    /// The file at `file`, whose directory is made if it is not there. A link stays one: what it points to is meant.
    pub fn of(file: &Path) -> io::Result<Self> {
        // What a link points to; a link to nothing is a fault, since nobody knows what was meant.
        let nothing = |_| io::Error::other("it is a link to nothing; remove it, or make what it points to");
        let file = if file.is_symlink() { crate::fs::real(file).map_err(nothing)? } else { file.to_owned() };
        let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(io::Error::other("that is no path of a file"));
        };
        let directory = Path::new(".").join(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let beside = |end: &str| directory.join(format!(".{}.{end}", name.to_string_lossy()));
        let (lock, new) = (beside("lock"), beside("new"));
        Ok(Self { directory, file, lock, new })
    }

    /// Where it is, with links resolved.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// What keeps others out.
    pub fn lock_path(&self) -> &Path {
        &self.lock
    }

    /// Waits until nobody else saves; `None` if that takes too long.
    pub fn lock(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = File::from(openat(CWD, &self.lock, flags, OWN)?);
        let until = Instant::now() + PATIENCE;
        // ends: when time is up
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(lock)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                // A file system without locks: still nobody reads half a file.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Some(lock));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Puts a file with `text` in the place of the one that is there.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        // Whoever left it did not get to its end, and we hold the lock.
        let _not_there = std::fs::remove_file(&self.new);
        let done = self.write_new(text).and_then(|()| std::fs::rename(&self.new, &self.file));
        if done.is_err() {
            let _not_there = std::fs::remove_file(&self.new);
        }
        done?;
        let directory =
            openat(CWD, &self.directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        File::from(directory?).sync_all()
    }

    fn write_new(&self, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut new = File::from(openat(CWD, &self.new, flags, OWN)?);
        if let Ok(old) = self.file.symlink_metadata() {
            // Root may change a user's file, which stays the user's; others change their own.
            let _ours_anyway = fchown(&new, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
            fchmod(&new, Mode::from_raw_mode(old.mode()))?;
        }
        new.write_all(text.as_bytes())?;
        new.sync_all()
    }
}
