//! A session on disk: the facts that decide about its removal, and the removal of its journal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use private_files::{LockOwner, PrivateDir};
use serde_json::Value;

use crate::chain::MAX_LINE_BYTES;
use crate::fault::JournalFault;
use crate::session_id::SessionId;
use crate::session_list::parse_line_start;
use crate::timestamp::parse_millis;

/// A journal file, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// The session id.
    pub id: SessionId,
    /// The size of the file.
    pub bytes: u64,
    /// The time of the last entry, as the file system has it.
    pub modified: SystemTime,
}

/// A session on disk, with the names of everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its journal.
    pub file: JournalFile,
    /// Set if a process writes to the journal, as far as the kernel tells.
    pub is_open: bool,
    /// The time of the first entry, in milliseconds since 1970.
    pub started_millis: Option<u64>,
    /// The working directories of the session.
    pub directories: Vec<PathBuf>,
    /// The files with whole outputs that the journal names.
    pub outputs: Vec<PathBuf>,
    /// The session that started this one, if this is the session of an agent.
    pub parent: Option<SessionId>,
}

/// A session whose journal this process has locked, so that no process continues it.
pub struct LockedSession {
    id: SessionId,
    directory: PrivateDir,
    file: File,
}

/// Returns the journal files in `directory`, without reading them. A missing directory is empty.
///
/// # Errors
///
/// If the directory cannot be read.
pub fn journal_files(directory: &Path) -> Result<Vec<JournalFile>, JournalFault> {
    let unusable = |source| JournalFault::Unusable { path: directory.to_owned(), source };
    let open = match PrivateDir::open(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(unusable)?,
    };
    let names = open.file_names().map_err(unusable)?;
    let ids = names.iter().filter_map(|name| SessionId::from_file_name(name));
    // A file that cannot be opened is no journal of this user, or was removed meanwhile.
    Ok(ids.filter_map(|id| stat_journal(&open.open_for_reading(&id.file_name()).ok()?, id).ok()).collect())
}

/// Returns the journal files in `directory` that this user cannot remove as sessions, with the reasons: files of other
/// users, files without permission, and entries that are no files. A missing directory is empty.
///
/// # Errors
///
/// If the directory cannot be read.
pub fn unusable_journal_files(directory: &Path) -> Result<Vec<(JournalFile, String)>, JournalFault> {
    let unusable = |source| JournalFault::Unusable { path: directory.to_owned(), source };
    let open = match PrivateDir::open(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(unusable)?,
    };
    let names = open.file_names().map_err(unusable)?;
    let ids = names.iter().filter_map(|name| SessionId::from_file_name(name));
    let fault_of = |id: SessionId| {
        let fault = open.open_for_append(&id.file_name()).err()?;
        // A file that is gone meanwhile has no facts.
        let (bytes, modified) = open.file_facts(&id.file_name()).ok()?;
        Some((JournalFile { id, bytes, modified }, fault.to_string()))
    };
    Ok(ids.filter_map(fault_of).collect())
}

impl StoredSession {
    /// Returns a session of which only the journal file is known.
    pub fn of_file(file: JournalFile) -> Self {
        let (directories, outputs) = (Vec::new(), Vec::new());
        Self { file, is_open: false, started_millis: None, directories, outputs, parent: None }
    }
}

/// Reads the facts of the session `id` in `directory`. The journal is not verified; `None` if it is gone.
pub fn read_stored_session(directory: &Path, id: &SessionId) -> Option<StoredSession> {
    let file = PrivateDir::open(directory).ok()?.open_for_reading(&id.file_name()).ok()?;
    let mut session = StoredSession {
        is_open: private_files::is_locked(&file),
        ..StoredSession::of_file(stat_journal(&file, id.clone()).ok()?)
    };
    // Facts found before a read error are still valid.
    let _fault = session.scan(&file);
    Some(session)
}

/// Locks a session for its removal.
///
/// # Errors
///
/// [`JournalFault::InUse`] if a process writes to it. Another fault if the journal is missing, is not private to this
/// user, or cannot be locked.
pub fn lock_for_removal(directory: &Path, id: &SessionId) -> Result<LockedSession, JournalFault> {
    let path = directory.join(id.file_name());
    let unusable = |source| JournalFault::Unusable { path: path.clone(), source };
    let directory = PrivateDir::open(directory).map_err(unusable)?;
    let file = directory.open_for_append(&id.file_name()).map_err(unusable)?;
    match private_files::try_lock(&file).map_err(unusable)? {
        LockOwner::Ours => Ok(LockedSession { id: id.clone(), directory, file }),
        LockOwner::Theirs(by) => Err(JournalFault::InUse { path, by }),
    }
}

impl LockedSession {
    /// Returns the session id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns true if the journal still has this size: the session was not continued meanwhile.
    #[must_use]
    pub fn has_size(&self, bytes: u64) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.len() == bytes)
    }

    /// Removes the journal. Everything that it names must be removed first: after a crash, the journal still names
    /// the rest.
    ///
    /// # Errors
    ///
    /// If the file cannot be removed.
    pub fn remove(self) -> io::Result<()> {
        self.directory.remove(&self.id.file_name())
    }
}

impl Drop for LockedSession {
    fn drop(&mut self) {
        private_files::unlock(&self.file);
    }
}

fn stat_journal(file: &File, id: SessionId) -> io::Result<JournalFile> {
    let meta = file.metadata()?;
    Ok(JournalFile { id, bytes: meta.len(), modified: meta.modified()? })
}

impl StoredSession {
    fn scan(&mut self, file: &File) -> io::Result<()> {
        let mut reader = BufReader::new(file.take(self.file.bytes));
        let mut line = Vec::new();
        // ends: with the bytes that the file had when it was opened
        while reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)? > 0 {
            self.scan_line(&line);
            line.clear();
        }
        Ok(())
    }

    /// Parses only the few lines whose content is needed.
    fn scan_line(&mut self, line: &[u8]) {
        let Some((at, kind)) = parse_line_start(line) else { return };
        if self.started_millis.is_none() {
            self.started_millis = parse_millis(at);
        }
        let is_spilled = || std::str::from_utf8(line).is_ok_and(|line| line.contains("\"spilled\":{"));
        match kind {
            b"session" => self.directories.extend(path_member(line, "/cwd")),
            b"agent" => {
                self.parent = path_member(line, "/of").and_then(|of| of.to_str()?.parse().ok());
            }
            b"kept" => self.outputs.extend(path_member(line, "/path")),
            b"answered" if is_spilled() => self.outputs.extend(path_member(line, "/spilled/path")),
            _ => {}
        }
    }
}

fn path_member(line: &[u8], pointer: &str) -> Option<PathBuf> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = value.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then(|| PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{JournalEntry, SpilledOutput};
    use crate::journal::Journal;
    use crate::redact::Redactor;

    fn journal_in(directory: &Path, id: &SessionId) -> Journal {
        Journal::create(directory, id, Redactor::new([]).unwrap()).unwrap()
    }

    #[test]
    fn a_journal_names_what_belongs_to_its_session() {
        let temp = tempfile::tempdir().unwrap();
        let (id, parent) = (SessionId::new(), SessionId::new());
        let journal = journal_in(temp.path(), &id);
        let kept = SpilledOutput { path: "/o/1".to_owned(), sha256: String::new(), bytes: 1 };
        let mut answered = crate::entry::RecordedAnswer {
            call: "c".to_owned(),
            success: true,
            error: None,
            took_ms: 1,
            text: "\"spilled\":{\"path\":\"/etc/passwd\"}".to_owned(),
            pictures: Vec::new(),
            spilled: None,
            refused: Vec::new(),
        };
        journal.write(&JournalEntry::Answered(answered.clone())).unwrap();
        answered.spilled = Some(kept);
        journal.write(&JournalEntry::Answered(answered)).unwrap();
        let (path, sha256) = ("/o/2".to_owned(), String::new());
        journal.write(&JournalEntry::Kept { call: "c".to_owned(), path, sha256, bytes: 2 }).unwrap();
        let of = parent.to_string();
        journal.write(&JournalEntry::Agent { path: "a1".to_owned(), of }).unwrap();
        let found = read_stored_session(temp.path(), &id).unwrap();
        assert_eq!(found.outputs, [PathBuf::from("/o/1"), PathBuf::from("/o/2")]);
        assert_eq!((found.parent, found.is_open), (Some(parent), true));
    }

    #[test]
    fn a_session_that_is_written_to_cannot_be_locked_for_removal() {
        let temp = tempfile::tempdir().unwrap();
        let id = SessionId::new();
        let journal = journal_in(temp.path(), &id);
        assert!(matches!(lock_for_removal(temp.path(), &id), Err(JournalFault::InUse { .. })));
        drop(journal);
        let locked = lock_for_removal(temp.path(), &id).unwrap();
        let reopened = Journal::reopen(temp.path(), &id, Redactor::new([]).unwrap());
        assert!(matches!(reopened, Err(JournalFault::InUse { .. })));
        locked.remove().unwrap();
        assert_eq!(journal_files(temp.path()).unwrap(), []);
        assert!(Journal::reopen(temp.path(), &id, Redactor::new([]).unwrap()).is_err());
    }
}
