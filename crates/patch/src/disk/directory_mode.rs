//! Changes the permissions of a directory in a commit, and restores them.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};

use super::commit_record::RecordedMode;
use super::syscalls;

/// The permissions to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeSide {
    /// Those before the commit.
    Old,
    /// Those after the commit.
    New,
}

impl RecordedMode {
    /// Sets the permissions. Another directory at that name stays as it is, and so do permissions that are neither the
    /// old nor the new ones.
    pub(super) fn set(&self, dir: BorrowedFd<'_>, side: ModeSide) -> Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::openat(dir, self.leaf.to_path_buf(), flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        let status = syscalls::status_of_fd(std::os::fd::AsFd::as_fd(&directory))?;
        let now = status.mode.as_raw_mode() & 0o7777;
        let (from, to) = match side {
            ModeSide::Old => (self.new, self.old),
            ModeSide::New => (self.old, self.new),
        };
        if status.inode_id() != self.id || now != from {
            return Ok(());
        }
        let by_fd = format!("/proc/self/fd/{}", directory.as_raw_fd());
        rustix::fs::chmod(by_fd, Mode::from_raw_mode(to))
    }
}
