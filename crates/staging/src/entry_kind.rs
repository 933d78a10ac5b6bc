//! The status of one directory entry: its kind, size, permissions and times, without following links.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::{Errno, Result};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket, which is nothing without its program.
    Socket,
    /// A device.
    Device,
}

/// The status of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryStatus {
    /// Its kind.
    pub kind: EntryKind,
    /// Its permissions.
    pub mode: u32,
    /// Its size in bytes.
    pub size: u64,
    /// The blocks of 512 bytes that it occupies.
    pub(crate) blocks: u64,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) links: u64,
    pub(crate) mtime: i128,
    pub(crate) ctime: i128,
    /// True for a device with the number 0, with which an overlay marks what is removed.
    pub(crate) is_whiteout: bool,
}

impl EntryStatus {
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        const NANOS_PER_SECOND: i128 = 1_000_000_000;
        let time = |seconds: i64, nanos: u64| i128::from(seconds) * NANOS_PER_SECOND + i128::from(nanos);
        let file_type = FileType::from_raw_mode(stat.st_mode);
        Self {
            kind: match file_type {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => EntryKind::Link,
                FileType::Fifo => EntryKind::Fifo,
                FileType::Socket => EntryKind::Socket,
                FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => EntryKind::Device,
            },
            mode: stat.st_mode & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
            dev: stat.st_dev,
            ino: stat.st_ino,
            links: stat.st_nlink,
            mtime: time(stat.st_mtime, stat.st_mtime_nsec),
            ctime: time(stat.st_ctime, stat.st_ctime_nsec),
            is_whiteout: file_type == FileType::CharacterDevice && stat.st_rdev == 0,
        }
    }

    /// Returns the version that a commit compares.
    pub(crate) fn version(&self) -> patch::FileVersion {
        patch::FileVersion {
            dev: self.dev,
            ino: self.ino,
            size: self.size,
            mtime: self.mtime,
            ctime: self.ctime,
        }
    }
}

/// Returns the status of the entry `name` in `dir`, or `None` if there is none.
pub(crate) fn status_of(dir: BorrowedFd<'_>, name: &Path) -> Result<Option<EntryStatus>> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(EntryStatus::from_stat(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}
