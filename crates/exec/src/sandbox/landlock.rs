//! Landlock rulesets: everything may be read, only given roots written; newer kernels also scope signals and sockets.
//!
//! The kernel enforces them for a process and its descendants, independent of mounts.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

use super::sys;

/// The oldest sufficient version: it handles `truncate`, which is a write.
pub(crate) const MIN_VERSION: u32 = 3;
/// The oldest usable version: before it, no file could be moved to another directory.
pub(crate) const MIN_VERSION_WITH_MOUNTS: u32 = 2;
/// From this version on devices are protected from `ioctl`, and sockets and signals are scoped to the confined
/// processes.
pub(crate) const FULL_VERSION: u32 = 6;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
const READ_RIGHTS: u64 = EXECUTE | READ_FILE | READ_DIR;
/// The rights that apply to a file that is not a directory.
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
/// Abstract sockets, signals.
const SCOPES: u64 = 0b11;

/// Devices that can be written.
const WRITABLE_DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Devices of a private `/dev`.
const PRIVATE_DEVICES: &[&str] = &["/dev/ptmx", "/dev/pts"];

/// Creates a ruleset: everything may be read, and files below `writable` may be written. `own_devices`: `/dev` is
/// private.
pub(crate) fn ruleset(writable: &[PathBuf], own_devices: bool, version: u32) -> Result<OwnedFd> {
    let supported_rights = match version {
        0..=2 => (1 << 14) - 1,
        3..=4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    };
    let scopes = if version >= FULL_VERSION { SCOPES } else { 0 };
    let rules = sys::landlock_ruleset(supported_rights, 0, scopes, version)?;
    allow_path(&rules, Path::new("/"), READ_RIGHTS & supported_rights)?;
    for root in writable {
        match allow_path(&rules, root, supported_rights) {
            // A process has removed it: there is nothing to write.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => return Err(errno),
        }
    }
    let mut devices: Vec<&str> = WRITABLE_DEVICES.to_vec();
    if own_devices {
        devices.extend(PRIVATE_DEVICES);
    }
    // Private, or else a known gap: without it, programs that share memory do not work.
    let _not_there = allow_path(&rules, Path::new("/dev/shm"), supported_rights);
    for device in devices {
        let rights = (READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV) & supported_rights;
        // A system may lack the device.
        let _not_there = allow_path(&rules, Path::new(device), rights);
    }
    Ok(rules)
}

/// Allows a program to reopen files that it was given, e.g. as `/dev/stdout`, with the same access. Returns true if
/// there are any.
pub(crate) fn allow_given(rules: &OwnedFd, given: &[OwnedFd]) -> bool {
    let mut any = false;
    for fd in given {
        let is_file = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let is_written = |flags: OFlags| flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        let can_reopen = rustix::fs::fstat(fd).is_ok_and(is_file) || rustix::termios::isatty(fd);
        if can_reopen && rustix::fs::fcntl_getfl(fd).is_ok_and(is_written) {
            any = true;
            // Older kernels do not know the last right, so it is omitted there.
            let _as_it_is = sys::landlock_allow(rules, fd, READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)
                .or_else(|_| sys::landlock_allow(rules, fd, READ_FILE | WRITE_FILE | TRUNCATE));
        }
    }
    any
}

fn allow_path(rules: &OwnedFd, path: &Path, rights: u64) -> Result<()> {
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let is_directory = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Directory;
    sys::landlock_allow(rules, &fd, if is_directory { rights } else { rights & FILE_RIGHTS })
}
