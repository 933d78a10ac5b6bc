//! Append-only, hash-chained journal of a session's events, with secrets redacted.
//!
//! A [`Journal`] writes one line for each [`JournalEntry`]; [`JournalReader`] reads and verifies a journal. `docs/journal.md`
//! specifies the format for readers that do not use this crate.

mod chain;
mod entry;
mod fault;
mod file;
mod fit;
mod id;
mod journal;
mod list;
mod record;
mod records;
mod redact;
mod syncer;
mod time;
mod walk;

pub use chain::{BrokenLine, LineFlaw, MAX_LINE};
pub use entry::{JournalEntry, RecordedCallForm, ImageDigest, McpToolRef, RecordedVerdict, SpilledOutput, JournalPlanStep};
pub use fault::JournalFault;
pub use file::is_in_use;
pub use id::SessionId;
pub use journal::{Journal, ReopenedJournal};
pub use list::{SessionSummary, find_session, list_sessions, session_ids};
pub use record::{JournalRecord, unanswered_calls};
pub use records::{JournalContents, JournalReader, TornTail, VerifiedJournal, read_journal, verify_journal};
pub use redact::{Redactor, SHORTEST_SECRET};
pub use time::parse_millis;
