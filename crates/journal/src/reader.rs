//! The journal reader: reads a journal line by line and verifies the hash chain.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::chain::{self, BrokenLine, GENESIS_HASH, LineFlaw, MAX_LINE_BYTES};
use crate::fault::JournalFault;
use crate::record::JournalRecord;

/// Disks lose whole sectors of this size or a multiple of it.
const SECTOR_BYTES: u64 = 512;
const BUFFER_BYTES: usize = 64 << 10;

/// The incomplete end of a journal whose writer was killed, or whose machine crashed. It is no error: reopening the
/// journal drops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// The number of the incomplete line, from one.
    pub line: u64,
    /// Bytes from the start of that line to the end of the file.
    pub bytes: u64,
}

/// Iterates over the records of a journal, in order. It ends with the last complete line, or at the first broken line.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    reader: BufReader<File>,
    /// The last line read, without its newline, and its hash.
    last_line: Vec<u8>,
    last_hash: String,
    /// The number of lines read, and their bytes.
    lines_read: u64,
    offset: u64,
    torn: Option<TornTail>,
    is_over: bool,
}

/// The next line of a file, or the reason why there is none.
enum RawJournalLine {
    /// A line without its newline.
    Line(Vec<u8>),
    TooLong,
    /// A last line without a newline.
    Unterminated,
    EndOfFile,
}

impl JournalReader {
    /// Opens any journal for reading, whatever its location and owner.
    ///
    /// # Errors
    ///
    /// If the path is not a readable regular file.
    pub fn open(path: &Path) -> Result<Self, JournalFault> {
        let file = private_files::open_for_reading(path)
            .map_err(|source| JournalFault::Unusable { path: path.to_owned(), source })?;
        Ok(Self::from_file(path.to_owned(), file))
    }

    /// Creates a reader for an open file; `path` is for error messages.
    pub(crate) fn from_file(path: PathBuf, file: File) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Self {
            path,
            reader,
            last_line: Vec::new(),
            last_hash: GENESIS_HASH.to_owned(),
            lines_read: 0,
            offset: 0,
            torn: None,
            is_over: false,
        }
    }

    /// Returns the torn tail of the file; known after the last record.
    #[must_use]
    pub fn torn_tail(&self) -> Option<TornTail> {
        self.torn
    }

    /// Returns the hash of the last line read; zeros before the first.
    #[must_use]
    pub fn head_hash(&self) -> &str {
        &self.last_hash
    }

    /// Returns the last line read, as in the file, without its newline. It is JSON.
    #[must_use]
    pub fn last_line(&self) -> &[u8] {
        &self.last_line
    }

    /// Returns the bytes of all lines read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    fn read_record(&mut self) -> Result<Option<JournalRecord>, JournalFault> {
        let piece = self.next_raw_line().map_err(|source| self.unusable_fault(source))?;
        let line = match piece {
            RawJournalLine::EndOfFile => return Ok(None),
            RawJournalLine::Unterminated => return self.finish_torn(),
            RawJournalLine::TooLong => return Err(self.broken_fault(LineFlaw::TooLong)),
            RawJournalLine::Line(line) => line,
        };
        match chain::parse_line(&self.last_hash, self.lines_read + 1, &line) {
            Ok(record) => {
                self.last_hash.clone_from(&record.hash);
                self.lines_read += 1;
                self.offset += line.len() as u64 + 1;
                self.last_line = line;
                Ok(Some(record))
            }
            Err(_) if has_hole(&line, self.offset) => self.finish_torn(),
            Err(flaw) => Err(self.broken_fault(flaw)),
        }
    }

    fn next_raw_line(&mut self) -> io::Result<RawJournalLine> {
        let mut line = Vec::new();
        let limit = MAX_LINE_BYTES as u64;
        self.reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if line.pop_if(|last| *last == b'\n').is_some() {
            return Ok(RawJournalLine::Line(line));
        }
        if line.is_empty() {
            return Ok(RawJournalLine::EndOfFile);
        }
        // ends: at a newline or at the end of the file, which every round comes closer to
        while line.len() == MAX_LINE_BYTES {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            if buffer.contains(&b'\n') {
                return Ok(RawJournalLine::TooLong);
            }
            let length = buffer.len();
            self.reader.consume(length);
        }
        Ok(RawJournalLine::Unterminated)
    }

    fn finish_torn(&mut self) -> Result<Option<JournalRecord>, JournalFault> {
        let length = self.reader.get_ref().metadata().map_err(|source| self.unusable_fault(source))?.len();
        let bytes = length.saturating_sub(self.offset);
        self.torn = Some(TornTail { line: self.lines_read + 1, bytes });
        Ok(None)
    }

    fn broken_fault(&self, why: LineFlaw) -> JournalFault {
        JournalFault::Broken {
            path: self.path.clone(),
            broken: BrokenLine { line: self.lines_read + 1, why },
        }
    }

    fn unusable_fault(&self, source: io::Error) -> JournalFault {
        JournalFault::Unusable { path: self.path.clone(), source }
    }
}

impl Iterator for JournalReader {
    type Item = Result<JournalRecord, JournalFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read_record().transpose();
        self.is_over = !matches!(read, Some(Ok(_)));
        read
    }
}

/// Returns whether a part of a line was never written although later bytes were: the part is zeros up to the end of a
/// sector. Journal lines contain no zero bytes.
fn has_hole(line: &[u8], offset: u64) -> bool {
    let mut at = offset;
    line.iter().any(|byte| {
        at += 1;
        *byte == 0 && at.is_multiple_of(SECTOR_BYTES)
    })
}

/// The contents of a journal.
#[derive(Debug)]
pub struct JournalContents {
    /// All records.
    pub records: Vec<JournalRecord>,
    /// The torn tail of the file, if any.
    pub torn: Option<TornTail>,
}

/// The result of verifying a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedJournal {
    /// The number of records.
    pub records: u64,
    /// The hash of the last record, which covers all of them.
    pub last_hash: String,
    /// The torn tail of the file, if any.
    pub torn: Option<TornTail>,
}

/// Reads and verifies a whole journal.
///
/// # Errors
///
/// If the journal cannot be read, or is broken. [`JournalReader`] returns the records before the break.
pub fn read_journal(path: &Path) -> Result<JournalContents, JournalFault> {
    let mut lines = JournalReader::open(path)?;
    let records = lines.by_ref().collect::<Result<Vec<JournalRecord>, JournalFault>>()?;
    Ok(JournalContents { records, torn: lines.torn_tail() })
}

/// Verifies a whole journal.
///
/// # Errors
///
/// If the journal cannot be read, or is broken: [`JournalFault::Broken`] contains the line and its defect.
pub fn verify_journal(path: &Path) -> Result<VerifiedJournal, JournalFault> {
    verify_records(path, |_| {})
}

/// Verifies a whole journal, and that it still has the record with the hash `kept`, or one that begins with it. Also
/// detects lines that were removed at the end, if the hash was kept elsewhere.
///
/// # Errors
///
/// Like [`verify_journal`], or [`JournalFault::HashMissing`].
pub fn verify_journal_has(path: &Path, kept: &str) -> Result<VerifiedJournal, JournalFault> {
    let mut found = false;
    let verified = verify_records(path, |record| found |= record.hash.starts_with(kept))?;
    if found {
        Ok(verified)
    } else {
        Err(JournalFault::HashMissing { path: path.to_owned(), hash: kept.to_owned() })
    }
}

fn verify_records(
    path: &Path,
    mut visit: impl FnMut(&JournalRecord),
) -> Result<VerifiedJournal, JournalFault> {
    let mut lines = JournalReader::open(path)?;
    // ends: with the file
    for record in lines.by_ref() {
        visit(&record?);
    }
    Ok(VerifiedJournal { records: lines.lines_read, last_hash: lines.last_hash.clone(), torn: lines.torn })
}
