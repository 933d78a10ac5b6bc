//! What happened in a session, written down before and after: append-only, hash-chained, without secrets.
//!
//! A [`Journal`] is written, one line an [`Entry`]; [`Records`] reads one back and checks it. `docs/journal.md` is the
//! format, for whoever reads it without this crate.

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
