//! Wrappers of system calls on open files and directories: open, resolve, stat, rename, remove and sync.

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, Result};
use serde::{Deserialize, Serialize};

use crate::file_tree::FileVersion;

/// Identifies a file independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct InodeId {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

/// The status of a file: identity, kind, and metadata that changes with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileStatus {
    pub(super) version: FileVersion,
    pub(super) kind: FileType,
    pub(super) mode: Mode,
    pub(super) hard_links: u64,
    pub(super) owner: u32,
    pub(super) group: u32,
}

impl FileStatus {
    pub(super) fn inode_id(&self) -> InodeId {
        InodeId { dev: self.version.dev, ino: self.version.ino }
    }

    fn from_stat(stat: &rustix::fs::Stat) -> Self {
        const NANOS_PER_SECOND: i128 = 1_000_000_000;
        let version = FileVersion {
            dev: to_u64(stat.st_dev),
            ino: to_u64(stat.st_ino),
            size: to_u64(stat.st_size),
            mtime: i128::from(stat.st_mtime) * NANOS_PER_SECOND + i128::from(to_u64(stat.st_mtime_nsec)),
            ctime: i128::from(stat.st_ctime) * NANOS_PER_SECOND + i128::from(to_u64(stat.st_ctime_nsec)),
        };
        Self {
            version,
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: Mode::from_raw_mode(stat.st_mode),
            hard_links: to_u64(stat.st_nlink),
            owner: stat.st_uid,
            group: stat.st_gid,
        }
    }
}

/// Converts a stat field to `u64`. The widths differ between systems, and none of the fields is ever negative.
fn to_u64<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(0)
}

/// The handling of symlinks in the path of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SymlinkPolicy {
    Follow,
    Refuse,
}

const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags for a directory with search but no read permission. It cannot be synced, so its entries become durable at some
/// later time.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = DIR;

/// Flags for reading that neither blocks on a FIFO, nor adopts a terminal, nor follows a symlink.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// Opens the directory at `path`, relative to `base`.
pub(super) fn open_dir(base: BorrowedFd<'_>, path: &Path, links: SymlinkPolicy) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match open_with(base, path, DIR, links) {
        Err(Errno::ACCESS) => open_with(base, path, PASS, links),
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn open_with(base: BorrowedFd<'_>, path: &Path, flags: OFlags, links: SymlinkPolicy) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = match links {
        SymlinkPolicy::Follow => ResolveFlags::NO_MAGICLINKS,
        SymlinkPolicy::Refuse => ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS,
    };
    match retry_openat2(|| rustix::fs::openat2(base, path, flags, Mode::empty(), resolve)) {
        // Linux before 5.6 returns ENOSYS; the seccomp profiles of older containers return EPERM.
        Err(Errno::NOSYS | Errno::PERM) => open_plainly(base, path, flags, links),
        Err(Errno::NAMETOOLONG) if links == SymlinkPolicy::Refuse => open_plainly(base, path, flags, links),
        other => other,
    }
}
#[cfg(not(target_os = "linux"))]
fn open_with(base: BorrowedFd<'_>, path: &Path, flags: OFlags, links: SymlinkPolicy) -> Result<OwnedFd> {
    open_plainly(base, path, flags, links)
}

fn open_plainly(base: BorrowedFd<'_>, path: &Path, flags: OFlags, links: SymlinkPolicy) -> Result<OwnedFd> {
    if links == SymlinkPolicy::Follow {
        return rustix::fs::openat(base, path, flags, Mode::empty());
    }
    let mut at: Option<OwnedFd> = None;
    for part in path.components() {
        let here = at.as_ref().map_or(base, OwnedFd::as_fd);
        at = Some(match part {
            Component::RootDir => rustix::fs::open("/", flags, Mode::empty())?,
            Component::CurDir => rustix::fs::openat(here, ".", flags, Mode::empty())?,
            Component::Normal(name) => {
                rustix::fs::openat(here, name, flags | OFlags::NOFOLLOW, Mode::empty())?
            }
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::XDEV),
        });
    }
    at.ok_or(Errno::NOENT)
}

/// Retries `openat2`, which returns EAGAIN if a rename anywhere may have raced with a `..`.
#[cfg(target_os = "linux")]
fn retry_openat2<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    const TRIES: usize = 128;
    for _ in 0..TRIES {
        match attempt() {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Returns the current path of the file behind `fd`.
#[cfg(target_os = "linux")]
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf> {
    let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
    rustix::fs::readlinkat(rustix::fs::CWD, name, Vec::new()).map(to_path)
}
#[cfg(target_vendor = "apple")]
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf> {
    rustix::fs::getpath(fd).map(to_path)
}

fn to_path(name: CString) -> PathBuf {
    PathBuf::from(OsString::from_vec(name.into_bytes()))
}

/// Resolves the symlink `name` without opening its target.
#[cfg(target_os = "linux")]
pub(super) fn resolve_symlink(dir: BorrowedFd<'_>, name: &Path) -> Result<(PathBuf, InodeId)> {
    use rustix::fs::ResolveFlags;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened =
        retry_openat2(|| rustix::fs::openat2(dir, name, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS));
    let fd = match opened {
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(dir, name, flags, Mode::empty())?,
        other => other?,
    };
    Ok((real_path(fd.as_fd())?, status_of_fd(fd.as_fd())?.inode_id()))
}
#[cfg(not(target_os = "linux"))]
pub(super) fn resolve_symlink(dir: BorrowedFd<'_>, name: &Path) -> Result<(PathBuf, InodeId)> {
    // This system cannot resolve without opening, so only a regular file is opened.
    let stat = rustix::fs::statat(dir, name, AtFlags::empty())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::NXIO);
    }
    let fd = rustix::fs::openat(dir, name, READ.difference(OFlags::NOFOLLOW), Mode::empty())?;
    Ok((real_path(fd.as_fd())?, status_of_fd(fd.as_fd())?.inode_id()))
}

/// Opens the file `name` for reading. Does not follow a symlink.
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd> {
    rustix::fs::openat(dir, name, READ, Mode::empty())
}

/// Returns the status of the file behind `fd`.
pub(super) fn status_of_fd(fd: BorrowedFd<'_>) -> Result<FileStatus> {
    rustix::fs::fstat(fd).map(|stat| FileStatus::from_stat(&stat))
}

/// Returns the status of the file at `name`, if it exists. Does not follow a symlink.
pub(super) fn status_of_name(dir: BorrowedFd<'_>, name: &Path) -> Result<Option<FileStatus>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileStatus::from_stat(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns true if the file system or the kernel does not support this kind of rename.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    // The last two are equal on some systems.
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&errno)
}

/// Atomically exchanges the files at two names.
pub(super) fn exchange(dir: BorrowedFd<'_>, one: &Path, other: &Path) -> Result<()> {
    rustix::fs::renameat_with(dir, one, dir, other, RenameFlags::EXCHANGE)
}

/// Renames `from` to `to`, which must not exist.
pub(super) fn rename_no_replace(dir: BorrowedFd<'_>, from: &Path, to: &Path) -> Result<()> {
    let renamed = match rustix::fs::renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => rename_by_link(dir, from, to),
        other => other,
    };
    match renamed {
        // Two names of one file: `rename_by_link` was interrupted after its first half.
        Err(Errno::EXIST) if is_same_file(dir, from, to)? => remove_name(dir, from),
        other => other,
    }
}

/// Renames by a hard link, which never replaces a file, on file systems without a rename that does not replace.
fn rename_by_link(dir: BorrowedFd<'_>, from: &Path, to: &Path) -> Result<()> {
    match rustix::fs::linkat(dir, from, dir, to, AtFlags::empty()) {
        Ok(()) => remove_name(dir, from),
        Err(Errno::EXIST) => Err(Errno::EXIST),
        Err(_) if status_of_name(dir, to)?.is_some() => Err(Errno::EXIST),
        Err(_) => rustix::fs::renameat(dir, from, dir, to),
    }
}

/// Returns true if two names refer to one file.
pub(super) fn is_same_file(dir: BorrowedFd<'_>, one: &Path, other: &Path) -> Result<bool> {
    let (one, other) = (status_of_name(dir, one)?, status_of_name(dir, other)?);
    Ok(one.zip(other).is_some_and(|(one, other)| one.inode_id() == other.inode_id()))
}

/// Removes a file name, if it exists.
pub(super) fn remove_name(dir: BorrowedFd<'_>, name: &Path) -> Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Makes the data written to `fd` durable.
pub(super) fn sync_file(fd: BorrowedFd<'_>) -> Result<()> {
    #[cfg(target_vendor = "apple")]
    let synced = rustix::fs::fcntl_fullfsync(fd).or_else(|_| rustix::fs::fsync(fd));
    #[cfg(not(target_vendor = "apple"))]
    let synced = rustix::fs::fsync(fd);
    synced
}

/// Makes the entries of a directory durable, if the system supports it.
pub(super) fn sync_dir(fd: BorrowedFd<'_>) -> Result<()> {
    match sync_file(fd) {
        // A directory without read permission, or a file system that does not sync directories.
        Err(Errno::BADF | Errno::INVAL) => Ok(()),
        other => other,
    }
}
