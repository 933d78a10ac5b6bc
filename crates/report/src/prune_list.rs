//! Formats the sessions that `toolgate log prune` removes, as lines and as JSON.

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use session::prune::SessionFamily;

use crate::format_amount::{format_bytes, pluralize};

/// Formats one session with its size and its state.
pub fn format_line(family: &SessionFamily, state: &str) -> String {
    let state = match state {
        "running" => "running, stays".to_owned(),
        state => state.replace('_', " "),
    };
    format!("{}  {:>8}  {state}", family.id, format_bytes(family.bytes))
}

/// Returns one session as JSON; `why` is the reason of a failure.
pub fn as_json(family: &SessionFamily, state: &str, why: Option<&str>) -> Value {
    let last = family.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    json!({
        "id": family.id.as_str(),
        "sessions": family.session_count(),
        "bytes": family.bytes,
        "last_unix": last,
        "state": state,
        "why": why,
    })
}

/// Returns the number of sessions and their size, e.g. `3 sessions (1.2 MB)`.
pub fn total<'a>(families: impl IntoIterator<Item = &'a SessionFamily>) -> String {
    let (mut count, mut bytes) = (0, 0);
    for family in families {
        (count, bytes) = (count + 1, bytes + family.bytes);
    }
    format!("{} ({})", pluralize(count, "session"), format_bytes(bytes))
}
