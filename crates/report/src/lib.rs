//! Reports on recorded sessions: text, HTML page, statistics, replay and OTLP export.

pub mod diff_origin;
pub mod format_amount;
pub mod otlp;
pub mod page;
pub mod prune_list;
mod reading_order;
pub mod replay;
pub mod resolve_session;
#[cfg(test)]
mod sample_session;
pub mod session_list;
pub mod session_table;
pub mod session_text;
pub mod stats;
mod text_layout;
pub mod verify_result;
mod wait_spans;
