//! Removes and copies entries of any kind, and keeps those that a commit replaced.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{Errno, Result};

use super::copy_entry::{EntryCopier, EntryName};
use super::syscalls::{self, SymlinkPolicy};

/// The depth of a directory. A deeper tree was made to obstruct.
const MAX_DEPTH: usize = 300;

/// Removes the entry `name`, a directory with everything in it. It is no error if there is none.
pub(super) fn remove_entry(dir: BorrowedFd<'_>, name: &Path) -> Result<()> {
    remove_at(dir, name, 0)
}

fn remove_at(dir: BorrowedFd<'_>, name: &Path, depth: usize) -> Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTEMPTY | Errno::EXIST) if depth < MAX_DEPTH => {}
        Err(errno) => return Err(errno),
    }
    let below = open_removable(dir, name)?;
    for entry in rustix::fs::Dir::read_from(&below)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if !matches!(bytes, b"." | b"..") {
            remove_at(below.as_fd(), Path::new(OsStr::from_bytes(bytes)), depth + 1)?;
        }
    }
    match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Opens a directory whose entries are removed. Its permissions may forbid that to its owner.
fn open_removable(dir: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd> {
    let peek_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let peek = rustix::fs::openat(dir, name, peek_flags, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&peek)?.st_mode & 0o7777);
    if !mode.contains(Mode::RWXU) {
        let by_fd = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&peek));
        rustix::fs::chmod(by_fd, mode | Mode::RWXU)?;
    }
    syscalls::open_dir(dir, name, SymlinkPolicy::Refuse)
}

/// Moves the entry `name` to `keep` in `kept_in`. Repeats what an interrupted call began.
pub(super) fn keep_entry(
    dir: BorrowedFd<'_>,
    name: &Path,
    kept_in: BorrowedFd<'_>,
    keep: &Path,
) -> Result<()> {
    if syscalls::status_of_name(kept_in, keep)?.is_some() {
        // The copy was complete before it got its name.
        return remove_entry(dir, name);
    }
    match rustix::fs::renameat(dir, name, kept_in, keep) {
        Err(Errno::XDEV) => {}
        // A directory that its owner may not write cannot be moved: its entry `..` changes.
        Err(Errno::ACCESS) => return move_unwritable(dir, name, kept_in, keep),
        other => return other,
    }
    let mut partial = keep.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    remove_entry(kept_in, partial)?;
    let mut copier = EntryCopier::default();
    match copier.copy(kept_in, partial, EntryName { dir, name }) {
        // A socket is nothing without its program.
        Ok(()) | Err(Errno::NOTSUP) => {}
        Err(errno) => return Err(errno),
    }
    copier.sync()?;
    match rustix::fs::renameat(kept_in, partial, kept_in, keep) {
        Ok(()) | Err(Errno::NOENT) => remove_entry(dir, name),
        Err(errno) => Err(errno),
    }
}

/// Moves a directory whose permissions forbid that, and restores them.
fn move_unwritable(dir: BorrowedFd<'_>, name: &Path, kept_in: BorrowedFd<'_>, keep: &Path) -> Result<()> {
    let peek_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let peek = rustix::fs::openat(dir, name, peek_flags, Mode::empty())?;
    let by_fd = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&peek));
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&peek)?.st_mode & 0o7777);
    rustix::fs::chmod(&by_fd, mode | Mode::RWXU)?;
    let moved = rustix::fs::renameat(dir, name, kept_in, keep);
    rustix::fs::chmod(&by_fd, mode)?;
    moved
}

/// Removes the entry at `path`, a directory with everything in it. No part of the path may be a link.
pub fn remove_tree(path: &Path) -> std::io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL.into());
    };
    match syscalls::open_dir(rustix::fs::CWD, parent, SymlinkPolicy::Refuse) {
        Err(Errno::NOENT) => Ok(()),
        Ok(parent) => Ok(remove_entry(parent.as_fd(), Path::new(name))?),
        Err(errno) => Err(errno.into()),
    }
}

/// Copies the entry at `from`, a directory with everything in it, to `to`, which must not exist.
pub fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    let (Some(parent), Some(name)) = (to.parent(), to.file_name()) else { return Err(Errno::INVAL.into()) };
    let parent = syscalls::open_dir(rustix::fs::CWD, parent, SymlinkPolicy::Refuse)?;
    let mut copier = EntryCopier::default();
    copier.copy(parent.as_fd(), Path::new(name), EntryName { dir: rustix::fs::CWD, name: from })?;
    Ok(copier.sync()?)
}
