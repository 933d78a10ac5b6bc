//! Opens files and directories of layers and of the user's tree: never through a link, also without permission bits.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, Result};

/// The number of attempts while a rename races with a lookup.
const MAX_ATTEMPTS: usize = 128;

/// Opens the directory at `path`, which must be free of links.
pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    resolve(CWD, path, flags)
}

/// Opens `below` in `dir` for lookups alone. No part of it may be a link.
pub(crate) fn peek_below(dir: BorrowedFd<'_>, below: &Path) -> Result<OwnedFd> {
    let path = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    resolve(dir, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
}

fn resolve(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // ends: after so many attempts at the latest
    for _ in 0..MAX_ATTEMPTS {
        match openat2(dir, path, flags, Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens the entry `name` of `dir` for reading, also one whose owner has taken away the permission.
pub(crate) fn open_readable(dir: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(dir, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let peek = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let by_fd = format!("/proc/self/fd/{}", peek.as_raw_fd());
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&peek)?.st_mode & 0o7777);
    rustix::fs::chmod(&by_fd, mode | Mode::RUSR | Mode::XUSR)?;
    let opened = rustix::fs::open(&by_fd, flags.difference(OFlags::NOFOLLOW), Mode::empty());
    rustix::fs::chmod(&by_fd, mode)?;
    opened
}

/// Returns the names in `directory`, sorted.
pub(crate) fn names_in(directory: &OwnedFd) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if !matches!(bytes, b"." | b"..") {
            names.push(OsStr::from_bytes(bytes).to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Reads at most `limit` bytes of the file `name` in `dir`. Returns `None` if it is larger.
pub(crate) fn read_limited(dir: BorrowedFd<'_>, name: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let file = File::from(open_readable(dir, name)?);
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Returns true if two files have the same content.
pub(crate) fn same_content(one: OwnedFd, other: OwnedFd) -> std::io::Result<bool> {
    const BLOCK: usize = 1 << 16;
    let (mut one, mut other) = (File::from(one), File::from(other));
    let (mut left, mut right) = (vec![0; BLOCK], vec![0; BLOCK]);
    // ends: with the shorter file
    loop {
        let (read, also) = (fill(&mut one, &mut left)?, fill(&mut other, &mut right)?);
        if left[..read] != right[..also] {
            return Ok(false);
        }
        if read < BLOCK {
            return Ok(true);
        }
    }
}

fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    // ends: with the file, or with the room
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns the target of the link `name` in `dir`, as it is written.
pub(crate) fn link_target(dir: BorrowedFd<'_>, name: &Path) -> Result<PathBuf> {
    let target = rustix::fs::readlinkat(dir, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Splits a path into its parent and its name.
pub(crate) fn split(path: &Path) -> (&Path, &Path) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().map_or(Path::new("."), Path::new))
}

/// Opens the directory that contains `path`, below `root`. Returns `None` if it does not exist.
pub(crate) fn open_parent(root: &OwnedFd, path: &Path) -> Result<Option<OwnedFd>> {
    match peek_below(root.as_fd(), split(path).0) {
        Ok(parent) => Ok(Some(parent)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
