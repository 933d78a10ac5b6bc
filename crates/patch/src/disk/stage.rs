//! Writes new files next to their destination, with the attributes of the files they replace.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use super::syscalls::{self, FileStatus};
use crate::file_tree::NewFile;

/// The number of sync threads. Time to sync 200 new files of 5 kB on ext4: 650-1000 ms one by one; 57-280 ms with 4
/// threads; 46-207 ms with 8; 28-95 ms with 16. `syncfs` takes 42-223 ms and also writes other processes' data.
const THREADS: usize = 16;

/// The maximum number of open files.
pub(super) const MAX_OPEN_FILES: usize = 128;

/// For this few files, starting threads costs more than it saves.
const MAX_SERIAL_SYNCS: usize = 4;

/// Special bits that must not survive a change of content.
const SET_ID_BITS: Mode = Mode::SUID.union(Mode::SGID);
const EXECUTE_BITS: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);
const READ_BITS: Mode = Mode::RUSR.union(Mode::RGRP).union(Mode::ROTH);
const WRITE_BITS: Mode = Mode::WUSR.union(Mode::WGRP).union(Mode::WOTH);

/// The error for a missing extended attribute.
#[cfg(target_vendor = "apple")]
const NO_SUCH: Errno = Errno::NOATTR;
#[cfg(not(target_vendor = "apple"))]
const NO_SUCH: Errno = Errno::NODATA;

const ACL_ATTRIBUTE: &[u8] = b"system.posix_acl_access";

/// Attributes that vouch for the old content and must not be copied.
const TIED_TO_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Attributes with which an overlay marks its own files.
const OVERLAY: [&[u8]; 2] = [b"user.overlay.", b"trusted.overlay."];

/// Writes the file `temp`, which must not exist.
///
/// A file without a model gets the mode that the umask and the directory give it.
pub(super) fn stage_file(
    dir: BorrowedFd<'_>,
    temp: &Path,
    new_file: &NewFile,
    source: Option<BorrowedFd<'_>>,
) -> std::io::Result<File> {
    let mode = match (source, new_file.executable) {
        (Some(_), _) => Mode::RUSR | Mode::WUSR,
        (None, Some(true)) => READ_BITS | WRITE_BITS | EXECUTE_BITS,
        (None, Some(false) | None) => READ_BITS | WRITE_BITS,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(dir, temp, flags, mode)?);
    file.write_all(&new_file.bytes)?;
    if let Some(source) = source {
        copy_metadata(file.as_fd(), source, new_file.executable)?;
    }
    Ok(file)
}

/// Gives `file` the owner, mode and extended attributes of `source`.
pub(super) fn copy_metadata(
    file: BorrowedFd<'_>,
    source: BorrowedFd<'_>,
    executable: Option<bool>,
) -> Result<()> {
    let (own, model) = (syscalls::status_of_fd(file)?, syscalls::status_of_fd(source)?);
    let mut mode = copy_owner(file, &own, &model)?.difference(SET_ID_BITS);
    match executable {
        // Users with read permission get execute permission, as in git.
        Some(true) => mode |= Mode::from_raw_mode((mode & READ_BITS).as_raw_mode() >> 2),
        Some(false) => mode = mode.difference(EXECUTE_BITS),
        None => {}
    }
    copy_attributes(file, source)?;
    // After the access control list, which holds a copy of the mode: setting the mode keeps the two consistent.
    rustix::fs::fchmod(file, mode)
}

/// Gives the directory `made` the owner, mode and extended attributes of `source`.
pub(super) fn copy_directory_metadata(made: BorrowedFd<'_>, source: BorrowedFd<'_>) -> Result<()> {
    let (own, model) = (syscalls::status_of_fd(made)?, syscalls::status_of_fd(source)?);
    let mode = copy_owner(made, &own, &model)?.difference(Mode::SUID);
    copy_attributes(made, source)?;
    rustix::fs::fchmod(made, mode)
}

/// Changes owner and group of `file` to those of `model` as far as this user may. Returns the appropriate mode.
fn copy_owner(file: BorrowedFd<'_>, own: &FileStatus, model: &FileStatus) -> Result<Mode> {
    let (owner, group) = (Uid::from_raw(model.owner), Gid::from_raw(model.group));
    if own.owner != model.owner && ignore_unpermitted(rustix::fs::fchown(file, Some(owner), Some(group)))? {
        return Ok(model.mode);
    }
    if own.group == model.group || ignore_unpermitted(rustix::fs::fchown(file, None, Some(group)))? {
        return Ok(model.mode);
    }
    // The old group's permissions are not for the new group, which gets those of others. vim does the same.
    let others = (model.mode & Mode::RWXO).as_raw_mode();
    Ok(model.mode.difference(Mode::RWXG) | Mode::from_raw_mode(others << 3))
}

/// Returns true on success. A missing permission or an unsupported operation is no error.
fn ignore_unpermitted(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::INVAL) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn copy_attributes(file: BorrowedFd<'_>, source: BorrowedFd<'_>) -> Result<()> {
    let names = match read_growing(|buffer| rustix::fs::flistxattr(source, buffer)) {
        Err(Errno::NOTSUP) => return Ok(()),
        other => other?,
    };
    let names = || names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let is_copied =
        |name: &&[u8]| !TIED_TO_CONTENT.contains(name) && !OVERLAY.iter().any(|own| name.starts_with(own));
    for name in names().filter(is_copied) {
        let value = match read_growing(|buffer| rustix::fs::fgetxattr(source, name, buffer)) {
            // It was removed meanwhile, or this user may not read it.
            Err(NO_SUCH | Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => continue,
            other => other?,
        };
        ignore_unpermitted(rustix::fs::fsetxattr(file, name, &value, XattrFlags::empty()))?;
    }
    // The directory may give every new file a default access control list, but the old file had none.
    if !names().any(|name| name == ACL_ATTRIBUTE) {
        match rustix::fs::fremovexattr(file, ACL_ATTRIBUTE) {
            Err(NO_SUCH) => {}
            other => drop(ignore_unpermitted(other)?),
        }
    }
    Ok(())
}

/// Calls `read` with growing buffers until the whole value fits.
fn read_growing(mut read: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    const SIZES: [usize; 4] = [256, 64 * 1024, 1024 * 1024, 16 * 1024 * 1024];
    for size in SIZES {
        let mut buffer = vec![0; size];
        match read(&mut buffer) {
            Err(Errno::RANGE) => {}
            other => {
                buffer.truncate(other?);
                return Ok(buffer);
            }
        }
    }
    Err(Errno::RANGE)
}

/// Calls `sync` for each file, in parallel. The error has the index of the one that failed.
pub(super) fn sync_all<F: AsFd + Sync>(
    files: &[F],
    sync: impl Fn(BorrowedFd<'_>) -> Result<()> + Sync,
) -> std::result::Result<(), (usize, Errno)> {
    let sync_one = |at: usize| sync(files[at].as_fd()).map_err(|errno| (at, errno));
    if files.len() <= MAX_SERIAL_SYNCS {
        return (0..files.len()).try_for_each(sync_one);
    }
    let next = AtomicUsize::new(0);
    let work = || {
        // ends: `next` only grows
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= files.len() {
                return Ok(());
            }
            sync_one(at)?;
        }
    };
    std::thread::scope(|scope| {
        let build = || std::thread::Builder::new().spawn_scoped(scope, work);
        // If no thread can be started, this one does all the work.
        let threads: Vec<_> = (1..THREADS.min(files.len())).map_while(|_| build().ok()).collect();
        let mine = work();
        let theirs = threads.into_iter().map(|thread| thread.join().unwrap_or(Err((0, Errno::IO))));
        theirs.fold(mine, std::result::Result::and)
    })
}
