//! The system call `openat2`, repeated while it is interrupted.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

/// The maximum number of attempts.
const MAX_ATTEMPTS: usize = 128;

/// Opens `path` relative to `dir`. Retries after EAGAIN, which means that a concurrent rename may have raced with a
/// `..`, and after EINTR.
pub(crate) fn openat2(dir: impl AsFd, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd> {
    for _ in 0..MAX_ATTEMPTS {
        match rustix::fs::openat2(&dir, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}
