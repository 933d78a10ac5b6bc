//! One record read from a journal.

use crate::entry::JournalEntry;

/// One line of a journal: entry, time, sequence number and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalRecord {
    /// The sequence number, from one; also the line number.
    pub seq: u64,
    /// The time of writing in RFC 3339: UTC, with milliseconds.
    pub at: String,
    /// The entry.
    pub entry: JournalEntry,
    /// SHA-256 over the previous hash and this line, in hexadecimal.
    pub hash: String,
}
