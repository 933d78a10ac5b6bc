//! Temporary and lock files in the host's git directory, renamed atomically, and comparison of file contents.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::host_git_dir::{HostWriteFault, LandedMark};
use super::sys;
use super::upper_dir::LandingContent;

/// The maximum time to wait for another git's lock.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// A file under a temporary name until it is renamed. Dropping it removes the file.
pub(super) struct GitTempFile<'a> {
    dir: BorrowedFd<'a>,
    name: Option<OsString>,
    pub(super) file: File,
}

impl<'a> GitTempFile<'a> {
    /// Creates a file with the name `name`, which must not exist.
    pub(super) fn new(dir: BorrowedFd<'a>, name: OsString, mode: Mode) -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, &name, flags, mode)?;
        Ok(Self { dir, name: Some(name), file: file.into() })
    }

    /// Renames the file to `name`, and returns its mark.
    pub(super) fn rename_into_place(
        mut self,
        name: &OsStr,
        how: RenameFlags,
    ) -> Result<LandedMark, HostWriteFault> {
        let Some(temp_name) = self.name.clone() else { return Err(Errno::INVAL.into()) };
        match rustix::fs::renameat_with(self.dir, &temp_name, self.dir, name, how) {
            // A file system without `RENAME_NOREPLACE`. At worst, an object is replaced by an equal one.
            Err(Errno::INVAL) if !how.is_empty() => {
                rustix::fs::renameat(self.dir, &temp_name, self.dir, name)?;
            }
            other => other?,
        }
        self.name = None;
        // Of the open file: another process may have replaced the name already.
        Ok(LandedMark::from_stat(&rustix::fs::fstat(&self.file)?))
    }
}

impl Drop for GitTempFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.dir, name, AtFlags::empty());
        }
    }
}

/// Takes git's lock of the file `name`.
pub(super) fn take_lock<'a>(dir: BorrowedFd<'a>, name: &OsStr) -> Result<GitTempFile<'a>, HostWriteFault> {
    const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);
    let mut lock = name.to_owned();
    lock.push(".lock");
    let begun = Instant::now();
    loop {
        match GitTempFile::new(dir, lock.clone(), Mode::from_bits_truncate(0o644)) {
            Err(Errno::EXIST) if begun.elapsed() < LOCK_TIMEOUT => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(Errno::EXIST) => return Err(HostWriteFault::Locked),
            other => return Ok(other?),
        }
    }
}

/// Returns a name that git takes for its own leftover, in case this process is interrupted.
pub(super) fn unique_name() -> OsString {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    format!("tmp_obj_{:x}{now:x}{number:x}", std::process::id()).into()
}

/// Writes the content.
pub(super) fn write(to: &mut File, body: &LandingContent) -> std::io::Result<()> {
    match body {
        LandingContent::Bytes(bytes) => to.write_all(bytes),
        LandingContent::File(file, size) => std::io::copy(&mut { file }.take(*size), to).map(drop),
    }
}

/// Returns true if the host's file has this content.
pub(super) fn has_same_content(host: &File, body: &LandingContent) -> bool {
    const CHUNK_BYTES: usize = 64 * 1024;
    let length = match body {
        LandingContent::Bytes(bytes) => bytes.len() as u64,
        LandingContent::File(_, size) => *size,
    };
    if rustix::fs::fstat(host).map_or(true, |stat| sys::size(&stat) != length) {
        return false;
    }
    let (mut ours, mut theirs) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let mut at = 0;
    // ends: `at` grows
    while at < length {
        let piece = usize::try_from(length - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let read = match body {
            LandingContent::Bytes(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                bytes
                    .get(from..from.saturating_add(piece))
                    .map(|bytes| ours[..piece].copy_from_slice(bytes))
                    .is_some()
            }
            LandingContent::File(file, _) => file.read_exact_at(&mut ours[..piece], at).is_ok(),
        };
        if !read || host.read_exact_at(&mut theirs[..piece], at).is_err() || ours[..piece] != theirs[..piece]
        {
            return false;
        }
        at += piece as u64;
    }
    true
}
