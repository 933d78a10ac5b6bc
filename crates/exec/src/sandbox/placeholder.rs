//! Placeholder directories: empty, marked, and locked, they hold missing paths that no command may create.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, XattrFlags, fgetxattr, flock, fsetxattr, fstat, mkdir};
use rustix::io::Errno;

use super::scratch::{is_empty, open_directory};

/// The extended attribute that marks a placeholder directory.
const PLACEHOLDER_XATTR: &str = "user.toolgate.placeholder";

/// Creates the placeholder at `path`, or takes that of another session, and locks it against its removal.
pub(super) fn hold_placeholder(path: &Path) -> Option<OwnedFd> {
    /// Each is a moment in which another session removes its placeholder there.
    const MAX_TRIES: usize = 100;
    // ends: after so many tries at the latest
    for _ in 0..MAX_TRIES {
        let make = || mkdir(path, Mode::from_raw_mode(0o755));
        // The owner of a directory can make it writable: so does this process, temporarily.
        let made = make()
            .or_else(
                |errno| if errno == Errno::ACCESS { with_writable_parent(path, make) } else { Err(errno) },
            )
            .is_ok();
        let held = open_directory(path).ok()?;
        if made {
            // Marked, so that other sessions recognize it.
            let _not_here = fsetxattr(&held, PLACEHOLDER_XATTR, b"1", XattrFlags::empty());
        } else if !is_marked(&held) || !is_empty(path) {
            return None;
        }
        // Another session may have created it, and must not remove it while this one needs it.
        let locked = flock(&held, FlockOperation::NonBlockingLockShared);
        if locked != Err(Errno::AGAIN) && is_still_at(&held, path) {
            return Some(held);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

fn is_still_at(held: &OwnedFd, path: &Path) -> bool {
    let (Ok(held), Ok(there)) = (fstat(held), rustix::fs::lstat(path)) else { return false };
    (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)
}

/// Removes an empty directory that no other session holds.
pub(super) fn remove_placeholder(path: &Path, held: &OwnedFd) {
    if flock(held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    // A command may have made the parent read-only.
    if rustix::fs::rmdir(path) == Err(Errno::ACCESS) {
        let _not_empty = with_writable_parent(path, || rustix::fs::rmdir(path));
    }
}

/// Removes a placeholder only if it is marked: the list may be wrong.
pub(super) fn remove_marked_placeholder(path: &Path) {
    if let Ok(held) = open_directory(path)
        && is_marked(&held)
    {
        remove_placeholder(path, &held);
    }
}

fn is_marked(held: &OwnedFd) -> bool {
    fgetxattr(held, PLACEHOLDER_XATTR, &mut [0; 1]).is_ok()
}

/// Returns true if `path` is an empty directory, or a marked placeholder, to which the user may have added files
/// since.
pub(crate) fn is_placeholder(path: &Path) -> bool {
    open_directory(path).is_ok_and(|held| is_marked(&held) || is_empty(path))
}

/// Holds `path` with an empty directory if it is missing. Returns true if it exists afterwards.
pub(crate) fn hold_place(path: &Path) -> rustix::io::Result<bool> {
    match mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) => {
            let _not_here = fsetxattr(open_directory(path)?, PLACEHOLDER_XATTR, b"1", XattrFlags::empty());
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(true),
        // Its parent is gone too.
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Runs `work` while the parent directory of `path` is writable. The parent need not be readable.
fn with_writable_parent(
    path: &Path,
    work: impl FnOnce() -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let above = super::git::sys::open_path(path.parent().ok_or(Errno::ACCESS)?)?;
    super::set_aside::with_writable(&above, work)
}
