//! Deduplicates calls by id, because running a call twice is worse than any fault.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tool::{CallId, ToolCall, ToolPayload};

use super::ParsedCall;
use crate::fault::CallItemKind;
use crate::{CallFaultReason, WireFault};

/// Maximum number of remembered ids; a response with more calls forgets its oldest.
const MAX_REMEMBERED_IDS: usize = 4096;

/// Remembers the reported calls. An equal call under a known id is a repetition, which streams contain. A different
/// call under a known id comes from a server that reuses ids, and becomes a fault.
#[derive(Debug, Default)]
pub(super) struct CallDeduplicator {
    order: VecDeque<String>,
    /// Fingerprints by id, or by message for a fault without an id.
    fingerprints: HashMap<String, u64>,
}

impl CallDeduplicator {
    /// Forgets all calls.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.fingerprints.clear();
    }

    /// Lets the id of `reading` be used again.
    pub(super) fn forget(&mut self, reading: &ParsedCall) {
        let key = dedup_key(reading);
        if self.fingerprints.remove(&key).is_some() {
            self.order.retain(|other| *other != key);
        }
    }

    /// Returns the reading to report, if any.
    pub(super) fn admit(&mut self, reading: ParsedCall) -> Option<ParsedCall> {
        let key = dedup_key(&reading);
        let print = match &reading {
            ParsedCall::Call(call) => fingerprint(call),
            ParsedCall::Fault(_) => 0,
        };
        let Some(known) = self.fingerprints.get(&key) else {
            self.remember(key, print);
            return Some(reading);
        };
        match reading {
            ParsedCall::Call(call) if *known != print && !has_no_arguments(&call) => {
                self.admit(ParsedCall::Fault(reused_id_fault(call)))
            }
            ParsedCall::Call(_) | ParsedCall::Fault(_) => None,
        }
    }

    fn remember(&mut self, key: String, print: u64) {
        if self.order.len() == MAX_REMEMBERED_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.fingerprints.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.fingerprints.insert(key, print);
    }
}

/// Returns the key that a reading is remembered by.
fn dedup_key(reading: &ParsedCall) -> String {
    match reading {
        ParsedCall::Call(call) => call.id.as_str().to_owned(),
        ParsedCall::Fault(fault) => fault.id().map_or_else(|| fault.to_string(), CallId::to_string),
    }
}

/// Returns whether a call has no arguments. Under a known id it echoes the first call: some servers close a call that
/// way.
fn has_no_arguments(call: &ToolCall) -> bool {
    matches!(call.payload.arguments().trim(), "" | "{}")
}

/// Returns a fault without an id, because the first call with that id gets the answer.
fn reused_id_fault(call: ToolCall) -> WireFault {
    let kind = match call.payload {
        ToolPayload::Custom { .. } => CallItemKind::Custom,
        ToolPayload::Function { .. } | ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => {
            CallItemKind::Function
        }
    };
    let why = CallFaultReason::Reused { id: call.id.to_string() };
    WireFault { id: None, name: Some(call.name), kind, path: "id".to_owned(), why }
}

/// Returns a fingerprint that ignores whitespace and key order: a stream and the message that repeats it may differ in
/// both.
fn fingerprint(call: &ToolCall) -> u64 {
    let text = call.payload.arguments();
    let same = serde_json::from_str(&text).map(|mut json: Value| {
        json.sort_all_objects();
        json.to_string()
    });
    let mut hasher = DefaultHasher::new();
    (&call.name, same.as_deref().unwrap_or(&text)).hash(&mut hasher);
    hasher.finish()
}
