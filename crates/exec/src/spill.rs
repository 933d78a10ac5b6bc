//! Text that is too long for a model, kept in files of the user's own, within a quota.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, fstat, fstatvfs, mkdirat, openat, statat,
    unlinkat,
};
use rustix::io::Errno;

/// How many names are tried before giving up.
const TRIES: u32 = 100;
/// Bytes of a call's id that go into a name.
const NAME: usize = 40;

/// What may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// What one file may take.
    pub(crate) file: u64,
    /// What the files of all workspaces together may take; a step more for each that is being written.
    pub(crate) all: u64,
    /// How many files there may be: all of them are looked at when room is made.
    pub(crate) files: usize,
    /// What must be left of the disk.
    pub(crate) free: u64,
    /// How much room is made at a time.
    pub(crate) step: u64,
}

const LIMITS: Limits =
    Limits { file: 128 << 20, all: 1 << 30, files: 10_000, free: 512 << 20, step: 8 << 20 };

/// Where the texts of one workspace are kept, made when it is needed. Other workspaces have directories of their own, so
/// that reading one's does not mean reading all. The oldest texts give way when the quota is reached.
#[derive(Debug)]
pub struct Spill {
    base: PathBuf,
    workspace: String,
    pub(crate) limits: Limits,
}

impl Spill {
    /// Keeps files for work in `workspace` below `base`.
    pub fn new(base: PathBuf, workspace: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        workspace.hash(&mut hasher);
        Self { base, workspace: format!("{:016x}", hasher.finish()), limits: LIMITS }
    }

    /// Where this workspace's files are, or will be.
    pub fn directory(&self) -> PathBuf {
        self.base.join(&self.workspace)
    }

    /// Keeps `text` under a new name made from `call`, and says where.
    pub fn keep(&self, call: &str, text: &[u8]) -> io::Result<PathBuf> {
        // All of it or nothing: whoever reads it is told that it is the whole.
        if text.len() as u64 > self.limits.file {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut file = self.begin(call)?;
        file.append(text);
        match file.fault.take() {
            None if file.kept > 0 => {
                file.stay();
                Ok(file.path.clone())
            }
            why => Err(io::Error::other(why.unwrap_or_else(|| "there is nothing to keep".to_owned()))),
        }
    }

    /// Begins a file under a new name made from `name`, to be written piece by piece.
    pub fn begin(&self, name: &str) -> io::Result<SpillFile> {
        let directory = self.directory();
        make(&directory)?;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = name.chars().filter(plain).take(NAME).collect();
        // Fixed width, so that names sort by age.
        let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        for number in 0..TRIES {
            let path = directory.join(format!("{now:015}-{name}-{number}.txt"));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = match openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            // Held while the file is open, so that nobody removes it to make room. A file system without locks will do.
            let _locked = flock(&file, FlockOperation::LockShared);
            // Somebody may have been quicker: then it has no name any more.
            if fstat(&file)?.st_nlink > 0 {
                let (base, limits) = (self.base.clone(), self.limits);
                return Ok(SpillFile {
                    file: file.into(),
                    path,
                    base,
                    limits,
                    kept: 0,
                    room: 0,
                    fault: None,
                    stays: false,
                });
            }
        }
        Err(io::Error::other("no free name"))
    }
}

/// A file that is being written. Dropped with nothing in it, it is removed.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    path: PathBuf,
    base: PathBuf,
    limits: Limits,
    kept: u64,
    /// How many more bytes may be written before room is made again.
    room: u64,
    fault: Option<String>,
    stays: bool,
}

impl SpillFile {
    /// Somebody is told of it: it is not removed when it is dropped.
    pub fn stay(&mut self) {
        self.stays = true;
    }

    /// Writes on until something stops it, which [`SpillFile::fault`] then tells; after that it does nothing.
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
                    self.kept += written as u64;
                    self.room -= written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fault = Some(phrase(&error)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it holds.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Why it holds no more, if something stopped it.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Makes room for the next step, or says why there is none.
    fn make_room(&mut self) -> Result<(), String> {
        let step = self.limits.step.min(self.limits.file - self.kept);
        if step == 0 {
            return Err("no more is kept of one output".to_owned());
        }
        // Some file systems do not know how large they are.
        let space = fstatvfs(&self.file).ok().filter(|space| space.f_blocks > 0);
        let free = space.map(|space| space.f_bavail.saturating_mul(space.f_frsize));
        if free.is_some_and(|free| free < self.limits.free.saturating_add(step)) {
            return Err("the disk is nearly full".to_owned());
        }
        match remove_oldest(&self.base, step, self.limits) {
            Ok(Room::Enough) => self.room = step,
            Ok(Room::None) => {
                return Err("outputs that are being written take all the room there is".to_owned());
            }
            Err(error) => return Err(phrase(&error)),
        }
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // Nobody knows of it, or there is nothing in it to know.
        if self.kept == 0 || !self.stays {
            let _gone = unlinkat(CWD, &self.path, AtFlags::empty());
        }
    }
}

/// A fault in a few words that stand within a sentence.
pub(crate) fn phrase(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the user's share of the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

enum Room {
    Enough,
    None,
}

/// Removes the files that were written least recently, whichever workspace's they are, until `wanted` bytes fit into
/// the quota. Files that are open somewhere stay.
fn remove_oldest(base: &Path, wanted: u64, limits: Limits) -> io::Result<Room> {
    let base = directory(CWD, base)?;
    let mut files = Vec::new();
    for workspace in names(&base)? {
        let Ok(open) = directory(&base, &workspace) else { continue };
        for name in names(&open)? {
            let Ok(stat) = statat(&open, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            files.push((stat.st_mtime, name, workspace.clone(), u64::try_from(stat.st_size).unwrap_or(0)));
        }
    }
    files.sort();
    let mut held: u64 = files.iter().map(|(_, _, _, size)| size).sum();
    let mut count = files.len();
    for (_, name, workspace, size) in files {
        if held + wanted <= limits.all && count <= limits.files {
            break;
        }
        if let Ok(open) = directory(&base, &workspace)
            && remove(&open, &name)
        {
            held -= size;
            count -= 1;
        }
    }
    Ok(if held + wanted <= limits.all { Room::Enough } else { Room::None })
}

/// Removes a file that nobody is writing, and says whether it is gone.
fn remove(directory: &OwnedFd, name: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty());
    // Held until the name is gone: whoever has just made the file waits for that.
    let locked = file.as_ref().map(|file| flock(file, FlockOperation::NonBlockingLockExclusive));
    if locked == Ok(Err(Errno::WOULDBLOCK)) {
        return false;
    }
    // Another session may be doing the same: whatever is gone already is as good as removed.
    matches!(unlinkat(directory, name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}

/// Makes a directory and what is missing above it, for its owner alone.
fn make(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).collect();
    for dir in missing.into_iter().rev() {
        match mkdirat(CWD, dir, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn directory(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

fn names(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let entries = Dir::read_from(directory)?.filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name != "." && name != "..").collect())
}

#[cfg(test)]
mod tests;
