//! The write-ahead record of a commit, in a private directory, from which recovery completes or reverts it.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::recorded_path::RecordedPath;
use super::syscalls::{self, FileStatus, InodeId, SymlinkPolicy};

/// The version of the record format.
const VERSION: u32 = 1;

/// The size limit of a record. A commit of 100,000 files needs half of it.
const MAX_RECORD_BYTES: u64 = 64 * 1024 * 1024;

/// The maximum wait for commits of other processes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(2);

const OWNER_READ_WRITE: Mode = Mode::RUSR.union(Mode::WUSR);
const GROUP_AND_OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// The record of one commit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommitRecord {
    version: u32,
    pub(super) id: String,
    pub(super) phase: CommitPhase,
    root: RecordedPath,
    pub(super) folders: Vec<RecordedDir>,
    pub(super) moves: Vec<RecordedMove>,
    /// The directories whose permissions change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) modes: Vec<RecordedMode>,
    /// The directory that receives what is replaced, by the index of its move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keep_in: Option<RecordedPath>,
}

/// A directory whose permissions change.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedMode {
    pub(super) folder: usize,
    pub(super) leaf: RecordedPath,
    pub(super) id: InodeId,
    pub(super) old: u32,
    pub(super) new: u32,
}

/// The progress of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CommitPhase {
    /// New files are being written; recovery rolls back.
    Staging,
    /// Every new file is on disk; recovery rolls forward.
    Committed,
    /// A file had changed, so the commit is being reverted; recovery rolls back.
    Undoing,
    /// All files are in place; only old contents are left to remove.
    Done,
}

/// A directory in which a name changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedDir {
    pub(super) path: RecordedPath,
    /// Unknown until the directory is created.
    pub(super) id: Option<InodeId>,
    /// The index of the directory in which the commit creates it, if it does.
    pub(super) made_in: Option<usize>,
}

/// A name that changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedMove {
    pub(super) folder: usize,
    pub(super) leaf: RecordedPath,
    /// The temporary name of the new file, and afterwards of the old one.
    pub(super) temp: String,
    /// True if a file is there afterwards.
    pub(super) puts: bool,
    /// True if it may be a directory, a link or a FIFO.
    #[serde(default)]
    pub(super) any_kind: bool,
    /// The new file, once it is written.
    pub(super) staged: Option<InodeId>,
    /// The old file.
    pub(super) found: Option<FileFingerprint>,
}

/// Identifies a file after a rename, which changes its ctime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileFingerprint {
    #[serde(flatten)]
    pub(super) id: InodeId,
    size: u64,
    mtime: i128,
}

impl FileFingerprint {
    pub(super) fn from_status(status: &FileStatus) -> Self {
        Self { id: status.inode_id(), size: status.version.size, mtime: status.version.mtime }
    }
}

impl CommitRecord {
    pub(super) fn new(root: &Path) -> Self {
        let (folders, moves) = (Vec::new(), Vec::new());
        Self {
            version: VERSION,
            id: fresh_id(),
            phase: CommitPhase::Staging,
            root: RecordedPath::from_path(root),
            folders,
            moves,
            modes: Vec::new(),
            keep_in: None,
        }
    }

    /// Returns the temporary name of move number `at`.
    pub(super) fn temp_name(&self, at: usize) -> String {
        format!(".toolgate-{}-{at}", self.id)
    }

    /// Returns a reason if this code would never have written the record.
    fn find_inconsistency(&self, id: &str) -> Option<&'static str> {
        if self.version != VERSION {
            return Some("it has another version");
        }
        if self.id != id {
            return Some("its name is not its own");
        }
        let folders_valid = self.folders.iter().enumerate().all(|(at, folder)| {
            folder.path.to_path_buf().is_absolute() && folder.made_in.is_none_or(|parent| parent < at)
        });
        let moves_valid = self.moves.iter().enumerate().all(|(at, file_move)| {
            file_move.folder < self.folders.len()
                && file_move.leaf.is_one_name()
                && file_move.temp == self.temp_name(at)
        });
        let modes_valid =
            self.modes.iter().all(|one| one.folder < self.folders.len() && one.leaf.is_one_name());
        let keeps_valid = self.keep_in.as_ref().is_none_or(|path| path.to_path_buf().is_absolute());
        let ids_known = self.phase == CommitPhase::Staging
            || (self.folders.iter().all(|folder| folder.id.is_some())
                && self.moves.iter().all(|one| one.staged.is_some() == one.puts));
        let is_valid = folders_valid && moves_valid && modes_valid && keeps_valid && ids_known;
        (!is_valid).then_some("its parts do not fit together")
    }
}

/// Returns an unguessable id.
fn fresh_id() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u128(std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
    format!("{:016x}", hasher.finish())
}

fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The private directory of records, locked against other processes.
#[derive(Debug)]
pub(super) struct RecordStore {
    dir: OwnedFd,
    pub(super) real_path: PathBuf,
    _lock: OwnedFd,
}

/// A record that a dead process left behind.
#[derive(Debug)]
pub(super) struct LeftoverRecord {
    pub(super) file: PathBuf,
    /// The record, or the reason why it is not trusted.
    pub(super) record: Result<CommitRecord, String>,
}

impl RecordStore {
    /// Creates the directory if it is missing, and waits for the lock.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let unusable = |error: io::Error| {
            io::Error::new(error.kind(), format!("`{}` cannot be used: {error}", path.display()))
        };
        Self::open_locked(path).map_err(unusable)
    }

    fn open_locked(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let dir = syscalls::open_dir(rustix::fs::CWD, path, SymlinkPolicy::Follow)?;
        let status = syscalls::status_of_fd(dir.as_fd())?;
        if status.owner != effective_uid() || status.mode.intersects(GROUP_AND_OTHERS) {
            let what = "it must belong to this user, and no other user may have access";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        let real_path = syscalls::real_path(dir.as_fd())?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&dir, "lock", flags, OWNER_READ_WRITE)?;
        acquire_lock(&lock)?;
        Ok(Self { dir, real_path, _lock: lock })
    }

    /// Writes the record or its next phase, and syncs it.
    pub(super) fn write_synced(&self, record: &CommitRecord) -> io::Result<()> {
        let file = self.write_draft(record)?;
        syscalls::sync_file(file.as_fd())?;
        self.rename_draft(record)?;
        Ok(syscalls::sync_dir(self.dir.as_fd())?)
    }

    /// Writes the record or its next phase without syncing. It survives this process, but perhaps not a power cut.
    pub(super) fn write_unsynced(&self, record: &CommitRecord) -> io::Result<()> {
        self.write_draft(record).and_then(|_| self.rename_draft(record))
    }

    /// Writes the record under a temporary name.
    fn write_draft(&self, record: &CommitRecord) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&self.dir, draft_name(record), flags, OWNER_READ_WRITE)?);
        file.write_all(&serde_json::to_vec(record)?)?;
        Ok(file)
    }

    /// Renames the temporary file to the record's name.
    fn rename_draft(&self, record: &CommitRecord) -> io::Result<()> {
        let name = format!("{}.json", record.id);
        Ok(rustix::fs::renameat(&self.dir, draft_name(record), &self.dir, name)?)
    }

    /// Marks the commit `id` as done. A rename and not a new file, so it cannot fail for lack of space.
    pub(super) fn mark_done(&self, id: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, format!("{id}.json"), &self.dir, format!("{id}.done"))?)
    }

    /// Removes the record of `id`.
    pub(super) fn remove(&self, id: &str) -> io::Result<()> {
        for ending in ["tmp", "json", "done"] {
            syscalls::remove_name(self.dir.as_fd(), Path::new(&format!("{id}.{ending}")))?;
        }
        Ok(())
    }

    /// Returns all records. Their writers are dead, since a living process would hold the lock.
    pub(super) fn read_leftovers(&self) -> io::Result<Vec<LeftoverRecord>> {
        let mut leftovers = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            let Some((id, ending)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
            if !is_id(id) {
                continue;
            }
            match ending {
                // Only a staging record is not synced: if a power cut left it empty, the commit never went further.
                "json" if self.is_empty_or_zeros(&name) => {
                    syscalls::remove_name(self.dir.as_fd(), Path::new(&name))?;
                }
                "json" | "done" => {
                    let record = self.read_record(id, &name).map(|record| CommitRecord {
                        phase: if ending == "done" { CommitPhase::Done } else { record.phase },
                        ..record
                    });
                    leftovers.push(LeftoverRecord { file: self.real_path.join(&name), record });
                }
                // Interrupted while it was written: its commit or phase never began.
                "tmp" => syscalls::remove_name(self.dir.as_fd(), Path::new(&name))?,
                _ => {}
            }
        }
        leftovers.sort_by(|one, other| one.file.cmp(&other.file));
        Ok(leftovers)
    }

    /// Returns true if the file is empty or only zeros, so that nothing of it reached the disk.
    fn is_empty_or_zeros(&self, name: &OsString) -> bool {
        let mut bytes = Vec::new();
        let file = syscalls::open_file(self.dir.as_fd(), Path::new(name)).ok().map(File::from);
        let read = file.and_then(|file| file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes).ok());
        read.is_some() && bytes.iter().all(|byte| *byte == 0)
    }

    fn read_record(&self, id: &str, name: &OsString) -> Result<CommitRecord, String> {
        let read_error = |error: io::Error| format!("it cannot be read: {error}");
        let name_status = syscalls::status_of_name(self.dir.as_fd(), Path::new(name))
            .map_err(|errno| read_error(errno.into()))?;
        if name_status.is_none_or(|seen| seen.kind != FileType::RegularFile) {
            return Err("it is not a regular file".to_owned());
        }
        let fd = syscalls::open_file(self.dir.as_fd(), Path::new(name))
            .map_err(|errno| read_error(errno.into()))?;
        let status = syscalls::status_of_fd(fd.as_fd()).map_err(|errno| read_error(errno.into()))?;
        if status.kind != FileType::RegularFile || status.owner != effective_uid() || status.hard_links != 1 {
            return Err("another user may have written it".to_owned());
        }
        let mut bytes = Vec::new();
        File::from(fd).take(MAX_RECORD_BYTES).read_to_end(&mut bytes).map_err(read_error)?;
        let record: CommitRecord =
            serde_json::from_slice(&bytes).map_err(|error| format!("it is not a record: {error}"))?;
        match record.find_inconsistency(id) {
            Some(fault) => Err(fault.to_owned()),
            None => Ok(record),
        }
    }
}

fn draft_name(record: &CommitRecord) -> String {
    format!("{}.tmp", record.id)
}

fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn acquire_lock(lock: &OwnedFd) -> io::Result<()> {
    let since = Instant::now();
    // ends: PATIENCE runs out
    loop {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) if since.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                let what = "another process has been changing files for too long; try again later";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}
