//! Locks the directory of a worktree; the lock ends with the process, so that leftovers can be recognised.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// Extension of the lock file beside a worktree's directory.
const LOCK_EXTENSION: &str = "claim";
/// Bytes of a path at most.
const MAX_PATH_BYTES: u64 = 4096;

/// A locked directory for a worktree.
pub(crate) struct WorktreeLock {
    /// The repository that the worktree belongs to.
    repository: PathBuf,
    path: PathBuf,
    /// Held while the directory is in use.
    lock: Mutex<Option<File>>,
}

impl WorktreeLock {
    /// Locks the directory `path` for a worktree of `repository`.
    pub(crate) fn acquire(repository: &Path, path: PathBuf) -> io::Result<Self> {
        let file = path.with_extension(LOCK_EXTENSION);
        // Locked before it is renamed into place: a lock file is never visible unlocked.
        let draft = path.with_extension("draft");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut lock = File::from(rustix::fs::open(&draft, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        lock.write_all(repository.as_os_str().as_bytes())?;
        rustix::fs::rename(&draft, &file)?;
        Ok(Self { repository: repository.to_owned(), path, lock: Mutex::new(Some(lock)) })
    }

    /// Locks and returns the worktrees in `directory` whose owners are gone.
    #[expect(clippy::disallowed_methods, reason = "our own files, in the user's own state directory")]
    pub(crate) fn take_abandoned(directory: &Path) -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let lock_files = files.filter(|file| file.extension().is_some_and(|ending| ending == LOCK_EXTENSION));
        lock_files.filter_map(|file| Self::take_over(&file)).collect()
    }

    /// Takes over the lock `file` if no process holds it.
    fn take_over(file: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut repository = Vec::new();
        (&lock).take(MAX_PATH_BYTES).read_to_end(&mut repository).ok()?;
        let repository = PathBuf::from(std::ffi::OsString::from_vec(repository));
        Some(Self { repository, path: file.with_extension(""), lock: Mutex::new(Some(lock)) })
    }

    /// Returns the repository.
    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path for a git index beside the directory.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.path.with_extension("index")
    }

    /// Reports whether the directory is still in use.
    pub(crate) fn is_held(&self) -> bool {
        self.lock.lock().is_some()
    }

    /// Removes the directory and its files, and releases the lock.
    pub(crate) fn release(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let _was_not_there = rustix::fs::unlink(self.index_path());
        rustix::fs::unlink(self.path.with_extension(LOCK_EXTENSION))?;
        self.lock.lock().take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_locks_are_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let claim =
            |name: &str| WorktreeLock::acquire(Path::new("/repository"), home.path().join(name)).unwrap();
        let (left, held) = (claim("left"), claim("held"));
        for claim in [&left, &held] {
            std::fs::create_dir_all(claim.path().join("sub")).unwrap();
        }
        drop(left);
        let found = WorktreeLock::take_abandoned(home.path());
        let places: Vec<(&Path, &Path)> =
            found.iter().map(|claim| (claim.repository(), claim.path())).collect();
        assert_eq!(places, [(Path::new("/repository"), home.path().join("left").as_path())]);
        assert!(WorktreeLock::take_abandoned(home.path()).is_empty(), "it is locked now");
        found[0].release().unwrap();
        assert!(!found[0].is_held() && held.is_held());
        drop(found);
        assert!(!home.path().join("left").exists() && home.path().join("held").exists());
        assert!(
            WorktreeLock::acquire(Path::new("/repository"), home.path().join("held")).is_ok(),
            "the name is the caller's"
        );
    }
}
