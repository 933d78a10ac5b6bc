//! Writing to the host's git directory: beneath it, through no link, in the ways of git.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::allowed::Removal;
use super::draft::{Draft, lock, same, unique, write};
use super::paths::parts;
use super::sys;
use super::upper::Body;

/// How many names are read of a directory on the host, and how many are removed at once.
pub(super) const NAMES: usize = 20_000;
const DIRECTORY: OFlags = sys::PEEK.union(OFlags::DIRECTORY);

/// The host's git directory.
#[derive(Debug)]
pub(super) struct Host {
    dir: OwnedFd,
    is_seen: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It is on the host now; what it is there.
    Landed(Mark),
    /// The host's is removed.
    Removed,
    /// The host has the same already.
    Same,
    /// Somebody else changed the host's.
    Conflict,
    /// Something is in the way that must not be touched, such as a link.
    Kept,
}

/// Why a file could not be written.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another git holds the lock.
    Locked,
    /// The system refused.
    Io(std::io::Error),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file as it was left: device, inode, time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64, u64, i128);

impl Mark {
    #[expect(clippy::useless_conversion, reason = "the fields differ from one architecture to the next")]
    pub(super) fn of(stat: &Stat) -> Self {
        Self(u64::from(stat.st_dev), u64::from(stat.st_ino), sys::changed(stat))
    }
}

/// What is asked before the host's is replaced or removed.
pub(super) struct Change<'a> {
    /// What may be removed to make room.
    pub(super) removal: Removal,
    /// Whether somebody else has changed this file of the host.
    pub(super) by_others: &'a dyn Fn(&Path, &Stat) -> bool,
}

impl Host {
    /// Opens the git directory `at`, which must be free of links.
    pub(super) fn open(at: &Path) -> rustix::io::Result<Self> {
        Ok(Self { dir: sys::root(at)?, is_seen: false })
    }

    /// A run sees this directory through its overlay meanwhile.
    pub(super) fn seen(mut self) -> Self {
        self.is_seen = true;
        self
    }

    /// Takes the lock of `name`. What a run sees it never forgets: then nobody else may hold it, and that has to do.
    pub(super) fn lock<'a>(&self, dir: BorrowedFd<'a>, name: &OsStr) -> Result<Option<Draft<'a>>, Fault> {
        if !self.is_seen {
            return lock(dir, name).map(Some);
        }
        let mut lock = name.to_owned();
        lock.push(".lock");
        match sys::look(dir, &lock)? {
            Some(_) => Err(Fault::Locked),
            None => Ok(None),
        }
    }

    /// What has this name.
    pub(super) fn look(&self, path: &Path) -> Option<Stat> {
        let (dir, name) = self.parent(path).ok()?;
        sys::look(dir.as_fd(), &name).ok().flatten()
    }

    /// Whether anything has this name.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.look(path).is_some()
    }

    /// Reads a small file.
    pub(super) fn small(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        sys::small(self.dir.as_fd(), path, limit)
    }

    /// Opens a file for reading.
    pub(super) fn file(&self, path: &Path) -> Option<File> {
        let file = File::from(sys::beneath(self.dir.as_fd(), path, sys::READ).ok()?);
        let stat = rustix::fs::fstat(&file).ok()?;
        (sys::kind(&stat) == FileType::RegularFile).then_some(file)
    }

    /// The names in a directory, none if it is none.
    pub(super) fn names(&self, path: &Path) -> Vec<OsString> {
        let mut names = Vec::new();
        if let Ok(dir) = sys::beneath(self.dir.as_fd(), path, sys::LIST) {
            let _ = sys::list(dir.as_fd(), |name, _| {
                names.push(name.to_owned());
                if names.len() < NAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        names
    }

    /// Makes a directory and those above it.
    pub(super) fn make(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        match sys::beneath(self.dir.as_fd(), path, DIRECTORY) {
            Err(Errno::NOENT) => {}
            other => return other,
        }
        let mut at = sys::beneath(self.dir.as_fd(), Path::new(""), DIRECTORY)?;
        for name in path {
            match rustix::fs::mkdirat(&at, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EXIST) => at = sys::beneath(at.as_fd(), Path::new(name), DIRECTORY)?,
                Err(errno) => return Err(errno),
            }
        }
        Ok(at)
    }

    /// The directory that `path` is in, and its name there.
    pub(super) fn parent(&self, path: &Path) -> rustix::io::Result<(OwnedFd, OsString)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
        Ok((sys::beneath(self.dir.as_fd(), parent, DIRECTORY)?, name.to_owned()))
    }

    /// Puts a file that is named by the hash of its content: if there is one, it is left alone. `fill` writes it, and reads
    /// it again if it likes; an error that says the content is wrong leaves everything as it was.
    pub(super) fn add(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut File) -> std::io::Result<()>,
    ) -> Result<Put, Fault> {
        use std::io::ErrorKind::{AlreadyExists, InvalidData, UnexpectedEof};
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Put::Kept) };
        let is_new = !self.has(parent);
        let dir = match self.make(parent) {
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(Put::Kept),
            other => other?,
        };
        if sys::look(dir.as_fd(), name)?.is_some() {
            return Ok(Put::Same);
        }
        let mut draft = Draft::new(dir.as_fd(), unique(), Mode::from_bits_truncate(0o444))?;
        if let Err(error) = fill(&mut draft.file) {
            drop(draft);
            if is_new {
                let (above, name) = self.parent(parent)?;
                let _ = rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
            }
            let wrong = matches!(error.kind(), InvalidData | UnexpectedEof);
            return if wrong { Ok(Put::Kept) } else { Err(error.into()) };
        }
        if parent.ends_with("pack") {
            rustix::fs::fdatasync(&draft.file)?;
        }
        match draft.place(name, RenameFlags::NOREPLACE) {
            Err(Fault::Io(error)) if error.kind() == AlreadyExists => Ok(Put::Same),
            other => Ok(Put::Landed(other?)),
        }
    }

    /// Replaces a file as git does: while a lock is held, a new file takes the name.
    pub(super) fn replace(&self, path: &Path, body: &Body, change: &Change<'_>) -> Result<Put, Fault> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Put::Kept) };
        let dir = match self.make(parent) {
            Err(Errno::NOTDIR) => match self.clear_way(parent, change)? {
                Put::Removed => self.make(parent)?,
                other => return Ok(other),
            },
            Err(Errno::LOOP) => return Ok(Put::Kept),
            other => other?,
        };
        match self.judge_present(dir.as_fd(), path, body, change)? {
            Some(Put::Removed) | None => {}
            Some(put) => return Ok(put),
        }
        // Git takes no file that ends so for a reference.
        let mut hidden = unique();
        hidden.push(".lock");
        let mut draft = Draft::new(dir.as_fd(), hidden, Mode::from_bits_truncate(0o644))?;
        write(&mut draft.file, body)?;
        if parts(path).contains(&b"refs".as_slice()) || name == "packed-refs" {
            rustix::fs::fdatasync(&draft.file)?;
        }
        let _lock = self.lock(dir.as_fd(), name)?;
        // Only now nobody else changes it.
        if sys::look(dir.as_fd(), name)?.is_some_and(|stat| (change.by_others)(path, &stat)) {
            return Ok(Put::Conflict);
        }
        Ok(Put::Landed(draft.place(name, RenameFlags::empty())?))
    }

    /// Adds to a file in place, as git does with the history of a reference.
    pub(super) fn append(&self, path: &Path, text: &[u8]) -> Result<Put, Fault> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(sys::beneath(self.dir.as_fd(), path, flags)?);
        if sys::kind(&rustix::fs::fstat(&file)?) != FileType::RegularFile {
            return Ok(Put::Kept);
        }
        file.write_all(text)?;
        Ok(Put::Landed(Mark::of(&rustix::fs::fstat(&file)?)))
    }

    /// What is to be said of the file that `body` would replace. `None`: nothing speaks against it.
    fn judge_present(
        &self,
        dir: BorrowedFd<'_>,
        path: &Path,
        body: &Body,
        change: &Change<'_>,
    ) -> Result<Option<Put>, Fault> {
        let Some(name) = path.file_name() else { return Ok(Some(Put::Kept)) };
        let Some(stat) = sys::look(dir, name)? else { return Ok(None) };
        Ok(match sys::kind(&stat) {
            FileType::RegularFile if self.file(path).is_some_and(|file| same(&file, body)) => Some(Put::Same),
            FileType::RegularFile => (change.by_others)(path, &stat).then_some(Put::Conflict),
            FileType::Directory if change.removal == Removal::Tree => Some(self.remove_tree(path, change)?),
            _ => Some(Put::Kept),
        })
    }
}
