//! Tests of journals on a real disk: writing, reading, listing, tampering, truncation, locks, kills and a full disk.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests may unwrap, start themselves again, look at their own files and say what they did"
)]

mod child;
mod files;
mod format;
mod killed;
mod laws;
mod listed;
mod room;
mod support;
