//! Tests of journals on a real disk: writing, reading, listing, tampering, truncation, locks, kills and a full disk.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests may unwrap, start themselves again, look at their own files and say what they did"
)]

mod child;
mod disk_full;
mod file_safety;
mod format;
mod kill_recovery;
mod properties;
mod session_list;
mod support;
