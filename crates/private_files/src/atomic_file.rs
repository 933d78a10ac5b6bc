//! Atomic update of a user's file: by rename, so that no reader sees a partial file. A lock orders the writers.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, fchmod, fchown, openat};

use crate::private_dir::create_private_dir;

/// The maximum time to wait for the lock; a save takes some milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between two attempts to lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// The mode of a new file: only its owner may read and write it.
const OWNER_ONLY_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A file, with its lock file and its temporary file in the same directory.
#[derive(Debug)]
pub struct AtomicFile {
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
        let file = if file.is_symlink() { resolve_links(file).map_err(nothing)? } else { file.to_owned() };
        create_private_dir(directory_of(&file))?;
        let (lock_path, temp_path) = (path_beside(&file, "lock")?, path_beside(&file, "new")?);
        Ok(Self { file, lock_path, temp_path })
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
        replace_through(&self.temp_path, &self.file, text)
    }
}

/// Atomically replaces `file` with `text`, and creates its directory if missing. Takes no lock: the last writer wins.
pub fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    // Threads of this process may write the same file at the same time.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    create_private_dir(directory_of(file))?;
    let temp_path = path_beside(file, &format!("{}.{count}.new", std::process::id()))?;
    // A leftover of a process that died and had this id.
    let _not_there = std::fs::remove_file(&temp_path);
    replace_through(&temp_path, file, text)
}

/// Writes `text` to the new file `temp_path`, and renames that to `file`.
fn replace_through(temp_path: &Path, file: &Path, text: &str) -> io::Result<()> {
    let done = write_temp_file(temp_path, file, text).and_then(|()| std::fs::rename(temp_path, file));
    if done.is_err() {
        let _not_there = std::fs::remove_file(temp_path);
    }
    done?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    File::from(openat(CWD, directory_of(file), flags, Mode::empty())?).sync_all()
}

fn write_temp_file(temp_path: &Path, file: &Path, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut new = File::from(openat(CWD, temp_path, flags, OWNER_ONLY_MODE)?);
    if let Ok(old) = file.symlink_metadata()
        && old.is_file()
    {
        // Root may change a user's file, whose owner stays the same. Other users change only their own.
        let _ours_anyway = fchown(&new, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
        fchmod(&new, Mode::from_raw_mode(old.mode()))?;
    }
    new.write_all(text.as_bytes())?;
    new.sync_all()
}

#[expect(clippy::disallowed_methods, reason = "a file that the user named")]
fn resolve_links(file: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(file)
}

fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path of a hidden file in the same directory.
fn path_beside(file: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = file.file_name().ok_or_else(|| io::Error::other("that is not the path of a file"))?;
    Ok(directory_of(file).join(format!(".{}.{ending}", name.to_string_lossy())))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at what was written")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_is_left() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("new/file");
        std::thread::scope(|scope| {
            for text in ["one", "three"] {
                let file = &file;
                scope.spawn(move || (0..20).for_each(|_| replace_file(file, text).unwrap()));
            }
        });
        assert!(["one", "three"].contains(&std::fs::read_to_string(&file).unwrap().as_str()));
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(temp.path().join("new")).unwrap().count(), 1);
        assert!(replace_file(Path::new("/"), "x").is_err());
    }
}
