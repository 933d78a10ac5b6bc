//! A thing that was looked at and may be read, held by its descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{FsError, Kind, Stat, sys};

/// A thing that was looked at and may be read. It stays the same thing whatever happens to its path.
#[derive(Debug)]
pub struct Found {
    fd: OwnedFd,
    path: PathBuf,
    stat: Stat,
}

impl Found {
    /// The caller has judged `path`, the real path of `fd`.
    pub(super) fn new(fd: OwnedFd, path: PathBuf, stat: Stat) -> Self {
        Self { fd, path, stat }
    }

    /// Says what it is. Never [`Kind::Symlink`]: links were followed.
    pub fn kind(&self) -> Kind {
        self.stat.kind
    }

    /// Its length in bytes when it was looked at.
    pub fn size(&self) -> u64 {
        self.stat.size
    }

    /// When its content last changed, when it was looked at.
    pub fn modified(&self) -> Option<SystemTime> {
        self.stat.modified
    }

    /// Where it really is, free of symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its device and inode: two paths with the same identity are the same thing.
    pub fn identity(&self) -> (u64, u64) {
        self.stat.identity
    }

    /// Opens it for reading, if it is a regular file.
    pub fn open(&self) -> Result<File, FsError> {
        if self.stat.kind != Kind::File {
            return Err(FsError::NotAFile { path: self.path.clone(), kind: self.stat.kind });
        }
        let fault = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => {
                FsError::Unsupported { path: self.path.clone(), why: "/proc is not mounted; mount it" }
            }
            _ => FsError::Io { path: self.path.clone(), source },
        };
        let file = sys::reopen(self.fd.as_fd()).map_err(fault)?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| fault(errno.into()))?;
        // Costs one call and means that not even a forged /proc can hand out another file.
        if Stat::of(&stat).identity != self.stat.identity {
            return Err(FsError::Unsupported {
                path: self.path.clone(),
                why: "/proc is not the kernel's own",
            });
        }
        Ok(file)
    }

    /// The directory itself, for a process to start in; an error if it is none.
    pub(crate) fn directory(&self) -> io::Result<BorrowedFd<'_>> {
        if self.stat.kind == Kind::Directory {
            Ok(self.fd())
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
