//! Tells one state of a file from another.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, statat};

/// The state of a file. Nobody can set the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    file: (u64, u64),
    size: i64,
    changed: (i64, u64),
}

impl FileStamp {
    /// The state of what is at `path`, if there is something. A link is a file of its own.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self {
            file: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        })
    }
}
