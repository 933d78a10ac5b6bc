//! Session journals for the commands that read them: finds a session, builds its timeline and computes waiting times.

pub(crate) mod format_amount;
pub(crate) mod resolve_session;
mod session_clock;
pub(crate) mod timeline;
mod timeline_builder;
pub(crate) mod truncate;
pub(crate) mod wait_spans;

#[cfg(test)]
pub(crate) mod sample_session;
