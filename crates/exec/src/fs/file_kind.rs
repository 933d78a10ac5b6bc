//! File kinds and the few metadata fields that tools need.

use std::fmt;
use std::time::{Duration, SystemTime};

use rustix::fs::FileType;

/// The kind of a file. Its `Display` reads as "a directory", "a FIFO".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device, e.g. a terminal.
    CharDevice,
    /// A block device, e.g. a disk.
    BlockDevice,
    /// A kind that this system does not name.
    Other,
}

impl FileKind {
    pub(super) fn from_file_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Unknown => Self::Other,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::CharDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Other => "neither a file nor a directory",
        })
    }
}

/// The metadata of a file at the time of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// The kind of file.
    pub kind: FileKind,
    /// The size in bytes; of a symlink, the length of its target.
    pub size: u64,
    /// The modification time of the content.
    pub modified: Option<SystemTime>,
    /// Device and inode: two paths with the same identity are the same file.
    pub identity: (u64, u64),
    /// True if any execute bit is set.
    pub executable: bool,
}

impl FileStat {
    pub(super) fn from_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            kind: FileKind::from_file_type(FileType::from_raw_mode(stat.st_mode)),
            size: to_u64(stat.st_size),
            modified: to_system_time(stat.st_mtime, stat.st_mtime_nsec),
            identity: (to_u64(stat.st_dev), to_u64(stat.st_ino)),
            executable: stat.st_mode & 0o111 != 0,
        }
    }
}

/// Converts a field of `stat`, whose width and sign differ between systems.
fn to_u64(field: impl TryInto<u64>) -> u64 {
    field.try_into().unwrap_or_default()
}

fn to_system_time(seconds: impl TryInto<i64>, nanos: impl TryInto<u32>) -> Option<SystemTime> {
    let seconds: i64 = seconds.try_into().ok()?;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    at?.checked_add(Duration::from_nanos(u64::from(nanos.try_into().ok()?)))
}
