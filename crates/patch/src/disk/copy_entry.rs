//! Copies entries of any kind next to their destination: content with holes, attributes, hard links, directories.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, SeekFrom, Timespec, Timestamps};
use rustix::io::{Errno, Result};

use super::entry_change::NewEntry;
use super::stage;
use super::syscalls::{self, FileStatus, InodeId};

/// More files than this are synced with their whole file system.
const MAX_SYNCED_ALONE: usize = 1000;
/// The depth of a directory. A deeper tree was made to obstruct.
const MAX_DEPTH: usize = 300;
/// The bytes that one call copies.
const COPY_BYTES: usize = 1 << 24;

/// The name of an entry in an open directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryName<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a Path,
}

/// Copies the entries of one commit.
#[derive(Debug, Default)]
pub(super) struct EntryCopier {
    /// Files that have several names at their source, and their first copy.
    linked: HashMap<InodeId, (OwnedFd, OsString)>,
    /// Files and directories whose content is not on disk yet.
    unsynced: Vec<OwnedFd>,
    copied: usize,
    /// True if set-id bits are copied too.
    pub(super) keeps_set_id: bool,
}

impl EntryCopier {
    /// Writes `new` as `name` in `dir`, which must not exist. Returns the identity of the copy.
    pub(super) fn stage(&mut self, dir: BorrowedFd<'_>, name: &Path, new: &NewEntry) -> Result<InodeId> {
        self.write(dir, name, new, 0)?;
        Ok(syscalls::status_of_name(dir, name)?.ok_or(Errno::NOENT)?.inode_id())
    }

    fn write(&mut self, dir: BorrowedFd<'_>, name: &Path, new: &NewEntry, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Errno::NAMETOOLONG);
        }
        match new {
            NewEntry::Copy(from) => self.copy(dir, name, EntryName { dir: CWD, name: from }),
            NewEntry::Content { bytes, attributes_of } => {
                let source = open_readable(EntryName { dir: CWD, name: attributes_of })?;
                let file = create_file(dir, name)?;
                let mut written = std::fs::File::from(file.try_clone().map_err(|_| Errno::MFILE)?);
                written
                    .write_all(bytes)
                    .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                stage::copy_metadata(file.as_fd(), source.as_fd(), None)?;
                self.remember(file, dir)
            }
            NewEntry::Directory { attributes_of, entries } => {
                rustix::fs::mkdirat(dir, name, Mode::RWXU)?;
                let made = syscalls::open_dir(dir, name, syscalls::SymlinkPolicy::Refuse)?;
                for (name, entry) in entries {
                    self.write(made.as_fd(), Path::new(name), entry, depth + 1)?;
                }
                let source = open_readable(EntryName { dir: CWD, name: attributes_of })?;
                copy_directory_attributes(made.as_fd(), source.as_fd())?;
                self.remember(made, dir)
            }
        }
    }

    /// Copies the entry `from` with everything in it, as it is on disk.
    pub(super) fn copy(&mut self, dir: BorrowedFd<'_>, name: &Path, from: EntryName<'_>) -> Result<()> {
        self.copy_at(dir, name, from, 0)
    }

    fn copy_at(&mut self, dir: BorrowedFd<'_>, name: &Path, from: EntryName<'_>, depth: usize) -> Result<()> {
        let status = syscalls::status_of_name(from.dir, from.name)?.ok_or(Errno::NOENT)?;
        match status.kind {
            FileType::RegularFile => self.copy_file(dir, name, from),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from.dir, from.name, Vec::new())?;
                rustix::fs::symlinkat(target, dir, name)?;
                rustix::fs::utimensat(dir, name, &times(&status), AtFlags::SYMLINK_NOFOLLOW)
            }
            FileType::Fifo => {
                rustix::fs::mknodat(dir, name, FileType::Fifo, status.mode, 0)?;
                // Not masked by the umask.
                rustix::fs::chmodat(dir, name, status.mode, AtFlags::empty())
            }
            FileType::Directory if depth < MAX_DEPTH => self.copy_directory(dir, name, from, depth),
            FileType::Directory => Err(Errno::NAMETOOLONG),
            FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                Err(Errno::NOTSUP)
            }
        }
    }

    fn copy_directory(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Path,
        from: EntryName<'_>,
        depth: usize,
    ) -> Result<()> {
        rustix::fs::mkdirat(dir, name, Mode::RWXU)?;
        let made = syscalls::open_dir(dir, name, syscalls::SymlinkPolicy::Refuse)?;
        let source = open_readable(from)?;
        for entry in rustix::fs::Dir::read_from(&source)? {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if !matches!(bytes, b"." | b"..") {
                let name = Path::new(OsStr::from_bytes(bytes));
                let from = EntryName { dir: source.as_fd(), name };
                self.copy_at(made.as_fd(), name, from, depth + 1)?;
            }
        }
        copy_directory_attributes(made.as_fd(), source.as_fd())?;
        self.remember(made, dir)
    }

    fn copy_file(&mut self, dir: BorrowedFd<'_>, name: &Path, from: EntryName<'_>) -> Result<()> {
        let source = open_readable(from)?;
        let status = syscalls::status_of_fd(source.as_fd())?;
        if status.kind != FileType::RegularFile {
            // It was replaced meanwhile.
            return Err(Errno::STALE);
        }
        if status.hard_links > 1
            && let Some((first_dir, first)) = self.linked.get(&status.inode_id())
        {
            return rustix::fs::linkat(first_dir, Path::new(first), dir, name, AtFlags::empty());
        }
        let file = create_file(dir, name)?;
        copy_content(source.as_fd(), file.as_fd(), status.version.size)?;
        stage::copy_metadata(file.as_fd(), source.as_fd(), None)?;
        if self.keeps_set_id {
            rustix::fs::fchmod(&file, status.mode)?;
        }
        rustix::fs::futimens(&file, &times(&status))?;
        if status.hard_links > 1 {
            let dir = rustix::io::fcntl_dupfd_cloexec(dir, 3)?;
            self.linked.insert(status.inode_id(), (dir, name.as_os_str().to_owned()));
        }
        self.remember(file, dir)
    }

    /// Remembers to sync `file`.
    fn remember(&mut self, file: OwnedFd, dir: BorrowedFd<'_>) -> Result<()> {
        self.copied += 1;
        match self.copied {
            ..=MAX_SYNCED_ALONE => {
                self.unsynced.push(file);
                if self.unsynced.len() >= stage::MAX_OPEN_FILES { self.sync() } else { Ok(()) }
            }
            // From here on, `sync` syncs the file system.
            _ if self.unsynced.is_empty() => {
                self.unsynced.push(rustix::io::fcntl_dupfd_cloexec(dir, 3)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes all copies durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        let unsynced = std::mem::take(&mut self.unsynced);
        if self.copied > MAX_SYNCED_ALONE {
            return unsynced.first().map_or(Ok(()), rustix::fs::syncfs);
        }
        stage::sync_all(&unsynced, syscalls::sync_dir).map_err(|(_, errno)| errno)
    }
}

fn create_file(dir: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens a file or a directory for reading, also one whose owner has taken away the permission.
fn open_readable(from: EntryName<'_>) -> Result<OwnedFd> {
    match syscalls::open_file(from.dir, from.name) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let peek_flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let peek = rustix::fs::openat(from.dir, from.name, peek_flags, Mode::empty())?;
    let by_fd = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&peek));
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&peek)?.st_mode & 0o7777);
    rustix::fs::chmod(&by_fd, mode | Mode::RUSR | Mode::XUSR)?;
    let opened = rustix::fs::open(&by_fd, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    rustix::fs::chmod(&by_fd, mode)?;
    opened
}

fn copy_directory_attributes(made: BorrowedFd<'_>, source: BorrowedFd<'_>) -> Result<()> {
    let status = syscalls::status_of_fd(source)?;
    stage::copy_directory_metadata(made, source)?;
    rustix::fs::futimens(made, &times(&status))
}

/// Copies `size` bytes: shares them if the file system can, else copies the parts that are not holes.
fn copy_content(from: BorrowedFd<'_>, to: BorrowedFd<'_>, size: u64) -> Result<()> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    rustix::fs::ftruncate(to, size)?;
    let mut at = 0;
    // ends: `at` grows up to `size`
    while at < size {
        let start = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Only a hole follows.
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(start)).unwrap_or(size).clamp(start, size);
        copy_range(from, to, start, end)?;
        at = end.max(start + 1);
    }
    Ok(())
}

fn copy_range(from: BorrowedFd<'_>, to: BorrowedFd<'_>, start: u64, end: u64) -> Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    // ends: each round copies bytes, or returns
    while read_at < end {
        let count = usize::try_from(end - read_at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        match rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), count) {
            // The file became shorter meanwhile.
            Ok(0) => return Err(Errno::STALE),
            Ok(_) => {}
            Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM) => {
                return copy_by_buffer(from, to, read_at, end);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn copy_by_buffer(from: BorrowedFd<'_>, to: BorrowedFd<'_>, start: u64, end: u64) -> Result<()> {
    let mut buffer = vec![0; 1 << 18];
    let mut at = start;
    // ends: each round copies bytes, or returns
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(buffer.len()).min(buffer.len());
        let read = match rustix::io::pread(from, &mut buffer[..most], at) {
            Ok(0) => return Err(Errno::STALE),
            Err(Errno::INTR) => continue,
            other => other?,
        };
        let mut written = 0;
        while written < read {
            match rustix::io::pwrite(to, &buffer[written..read], at + written as u64) {
                Ok(more) => written += more,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        at += read as u64;
    }
    Ok(())
}

fn times(status: &FileStatus) -> Timestamps {
    const NANOS_PER_SECOND: i128 = 1_000_000_000;
    let (seconds, nanos) = (
        status.version.mtime.div_euclid(NANOS_PER_SECOND),
        status.version.mtime.rem_euclid(NANOS_PER_SECOND),
    );
    let modified =
        Timespec { tv_sec: seconds.try_into().unwrap_or(0), tv_nsec: nanos.try_into().unwrap_or(0) };
    Timestamps { last_access: modified, last_modification: modified }
}
