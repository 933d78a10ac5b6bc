//! Reads and writes the host's git directory: beneath it, without following links, with git's locks and renames.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::allowlist::RemovalScope;
use super::path_text::parts;
use super::sys;
use super::temp_file::{GitTempFile, has_same_content, take_lock, unique_name, write};
use super::upper_dir::LandingContent;

/// The maximum number of names read from a host directory, and the maximum number removed at once.
pub(super) const MAX_NAMES: usize = 20_000;
const DIRECTORY_FLAGS: OFlags = sys::PATH_FLAGS.union(OFlags::DIRECTORY);

/// The host's git directory.
#[derive(Debug)]
pub(super) struct HostGitDir {
    dir: OwnedFd,
    is_visible_to_run: bool,
}

/// The outcome of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostWriteOutcome {
    /// The file is on the host now, with this mark.
    Landed(LandedMark),
    /// The host's file is removed.
    Removed,
    /// The host already has the same content.
    Unchanged,
    /// Another process changed the host's file.
    Conflict,
    /// An obstacle must not be touched, such as a link.
    Kept,
}

/// The reason why a file could not be written.
#[derive(Debug)]
pub(super) enum HostWriteFault {
    /// Another git holds the lock.
    Locked,
    /// A system call failed.
    Io(std::io::Error),
}

impl From<Errno> for HostWriteFault {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<std::io::Error> for HostWriteFault {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The identity of a landed file: device, inode, time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LandedMark(u64, u64, i128);

impl LandedMark {
    #[expect(clippy::useless_conversion, reason = "the fields differ from one architecture to the next")]
    pub(super) fn from_stat(stat: &Stat) -> Self {
        Self(u64::from(stat.st_dev), u64::from(stat.st_ino), sys::change_time(stat))
    }
}

/// The conditions for replacing or removing a host file.
pub(super) struct ReplaceGuard<'a> {
    /// The scope of removals that make room.
    pub(super) removal: RemovalScope,
    /// Returns true if another process has changed this file of the host.
    pub(super) is_foreign_change: &'a dyn Fn(&Path, &Stat) -> bool,
}

impl HostGitDir {
    /// Opens the git directory `at`, which must be free of links.
    pub(super) fn open(at: &Path) -> rustix::io::Result<Self> {
        Ok(Self { dir: sys::root(at)?, is_visible_to_run: false })
    }

    /// Marks that a run sees this directory through its overlay meanwhile.
    pub(super) fn visible_to_run(mut self) -> Self {
        self.is_visible_to_run = true;
        self
    }

    /// Takes the lock of `name`. A run's overlay caches every name that it sees. So if a run sees the directory, this
    /// only checks that no other process holds the lock.
    pub(super) fn lock<'a>(
        &self,
        dir: BorrowedFd<'a>,
        name: &OsStr,
    ) -> Result<Option<GitTempFile<'a>>, HostWriteFault> {
        if !self.is_visible_to_run {
            return take_lock(dir, name).map(Some);
        }
        let mut lock = name.to_owned();
        lock.push(".lock");
        match sys::stat_name(dir, &lock)? {
            Some(_) => Err(HostWriteFault::Locked),
            None => Ok(None),
        }
    }

    /// Returns the metadata of this name.
    pub(super) fn stat(&self, path: &Path) -> Option<Stat> {
        let (dir, name) = self.open_parent(path).ok()?;
        sys::stat_name(dir.as_fd(), &name).ok().flatten()
    }

    /// Returns true if the name exists.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.stat(path).is_some()
    }

    /// Reads a small file.
    pub(super) fn read_small(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        sys::read_small_file(self.dir.as_fd(), path, limit)
    }

    /// Opens a file for reading.
    pub(super) fn open_file(&self, path: &Path) -> Option<File> {
        let file = File::from(sys::beneath(self.dir.as_fd(), path, sys::READ_FLAGS).ok()?);
        let stat = rustix::fs::fstat(&file).ok()?;
        (sys::file_type(&stat) == FileType::RegularFile).then_some(file)
    }

    /// Returns the names in a directory; none if it is not a directory.
    pub(super) fn list_names(&self, path: &Path) -> Vec<OsString> {
        let mut names = Vec::new();
        if let Ok(dir) = sys::beneath(self.dir.as_fd(), path, sys::LIST_FLAGS) {
            let _ = sys::list(dir.as_fd(), |name, _| {
                names.push(name.to_owned());
                if names.len() < MAX_NAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        names
    }

    /// Creates a directory and its ancestors.
    pub(super) fn create_directory(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        match sys::beneath(self.dir.as_fd(), path, DIRECTORY_FLAGS) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        let mut at = sys::beneath(self.dir.as_fd(), Path::new(""), DIRECTORY_FLAGS)?;
        for name in path {
            match rustix::fs::mkdirat(&at, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {
                    at = sys::beneath(at.as_fd(), Path::new(name), DIRECTORY_FLAGS)?;
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(at)
    }

    /// Opens the parent directory of `path`, and returns its file name.
    pub(super) fn open_parent(&self, path: &Path) -> rustix::io::Result<(OwnedFd, OsString)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
        Ok((sys::beneath(self.dir.as_fd(), parent, DIRECTORY_FLAGS)?, name.to_owned()))
    }

    /// Adds a content-addressed file; an existing one is left alone. `fill` writes and may verify it. An error for
    /// invalid content leaves everything unchanged.
    pub(super) fn add_new(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut File) -> std::io::Result<()>,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        use std::io::ErrorKind::{AlreadyExists, InvalidData, UnexpectedEof};
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(HostWriteOutcome::Kept);
        };
        let is_new = !self.exists(parent);
        let dir = match self.create_directory(parent) {
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(HostWriteOutcome::Kept),
            other => other?,
        };
        if sys::stat_name(dir.as_fd(), name)?.is_some() {
            return Ok(HostWriteOutcome::Unchanged);
        }
        let mut temp_file = GitTempFile::new(dir.as_fd(), unique_name(), Mode::from_bits_truncate(0o444))?;
        if let Err(error) = fill(&mut temp_file.file) {
            drop(temp_file);
            if is_new {
                let (above, name) = self.open_parent(parent)?;
                let _ = rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
            }
            let wrong = matches!(error.kind(), InvalidData | UnexpectedEof);
            return if wrong { Ok(HostWriteOutcome::Kept) } else { Err(error.into()) };
        }
        if parent.ends_with("pack") {
            rustix::fs::fdatasync(&temp_file.file)?;
        }
        match temp_file.rename_into_place(name, RenameFlags::NOREPLACE) {
            Err(HostWriteFault::Io(error)) if error.kind() == AlreadyExists => {
                Ok(HostWriteOutcome::Unchanged)
            }
            other => Ok(HostWriteOutcome::Landed(other?)),
        }
    }

    /// Replaces a file as git does: while a lock is held, a new file is renamed over it.
    pub(super) fn replace(
        &self,
        path: &Path,
        body: &LandingContent,
        guard: &ReplaceGuard<'_>,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(HostWriteOutcome::Kept);
        };
        let dir = match self.create_directory(parent) {
            Err(Errno::NOTDIR) => match self.remove_blocking_file(parent, guard)? {
                HostWriteOutcome::Removed => self.create_directory(parent)?,
                other => return Ok(other),
            },
            Err(Errno::LOOP) => return Ok(HostWriteOutcome::Kept),
            other => other?,
        };
        match self.judge_present(dir.as_fd(), path, body, guard)? {
            Some(HostWriteOutcome::Removed) | None => {}
            Some(put) => return Ok(put),
        }
        // Git does not take a file with this suffix for a reference.
        let mut hidden = unique_name();
        hidden.push(".lock");
        let mut temp_file = GitTempFile::new(dir.as_fd(), hidden, Mode::from_bits_truncate(0o644))?;
        write(&mut temp_file.file, body)?;
        if parts(path).contains(&b"refs".as_slice()) || name == "packed-refs" {
            rustix::fs::fdatasync(&temp_file.file)?;
        }
        let _lock = self.lock(dir.as_fd(), name)?;
        // Under the lock, no other git changes the file.
        if sys::stat_name(dir.as_fd(), name)?.is_some_and(|stat| (guard.is_foreign_change)(path, &stat)) {
            return Ok(HostWriteOutcome::Conflict);
        }
        Ok(HostWriteOutcome::Landed(temp_file.rename_into_place(name, RenameFlags::empty())?))
    }

    /// Appends to a file in place, as git does with a reflog.
    pub(super) fn append(&self, path: &Path, text: &[u8]) -> Result<HostWriteOutcome, HostWriteFault> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(sys::beneath(self.dir.as_fd(), path, flags)?);
        if sys::file_type(&rustix::fs::fstat(&file)?) != FileType::RegularFile {
            return Ok(HostWriteOutcome::Kept);
        }
        file.write_all(text)?;
        Ok(HostWriteOutcome::Landed(LandedMark::from_stat(&rustix::fs::fstat(&file)?)))
    }

    /// Judges the file that `body` would replace. Returns `None` if it may be replaced.
    fn judge_present(
        &self,
        dir: BorrowedFd<'_>,
        path: &Path,
        body: &LandingContent,
        guard: &ReplaceGuard<'_>,
    ) -> Result<Option<HostWriteOutcome>, HostWriteFault> {
        let Some(name) = path.file_name() else { return Ok(Some(HostWriteOutcome::Kept)) };
        let Some(stat) = sys::stat_name(dir, name)? else { return Ok(None) };
        Ok(match sys::file_type(&stat) {
            FileType::RegularFile
                if self.open_file(path).is_some_and(|file| has_same_content(&file, body)) =>
            {
                Some(HostWriteOutcome::Unchanged)
            }
            FileType::RegularFile => {
                (guard.is_foreign_change)(path, &stat).then_some(HostWriteOutcome::Conflict)
            }
            FileType::Directory if guard.removal == RemovalScope::Tree => {
                Some(self.remove_tree(path, guard)?)
            }
            _ => Some(HostWriteOutcome::Kept),
        })
    }
}
