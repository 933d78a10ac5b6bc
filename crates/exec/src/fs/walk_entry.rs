//! One entry that a walk visits, valid during the visit.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{FileKind, FileStat, sys};

/// One entry that a walk visits. It is read through its directory's descriptor, so its path cannot be swapped.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a [u8],
    /// The absolute real path. The part relative to the start of the walk begins at `offset`.
    pub(super) full_path: &'a [u8],
    pub(super) offset: usize,
    pub(super) kind: FileKind,
    pub(super) depth: usize,
}

impl WalkEntry<'_> {
    /// Returns the path relative to the start of the walk.
    pub fn path(&self) -> &Path {
        Path::new(sys::file_name(&self.full_path[self.offset..]))
    }

    /// Returns the kind of file as the directory lists it; a symlink is [`FileKind::Symlink`].
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns the depth: 1 for an entry of the start directory.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Reads size and times. A symlink is not followed.
    pub fn stat(&self) -> io::Result<FileStat> {
        let stat = rustix::fs::statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileStat::from_stat(&stat))
    }

    /// Returns the target of a symlink, as it is written.
    pub fn link_target(&self) -> Option<PathBuf> {
        if self.kind != FileKind::Symlink {
            return None;
        }
        sys::read_link(self.dir, sys::file_name(self.name)).ok()
    }

    /// Opens a regular file for reading, and returns its current metadata.
    pub fn open(&self) -> io::Result<(File, FileStat)> {
        // Checked before opening, because opening a device can already have an effect.
        if self.kind != FileKind::File {
            return Err(not_a_file(self.kind));
        }
        let fd = rustix::fs::openat(self.dir, self.name, sys::READ | OFlags::NOFOLLOW, Mode::empty())?;
        // Checked again, because the name may mean another file since it was listed.
        let stat = FileStat::from_stat(&rustix::fs::fstat(&fd)?);
        if stat.kind != FileKind::File {
            return Err(not_a_file(stat.kind));
        }
        Ok((File::from(fd), stat))
    }
}

fn not_a_file(kind: FileKind) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}, not a file"))
}
