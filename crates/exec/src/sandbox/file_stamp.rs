//! File stamps: detect whether a file has changed.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, statat};

/// The state of a file. No program can set its change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device_and_inode: (u64, u64),
    size: i64,
    change_time: (i64, u64),
}

impl FileStamp {
    /// Reads the state of `path`, if it exists. Links are not followed.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self {
            device_and_inode: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            change_time: (stat.st_ctime, stat.st_ctime_nsec),
        })
    }
}
