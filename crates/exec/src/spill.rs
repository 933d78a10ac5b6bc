//! Spill: keeps text that is too long for a model in the user's files, within a quota.

mod kept_file;

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, fstat, fstatvfs, openat, statat, unlinkat,
};
use rustix::io::Errno;

use private_files::create_private_dir;

pub use self::kept_file::{kept_bytes, kept_file_size, remove_kept_file};

/// The maximum number of names to try.
const MAX_NAME_ATTEMPTS: u32 = 100;
/// The number of bytes of a call's id that go into a file name.
const MAX_NAME_CHARS: usize = 40;

/// The quota.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpillLimits {
    /// The maximum size of one file.
    pub(crate) max_file_bytes: u64,
    /// The maximum size of the files of all workspaces together, plus a step for each that is being written.
    pub(crate) max_total_bytes: u64,
    /// The maximum number of files: all of them are listed when room is made.
    pub(crate) max_files: usize,
    /// The disk space that must stay free.
    pub(crate) min_free_bytes: u64,
    /// The amount of room that is made at a time.
    pub(crate) step_bytes: u64,
}

const LIMITS: SpillLimits = SpillLimits {
    max_file_bytes: 128 << 20,
    max_total_bytes: 1 << 30,
    max_files: 10_000,
    min_free_bytes: 512 << 20,
    step_bytes: 8 << 20,
};

/// The spill directory of one workspace, created on demand. Each workspace has its own, so that read access to one
/// does not cover all. The oldest files are evicted when the quota is reached.
#[derive(Debug)]
pub struct Spill {
    base: PathBuf,
    workspace: String,
    pub(crate) limits: SpillLimits,
}

impl Spill {
    /// Creates the spill for work in `workspace`, below `base`.
    pub fn new(base: PathBuf, workspace: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        workspace.hash(&mut hasher);
        Self { base, workspace: format!("{:016x}", hasher.finish()), limits: LIMITS }
    }

    /// Returns the directory of this workspace's files, which may not exist yet.
    pub fn directory(&self) -> PathBuf {
        self.base.join(&self.workspace)
    }

    /// Writes `text` to a new file named after `call`, and returns its path.
    pub fn keep(&self, call: &str, text: &[u8]) -> io::Result<PathBuf> {
        // All or nothing: the reader is told that the file is complete.
        if text.len() as u64 > self.limits.max_file_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut file = self.begin(call)?;
        file.append(text);
        match file.fault.take() {
            None if file.bytes_kept > 0 => {
                file.persist();
                Ok(file.path.clone())
            }
            why => Err(io::Error::other(why.unwrap_or_else(|| "there is nothing to keep".to_owned()))),
        }
    }

    /// Creates a file named after `name`, to be written piece by piece.
    pub fn begin(&self, name: &str) -> io::Result<SpillFile> {
        let directory = self.directory();
        create_private_dir(&directory)?;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = name.chars().filter(plain).take(MAX_NAME_CHARS).collect();
        // Fixed width, so that names sort by age.
        let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        for number in 0..MAX_NAME_ATTEMPTS {
            let path = directory.join(format!("{now:015}-{name}-{number}.txt"));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = match openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            // Held while the file is open, so that no process evicts it. A file system without locks is accepted.
            let _locked = flock(&file, FlockOperation::LockShared);
            // Another process may have evicted it already: then it has no name any more.
            if fstat(&file)?.st_nlink > 0 {
                let (base, limits) = (self.base.clone(), self.limits);
                return Ok(SpillFile {
                    file: file.into(),
                    path,
                    base,
                    limits,
                    bytes_kept: 0,
                    room: 0,
                    fault: None,
                    is_persistent: false,
                });
            }
        }
        Err(io::Error::other("no free name"))
    }
}

/// A file that is being written. It is removed on drop if it is empty or was not marked to stay.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    path: PathBuf,
    base: PathBuf,
    limits: SpillLimits,
    bytes_kept: u64,
    /// The number of bytes that may be written before room is made again.
    room: u64,
    fault: Option<String>,
    is_persistent: bool,
}

impl SpillFile {
    /// Marks the file to stay after drop, because its path is reported.
    pub fn persist(&mut self) {
        self.is_persistent = true;
    }

    /// Appends bytes until a fault, which [`SpillFile::fault`] returns; after that it does nothing.
    pub fn append(&mut self, mut bytes: &[u8]) {
        // ends: every round writes, makes room or finds a fault; an interrupted write is tried again until it is not
        while !bytes.is_empty() && self.fault.is_none() {
            if self.room == 0 {
                self.fault = self.make_room().err();
                continue;
            }
            let part = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
            match self.file.write(&bytes[..part]) {
                Ok(0) => self.fault = Some("the file takes no more".to_owned()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    self.bytes_kept += written as u64;
                    self.room -= written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fault = Some(describe_fault(&error)),
            }
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes in it.
    pub fn bytes_kept(&self) -> u64 {
        self.bytes_kept
    }

    /// Returns the reason why writing stopped, if it did.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Makes room for the next step, or returns the reason why there is none.
    fn make_room(&mut self) -> Result<(), String> {
        let step = self.limits.step_bytes.min(self.limits.max_file_bytes - self.bytes_kept);
        if step == 0 {
            return Err("no more is kept of one output".to_owned());
        }
        // Some file systems do not report their size.
        let space = fstatvfs(&self.file).ok().filter(|space| space.f_blocks > 0);
        let free = space.map(|space| space.f_bavail.saturating_mul(space.f_frsize));
        if free.is_some_and(|free| free < self.limits.min_free_bytes.saturating_add(step)) {
            return Err("the disk is nearly full".to_owned());
        }
        match remove_oldest(&self.base, step, self.limits) {
            Ok(SpillRoom::Enough) => self.room = step,
            Ok(SpillRoom::None) => {
                return Err("outputs that are being written take all the room there is".to_owned());
            }
            Err(error) => return Err(describe_fault(&error)),
        }
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // Its path was not reported, or it is empty.
        if self.bytes_kept == 0 || !self.is_persistent {
            let _gone = unlinkat(CWD, &self.path, AtFlags::empty());
        }
    }
}

/// Describes an error in a few words that fit into a sentence.
pub(crate) fn describe_fault(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the user's share of the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

enum SpillRoom {
    Enough,
    None,
}

/// A file that is kept; files sort by age.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeptFile {
    modified: i64,
    name: String,
    workspace: String,
    bytes: u64,
}

/// Returns the kept files of all workspaces.
fn kept_files(base: &Path) -> io::Result<Vec<KeptFile>> {
    let base = open_directory(CWD, base)?;
    let mut files = Vec::new();
    for workspace in entry_names(&base)? {
        let Ok(open) = open_directory(&base, &workspace) else { continue };
        for name in entry_names(&open)? {
            let Ok(stat) = statat(&open, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            files.push(KeptFile { modified: stat.st_mtime, name, workspace: workspace.clone(), bytes });
        }
    }
    Ok(files)
}

/// Evicts the least recently written files of all workspaces until `wanted` bytes fit into the quota. Open files
/// stay.
fn remove_oldest(base: &Path, wanted: u64, limits: SpillLimits) -> io::Result<SpillRoom> {
    let mut files = kept_files(base)?;
    let base = open_directory(CWD, base)?;
    files.sort();
    let mut held: u64 = files.iter().map(|file| file.bytes).sum();
    let mut count = files.len();
    for KeptFile { name, workspace, bytes, .. } in files {
        if held + wanted <= limits.max_total_bytes && count <= limits.max_files {
            break;
        }
        if let Ok(open) = open_directory(&base, &workspace)
            && remove_unless_locked(&open, &name)
        {
            held -= bytes;
            count -= 1;
        }
    }
    Ok(if held + wanted <= limits.max_total_bytes { SpillRoom::Enough } else { SpillRoom::None })
}

/// Removes a file that no process is writing. Returns true if it is gone.
fn remove_unless_locked(directory: &OwnedFd, name: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty());
    // Held until the name is gone: a process that has just created the file waits for that.
    let locked = file.as_ref().map(|file| flock(file, FlockOperation::NonBlockingLockExclusive));
    if locked == Ok(Err(Errno::WOULDBLOCK)) {
        return false;
    }
    // Another session may do the same: a missing file counts as removed.
    matches!(unlinkat(directory, name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}

fn open_directory(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

fn entry_names(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let entries = Dir::read_from(directory)?.filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name != "." && name != "..").collect())
}

#[cfg(test)]
mod tests;
