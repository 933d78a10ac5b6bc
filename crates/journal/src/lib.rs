//! Append-only, hash-chained journal of a session's events, with secrets redacted.
//!
//! A [`Journal`] writes one line for each [`JournalEntry`]; [`JournalReader`] reads and verifies a journal, and
//! [`SessionTimeline`] joins the records about each call. `docs/journal.md` specifies the format for readers that do not use this crate.

mod chain;
mod entry;
mod fault;
mod journal;
mod reader;
mod record;
mod redact;
mod session_clock;
mod session_id;
mod session_list;
mod stored_session;
mod syncer;
mod text_budget;
mod timeline;
mod timeline_builder;
mod timestamp;
mod truncate;
mod visitor;

pub use chain::{BrokenLine, LineFlaw, MAX_LINE_BYTES};
pub use entry::{
    ImageDigest, JournalEntry, JournalPlanStep, McpToolRef, RecordedAnswer, RecordedCall, RecordedCallForm,
    RecordedVerdict, RequestUsage, SessionSettings, SpilledOutput,
};
pub use fault::JournalFault;
pub use journal::{Journal, ReopenedJournal, is_in_use};
pub use reader::{
    JournalContents, JournalReader, TornTail, VerifiedJournal, read_journal, verify_journal,
    verify_journal_has,
};
pub use record::JournalRecord;
pub use redact::{Redactor, SHORTEST_SECRET};
pub use session_id::SessionId;
pub use session_list::{SessionSummary, find_session, list_sessions, session_ids};
pub use stored_session::{
    JournalFile, LockedSession, StoredSession, journal_files, lock_for_removal, read_stored_session,
    unusable_journal_files,
};
pub use text_budget::TextBudget;
pub use timeline::{
    EventTime, JournalEnding, MAX_TIMELINE_LINES, SessionTimeline, TimelineAnswer, TimelineAttempt,
    TimelineCall, TimelineDecision, TimelineEvent, TimelineEventKind, TimelineQuestion, TimelineVerdict,
};
pub use timestamp::{current_timestamp, parse_millis};
