//! One entry that a walk meets, good for as long as the visit lasts.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Kind, Stat, sys};

/// One entry that a walk meets. It is read through its directory's descriptor, so its path cannot be swapped.
#[derive(Debug)]
pub struct Entry<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a [u8],
    /// The absolute real path, and where in it the part below the start begins.
    pub(super) whole: &'a [u8],
    pub(super) offset: usize,
    pub(super) kind: Kind,
    pub(super) depth: usize,
}

impl Entry<'_> {
    /// Its path relative to the start of the walk.
    pub fn path(&self) -> &Path {
        Path::new(sys::os(&self.whole[self.offset..]))
    }

    /// What the directory says it is; a link is [`Kind::Symlink`].
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many directories down it is: 1 for what lies in the start itself.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Asks for its size and times; a link is not followed.
    pub fn stat(&self) -> io::Result<Stat> {
        let stat = rustix::fs::statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Stat::of(&stat))
    }

    /// Where it points, as written, if it is a link.
    pub fn link_target(&self) -> Option<PathBuf> {
        if self.kind != Kind::Symlink {
            return None;
        }
        sys::link(self.dir, sys::os(self.name)).ok()
    }

    /// Opens it for reading, if it is a regular file, and says what it is now.
    pub fn open(&self) -> io::Result<(File, Stat)> {
        // Asked before opening, because opening a device can already have an effect.
        if self.kind != Kind::File {
            return Err(not_a_file(self.kind));
        }
        let fd = rustix::fs::openat(self.dir, self.name, sys::READ | OFlags::NOFOLLOW, Mode::empty())?;
        // Asked again, because the name may mean something else since it was listed.
        let stat = Stat::of(&rustix::fs::fstat(&fd)?);
        if stat.kind != Kind::File {
            return Err(not_a_file(stat.kind));
        }
        Ok((File::from(fd), stat))
    }
}

fn not_a_file(kind: Kind) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}, not a file"))
}
