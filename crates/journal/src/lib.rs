//! Append-only, hash-chained journal of a session's events, with secrets redacted.
//!
//! A [`Journal`] writes one line for each [`Entry`]; [`Records`] reads and verifies a journal. `docs/journal.md`
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

pub use chain::{Broken, Flaw, MAX_LINE};
pub use entry::{Entry, Form, Picture, Remote, Ruling, Spilled, Step};
pub use fault::JournalFault;
pub use file::is_in_use;
pub use id::SessionId;
pub use journal::{Journal, Reopened};
pub use list::{Listed, find, list, names};
pub use record::{Record, unanswered};
pub use records::{Reading, Records, Torn, Verified, read, verify};
pub use redact::{Redactor, SHORTEST_SECRET};
pub use time::millis;
