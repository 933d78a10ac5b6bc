//! Handle of a file that passed the policy check, held by its descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{FileKind, FileStat, FsError, sys};

/// A file that passed the policy check. It stays the same file even if its path is swapped.
#[derive(Debug)]
pub struct FileHandle {
    fd: OwnedFd,
    path: PathBuf,
    stat: FileStat,
}

impl FileHandle {
    /// The caller has checked `path`, the real path of `fd`.
    pub(super) fn new(fd: OwnedFd, path: PathBuf, stat: FileStat) -> Self {
        Self { fd, path, stat }
    }

    /// Returns the kind of file. It is never [`FileKind::Symlink`]: links were followed.
    pub fn kind(&self) -> FileKind {
        self.stat.kind
    }

    /// Returns the size in bytes at the time of the lookup.
    pub fn size(&self) -> u64 {
        self.stat.size
    }

    /// Returns the modification time at the time of the lookup.
    pub fn modified(&self) -> Option<SystemTime> {
        self.stat.modified
    }

    /// Returns the real path, free of symlinks.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns device and inode: two paths with the same identity are the same file.
    pub fn identity(&self) -> (u64, u64) {
        self.stat.identity
    }

    /// Opens a regular file for reading.
    pub fn open(&self) -> Result<File, FsError> {
        if self.stat.kind != FileKind::File {
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
        // Costs one system call, and ensures that even a forged /proc cannot substitute another file.
        if FileStat::from_stat(&stat).identity != self.stat.identity {
            return Err(FsError::Unsupported {
                path: self.path.clone(),
                why: "/proc is not the kernel's own",
            });
        }
        Ok(file)
    }

    /// Returns the directory's descriptor, as a working directory for a process. Fails if the file is not a
    /// directory.
    pub(crate) fn directory(&self) -> io::Result<BorrowedFd<'_>> {
        if self.stat.kind == FileKind::Directory {
            Ok(self.fd())
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
