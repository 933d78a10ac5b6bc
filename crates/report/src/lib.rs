//! Reports on recorded sessions: timeline, text, HTML page, statistics, replay and OTLP export.

pub mod format_amount;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod page;
pub mod replay;
pub mod resolve_session;
#[cfg(test)]
mod sample_session;
mod session_clock;
pub mod session_list;
pub mod session_text;
pub mod stats;
mod text_layout;
pub mod timeline;
mod timeline_builder;
pub mod truncate;
pub mod verify_result;
mod wait_spans;
