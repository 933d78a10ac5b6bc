//! System calls for git directories: opening beneath a directory, listing one, reading metadata of a name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::{Errno, Result};

use crate::openat2::openat2;

/// `O_PATH` refers to a file without opening it: a FIFO does not block, a device does not react.
pub(super) const PATH_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Reads without blocking on a FIFO, adopting a terminal, or following a link.
pub(super) const READ_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Reads the entries of a directory.
pub(crate) const LIST_FLAGS: OFlags = READ_FLAGS.union(OFlags::DIRECTORY);

/// Opens the directory `path`, which must be free of links.
pub(crate) fn root(path: &Path) -> Result<OwnedFd> {
    openat2(CWD, path, LIST_FLAGS, ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

/// Opens the directory `path` with `O_PATH`. It must be free of links and need not be readable.
pub(crate) fn open_path(path: &Path) -> Result<OwnedFd> {
    let flags = PATH_FLAGS | OFlags::DIRECTORY;
    openat2(CWD, path, flags, ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

/// Opens `below` without leaving `dir` and without following a link.
pub(crate) fn beneath(dir: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    openat2(dir, path, flags, resolve)
}

/// Returns the real path of `path`. Only a name is resolved: the target is not opened.
pub(super) fn canonical_path(path: &Path) -> Result<PathBuf> {
    let fd = openat2(CWD, path, PATH_FLAGS, ResolveFlags::NO_MAGICLINKS)?;
    let name = rustix::fs::readlinkat(CWD, format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(name.into_bytes())))
}

/// Returns true if `path` lies below the directory `above` with no mount between them.
pub(crate) fn is_same_mount(above: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(above) else { return false };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    root(above).is_ok_and(|above| openat2(above, below, PATH_FLAGS, resolve).is_ok())
}

/// Returns the metadata of `name` in `dir`, if it exists.
pub(super) fn stat_name(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the kind of the file at `path`, whose directory may be unreadable. Links are not followed.
pub(crate) fn kind_of(path: &Path) -> Option<FileType> {
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| file_type(&stat))
}

/// Returns true if `path` exists.
pub(crate) fn is_there(path: &Path) -> bool {
    kind_of(path).is_some()
}

/// Returns the kind of file of a `stat`.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns the change time in nanoseconds. Unlike the modification time, no program can set it.
pub(super) fn change_time(stat: &Stat) -> i128 {
    i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec)
}

/// Returns the size of a file.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Calls `each` with every name in the open directory except `.` and `..`, and with its kind.
pub(crate) fn list(
    dir: BorrowedFd<'_>,
    mut each: impl FnMut(&OsStr, FileType) -> ControlFlow<()>,
) -> Result<()> {
    const BYTES: usize = 32 * 1024;
    let mut buffer = Vec::with_capacity(BYTES);
    let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
    // ends: the kernel returns each entry once, and `each` may stop
    while let Some(entry) = raw.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let name = OsStr::from_bytes(name);
        let listed = match entry.file_type() {
            // Some file systems do not state the kind.
            FileType::Unknown => {
                stat_name(dir, name).ok().flatten().map_or(FileType::Unknown, |stat| file_type(&stat))
            }
            listed => listed,
        };
        if each(name, listed).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a small regular file beneath `dir`. Returns `None` if there is none, or if it is larger than `limit`.
pub(super) fn read_small_file(dir: BorrowedFd<'_>, below: &Path, limit: u64) -> Option<Vec<u8>> {
    let file = File::from(beneath(dir, below, READ_FLAGS).ok()?);
    let stat = rustix::fs::fstat(file.as_fd()).ok()?;
    if file_type(&stat) != FileType::RegularFile || size(&stat) > limit {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
