//! System calls for confined file access: open beneath a directory, path of a descriptor, directory listing.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

#[cfg(target_os = "linux")]
use crate::openat2::openat2;

/// The treatment of symlinks during path resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkHandling {
    /// Follow a link as long as it stays beneath the directory.
    Follow,
    /// Fail at any link.
    Refuse,
}

/// Errno for a symlink that cannot be followed safely, because the kernel lacks `openat2`.
pub(super) const LINK_UNSAFE: Errno = Errno::OPNOTSUPP;

/// Errno for a special file on a system that cannot look it up without opening it.
pub(super) const LOOKUP_UNSAFE: Errno = Errno::NXIO;

/// `O_PATH` refers to a file without opening it: a FIFO does not block, a device does not react.
#[cfg(target_os = "linux")]
pub(super) const PEEK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(super) const PEEK: OFlags = READ;

/// Reads without blocking on a FIFO and without adopting a controlling terminal.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Reads the entries of a directory.
pub(super) const LIST: OFlags = READ.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Opens the directory of a root, whose path must be free of links.
#[cfg(target_os = "linux")]
pub(super) fn root(path: &Path) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(rustix::fs::CWD, path, PEEK | OFlags::DIRECTORY, resolve) {
        Err(errno) if lacks_openat2(errno) => plain_root(path),
        other => other,
    }
}
#[cfg(not(target_os = "linux"))]
pub(super) fn root(path: &Path) -> Result<OwnedFd> {
    plain_root(path)
}

fn plain_root(path: &Path) -> Result<OwnedFd> {
    let top = rustix::fs::open("/", PEEK | OFlags::DIRECTORY, Mode::empty())?;
    open_without_links(top.as_fd(), path.strip_prefix("/").unwrap_or(path), PEEK | OFlags::DIRECTORY)
}

/// Opens `below` without leaving `dir`. Fails with `EXDEV` if a link leaves it.
#[cfg(target_os = "linux")]
pub(super) fn beneath(
    dir: BorrowedFd<'_>,
    below: &Path,
    flags: OFlags,
    links: LinkHandling,
) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match links {
        LinkHandling::Follow => {}
        LinkHandling::Refuse => resolve |= ResolveFlags::NO_SYMLINKS,
    }
    let path = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    match openat2(dir, path, flags, resolve) {
        Err(errno) if lacks_openat2(errno) => open_without_links(dir, below, flags),
        // Paths longer than PATH_MAX are also resolved step by step.
        Err(Errno::NAMETOOLONG) if links == LinkHandling::Refuse => open_without_links(dir, below, flags),
        other => other,
    }
}
#[cfg(not(target_os = "linux"))]
pub(super) fn beneath(
    dir: BorrowedFd<'_>,
    below: &Path,
    flags: OFlags,
    _links: LinkHandling,
) -> Result<OwnedFd> {
    open_without_links(dir, below, flags)
}

/// Linux before 5.6 returns ENOSYS; the seccomp profiles of older containers return EPERM.
#[cfg(target_os = "linux")]
fn lacks_openat2(errno: Errno) -> bool {
    matches!(errno, Errno::NOSYS | Errno::PERM)
}

/// Opens `below` one name at a time and refuses every link, for kernels without `openat2`.
pub(super) fn open_without_links(dir: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut at = None;
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(Errno::XDEV) };
        let here = at.as_ref().map_or(dir, OwnedFd::as_fd);
        let flags = if parts.peek().is_some() { PEEK | OFlags::DIRECTORY } else { flags };
        at = Some(open_component(here, name, flags)?);
    }
    at.map_or_else(|| rustix::fs::openat(dir, ".", flags, Mode::empty()), Ok)
}

fn open_component(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd> {
    let kind = |fd| rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    let is_link = || {
        rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    if cfg!(not(target_os = "linux")) {
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory | FileType::Symlink => {}
            _ => return Err(LOOKUP_UNSAFE),
        }
    }
    match rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(fd) if kind(fd.as_fd())? == FileType::Symlink => Err(LINK_UNSAFE),
        Err(Errno::LOOP) => Err(LINK_UNSAFE),
        Err(Errno::NOTDIR) if is_link() => Err(LINK_UNSAFE),
        other => other,
    }
}

/// Returns the real path that `path` leads to, even outside every root. Only a name is resolved: the target is not
/// opened.
#[cfg(target_os = "linux")]
pub(super) fn target(path: &Path) -> Result<PathBuf> {
    use rustix::fs::ResolveFlags;
    let fd = openat2(rustix::fs::CWD, path, PEEK, ResolveFlags::NO_MAGICLINKS)?;
    real_path(fd.as_fd())
}
#[cfg(not(target_os = "linux"))]
pub(super) fn target(_path: &Path) -> Result<PathBuf> {
    Err(LINK_UNSAFE)
}

/// Returns the current path of the file behind `fd`.
#[cfg(target_os = "linux")]
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf> {
    let name = rustix::fs::readlinkat(rustix::fs::CWD, proc_fd_path(fd), Vec::new())?;
    Ok(to_path(name))
}
#[cfg(target_vendor = "apple")]
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf> {
    Ok(to_path(rustix::fs::getpath(fd)?))
}
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn real_path(_fd: BorrowedFd<'_>) -> Result<PathBuf> {
    Err(Errno::NOENT)
}

/// Opens the same file as `fd` for reading. The caller has checked that it is a regular file.
#[cfg(target_os = "linux")]
pub(super) fn reopen(fd: BorrowedFd<'_>) -> std::io::Result<File> {
    Ok(File::from(rustix::fs::open(proc_fd_path(fd), READ, Mode::empty())?))
}
#[cfg(not(target_os = "linux"))]
pub(super) fn reopen(fd: BorrowedFd<'_>) -> std::io::Result<File> {
    use std::io::Seek;
    // `fd` is already open for reading here. The copy shares its position, hence the rewind.
    let mut file = File::from(fd.try_clone_to_owned()?);
    file.rewind()?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn proc_fd_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd))
}

/// Returns the target of a link, as it is written.
pub(super) fn read_link(dir: BorrowedFd<'_>, name: &OsStr) -> Result<PathBuf> {
    rustix::fs::readlinkat(dir, name, Vec::new()).map(to_path)
}

fn to_path(name: CString) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes()))
}

/// Buffer for one `getdents` call. It is as large as glibc's, so a directory of 1,000 names takes one call.
#[derive(Debug)]
pub(super) struct DirBuffer(Vec<u8>);

impl DirBuffer {
    pub(super) fn new() -> Self {
        const BYTES: usize = 32 * 1024;
        Self(Vec::with_capacity(BYTES))
    }
}

/// Calls `each` with every name in the directory except `.` and `..`, in the file system's order.
#[cfg(target_os = "linux")]
pub(super) fn list(
    dir: BorrowedFd<'_>,
    buffer: &mut DirBuffer,
    mut each: impl FnMut(&[u8], FileType) -> ControlFlow<()>,
) -> Result<()> {
    let mut raw = rustix::fs::RawDir::new(dir, buffer.0.spare_capacity_mut());
    // ends: the kernel returns each entry once
    while let Some(entry) = raw.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." && each(name, entry.file_type()).is_break() {
            return Ok(());
        }
    }
    Ok(())
}
#[cfg(not(target_os = "linux"))]
pub(super) fn list(
    dir: BorrowedFd<'_>,
    _buffer: &mut DirBuffer,
    mut each: impl FnMut(&[u8], FileType) -> ControlFlow<()>,
) -> Result<()> {
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." && each(name, entry.file_type()).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Converts the bytes of a directory entry to a file name.
pub(super) fn file_name(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Tests the fallback for kernels without `openat2`.
    #[test]
    fn stepping_goes_down_and_refuses_links() {
        let temp = tempfile::tempdir().unwrap();
        let base = super::super::canonicalize(temp.path()).unwrap();
        std::fs::create_dir_all(base.join("in/dir/deep")).unwrap();
        std::fs::create_dir_all(base.join("out/deep")).unwrap();
        symlink("dir", base.join("in/link")).unwrap();
        symlink(base.join("out"), base.join("in/out")).unwrap();
        let root = plain_root(&base.join("in")).unwrap();
        let step = |below: &str, flags| {
            open_without_links(root.as_fd(), Path::new(below), flags).map(|fd| real_path(fd.as_fd()).unwrap())
        };
        for (below, expected) in [
            ("", Ok(base.join("in"))),
            ("dir", Ok(base.join("in/dir"))),
            ("dir/deep", Ok(base.join("in/dir/deep"))),
            ("nothing", Err(Errno::NOENT)),
            ("link", Err(LINK_UNSAFE)),
            ("link/deep", Err(LINK_UNSAFE)),
            ("out", Err(LINK_UNSAFE)),
            ("out/deep", Err(LINK_UNSAFE)),
            ("dir/../../out", Err(Errno::XDEV)),
            ("/", Err(Errno::XDEV)),
        ] {
            assert_eq!(step(below, PEEK), expected, "{below}");
            assert_eq!(step(below, LIST), expected, "{below}");
        }
        assert_eq!(plain_root(&base.join("in/link")).unwrap_err(), LINK_UNSAFE);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_link_cannot_leave_the_directory() {
        let temp = tempfile::tempdir().unwrap();
        symlink("/etc", temp.path().join("out")).unwrap();
        symlink("..", temp.path().join("up")).unwrap();
        let dir = root(&super::super::canonicalize(temp.path()).unwrap()).unwrap();
        for below in ["out", "out/passwd", "up", "up/x"] {
            let opened = beneath(dir.as_fd(), Path::new(below), PEEK, LinkHandling::Follow);
            assert!(matches!(opened, Err(Errno::XDEV | LINK_UNSAFE)), "{below}");
        }
    }
}
