//! The journal writer: creates or reopens a journal, appends entries and syncs them to the disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use private_files::{LockOwner, PrivateDir};
use rustix::io::Errno;

use crate::chain::{self, GENESIS_HASH};
use crate::entry::JournalEntry;
use crate::fault::JournalFault;
use crate::reader::{JournalReader, TornTail};
use crate::record::JournalRecord;
use crate::redact::Redactor;
use crate::session_id::SessionId;
use crate::syncer::FileSyncer;
use crate::timestamp::UtcTimestamp;
use crate::truncate;

/// Number of attempts of a write that a signal interrupts.
const MAX_WRITE_ATTEMPTS: usize = 16;

/// The journal of one session, open for writing. Its lock excludes other writers.
///
/// ```
/// use toolgate_journal::{JournalEntry, Journal, Redactor, SessionId};
///
/// let state = tempfile::tempdir()?;
/// let id = SessionId::new();
/// let redactor = Redactor::new([("DEPLOY_KEY".to_owned(), "correct horse".to_owned())])?;
/// let journal = Journal::create(state.path(), &id, redactor)?;
/// journal.write(&JournalEntry::Notice { text: "the key is correct horse".to_owned() })?;
/// journal.flush()?;
///
/// let reading = toolgate_journal::read_journal(journal.path())?;
/// assert_eq!(reading.records[0].entry, JournalEntry::Notice { text: "the key is [redacted: DEPLOY_KEY]".to_owned() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Journal {
    path: PathBuf,
    file: Arc<File>,
    redactor: Redactor,
    append_position: Mutex<AppendPosition>,
    syncer: FileSyncer,
}

/// A locked journal file.
struct LockedJournalFile {
    path: PathBuf,
    directory: PrivateDir,
    file: File,
}

/// The append position of a journal file.
struct AppendPosition {
    /// The sequence number of the next line.
    seq: u64,
    /// The hash of the last line.
    last_hash: String,
    /// Bytes of all complete lines.
    length: u64,
    /// Set if the file may contain bytes after the last complete line.
    has_partial_line: bool,
}

/// A journal that was reopened.
pub struct ReopenedJournal {
    /// The journal, ready for appending.
    pub journal: Journal,
    /// The records that were written before.
    pub records: Vec<JournalRecord>,
    /// The torn tail that was dropped.
    pub torn: Option<TornTail>,
}

impl Journal {
    /// Creates a journal in `directory`, and the directory if it is missing.
    ///
    /// # Errors
    ///
    /// If the journal already exists, even as a symlink, or the directory is unsuitable.
    pub fn create(directory: &Path, id: &SessionId, redactor: Redactor) -> Result<Self, JournalFault> {
        let path = directory.join(id.file_name());
        let unusable = |source| JournalFault::Unusable { path: directory.to_owned(), source };
        let directory = PrivateDir::open_or_create(directory).map_err(unusable)?;
        let file = directory.create_file(&id.file_name()).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => JournalFault::Exists { path: path.clone() },
            _ => JournalFault::Unusable { path: path.clone(), source },
        })?;
        lock_for_writing(&path, &file)?;
        let append_position =
            AppendPosition { seq: 1, last_hash: GENESIS_HASH.to_owned(), length: 0, has_partial_line: false };
        Ok(Self::from_locked_file(LockedJournalFile { path, directory, file }, redactor, append_position))
    }

    /// Reopens the journal of an earlier session: verifies all of it, and drops a torn tail.
    ///
    /// # Errors
    ///
    /// If the journal is missing, belongs to another user, is being written to, or is broken.
    pub fn reopen(
        directory: &Path,
        id: &SessionId,
        redactor: Redactor,
    ) -> Result<ReopenedJournal, JournalFault> {
        let path = directory.join(id.file_name());
        let unusable = |source| JournalFault::Unusable { path: path.clone(), source };
        let directory = PrivateDir::open_or_create(directory).map_err(unusable)?;
        let file = directory.open_for_append(&id.file_name()).map_err(unusable)?;
        lock_for_writing(&path, &file)?;
        // The session may have been removed between the two steps.
        if rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_nlink == 0) {
            return Err(unusable(io::ErrorKind::NotFound.into()));
        }
        let mut lines = JournalReader::from_file(path.clone(), file.try_clone().map_err(unusable)?);
        let records = lines.by_ref().collect::<Result<Vec<JournalRecord>, JournalFault>>()?;
        let (torn, length) = (lines.torn_tail(), lines.offset());
        if torn.is_some() {
            file.set_len(length).and_then(|()| file.sync_all()).map_err(unusable)?;
        }
        let seq = records.len() as u64 + 1;
        let append_position =
            AppendPosition { seq, last_hash: lines.head_hash().to_owned(), length, has_partial_line: false };
        let journal =
            Self::from_locked_file(LockedJournalFile { path, directory, file }, redactor, append_position);
        Ok(ReopenedJournal { journal, records, torn })
    }

    /// Writes an entry with its secrets redacted, and returns its sequence number. The entry survives a crash of the
    /// program once this returns; [`flush`](Self::flush) waits until it also survives a crash of the machine.
    ///
    /// An entry that does not fit a line is truncated.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the file cannot be written. The file then does not contain the entry, and is otherwise
    /// unchanged.
    pub fn write(&self, entry: &JournalEntry) -> Result<u64, JournalFault> {
        if let JournalEntry::Unknown(_) = entry {
            return Err(JournalFault::Unknown);
        }
        let unwritten = |source| JournalFault::Unwritten { path: self.path.clone(), source };
        let entry = truncate::to_bounded_json(self.redactor.redact_entry(entry))
            .map_err(|error| unwritten(error.into()))?;
        let mut append_position = self.append_position.lock();
        let sealed = chain::seal_line(
            &append_position.last_hash,
            append_position.seq,
            &UtcTimestamp::now().to_rfc3339(),
            &entry,
        );
        self.append(&mut append_position, &sealed.line).map_err(unwritten)?;
        let seq = append_position.seq;
        append_position.seq += 1;
        append_position.last_hash = sealed.hash;
        drop(append_position);
        self.syncer.note_write();
        Ok(seq)
    }

    /// Waits until all written entries are synced to the disk.
    ///
    /// # Errors
    ///
    /// If any sync failed: the entries before it may be lost, even if later syncs succeed.
    pub fn flush(&self) -> Result<(), JournalFault> {
        let unsynced =
            |errno: Errno| JournalFault::Unsynced { path: self.path.clone(), source: errno.into() };
        self.syncer.flush().map_err(unsynced)
    }

    /// Returns the path of the journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn from_locked_file(
        opened: LockedJournalFile,
        redactor: Redactor,
        append_position: AppendPosition,
    ) -> Self {
        let file = Arc::new(opened.file);
        let syncer = FileSyncer::new(Arc::clone(&file), opened.directory);
        Self { path: opened.path, file, redactor, append_position: Mutex::new(append_position), syncer }
    }

    /// Appends a line in one write. A partial write is rolled back.
    fn append(&self, append_position: &mut AppendPosition, line: &[u8]) -> io::Result<()> {
        if append_position.has_partial_line {
            self.file.set_len(append_position.length)?;
            append_position.has_partial_line = false;
        }
        let written = write_once(&self.file, line);
        if written.as_ref().is_ok_and(|bytes| *bytes == line.len()) {
            append_position.length += line.len() as u64;
            return Ok(());
        }
        append_position.has_partial_line = self.file.set_len(append_position.length).is_err();
        // A partial write reports no error; the next write would.
        Err(written.err().unwrap_or_else(|| io::Error::from(io::ErrorKind::StorageFull)))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.syncer.close();
        private_files::unlock(&self.file);
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("path", &self.path).finish_non_exhaustive()
    }
}

fn lock_for_writing(path: &Path, file: &File) -> Result<(), JournalFault> {
    match private_files::try_lock(file) {
        Ok(LockOwner::Ours) => Ok(()),
        Ok(LockOwner::Theirs(by)) => Err(JournalFault::InUse { path: path.to_owned(), by }),
        Err(source) => Err(JournalFault::Unusable { path: path.to_owned(), source }),
    }
}

/// Writes in one system call, and returns the number of bytes written.
fn write_once(file: &File, bytes: &[u8]) -> io::Result<usize> {
    for _ in 0..MAX_WRITE_ATTEMPTS {
        match rustix::io::write(file, bytes) {
            Err(Errno::INTR) => {}
            written => return Ok(written?),
        }
    }
    Err(Errno::INTR.into())
}

/// Returns whether a process writes to the journal at `path`, if the kernel tells.
#[must_use]
pub fn is_in_use(path: &Path) -> bool {
    private_files::open_for_reading(path).is_ok_and(|file| private_files::is_locked(&file))
}
