//! Journals on a real disk: written, read, listed, broken, cut, locked, killed, and without room.
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
