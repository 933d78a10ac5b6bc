//! Which calls were already reported: running one twice is worse than any fault.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tool::{CallId, ToolCall, ToolPayload};

use super::Reading;
use crate::fault::Kind;
use crate::{Why, WireFault};

/// So many ids are remembered; a response with more calls than that forgets its first.
const REMEMBERED: usize = 4096;

/// The same call again is a repetition: streams repeat themselves. Another one under the same id is a server that does
/// not number its calls.
#[derive(Debug, Default)]
pub(super) struct Seen {
    order: VecDeque<String>,
    /// By id, or by sentence for a fault that has none.
    prints: HashMap<String, u64>,
}

impl Seen {
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.prints.clear();
    }

    /// Lets the id of `reading` be used again.
    pub(super) fn forget(&mut self, reading: &Reading) {
        let key = key(reading);
        if self.prints.remove(&key).is_some() {
            self.order.retain(|other| *other != key);
        }
    }

    /// The reading as it should be reported, if at all.
    pub(super) fn admit(&mut self, reading: Reading) -> Option<Reading> {
        let key = key(&reading);
        let print = match &reading {
            Reading::Call(call) => print(call),
            Reading::Fault(_) => 0,
        };
        let Some(known) = self.prints.get(&key) else {
            self.remember(key, print);
            return Some(reading);
        };
        match reading {
            Reading::Call(call) if *known != print && !is_blank(&call) => {
                self.admit(Reading::Fault(reused(call)))
            }
            Reading::Call(_) | Reading::Fault(_) => None,
        }
    }

    fn remember(&mut self, key: String, print: u64) {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.prints.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.prints.insert(key, print);
    }
}

/// What a reading is remembered by.
fn key(reading: &Reading) -> String {
    match reading {
        Reading::Call(call) => call.id.as_str().to_owned(),
        Reading::Fault(fault) => fault.id().map_or_else(|| fault.to_string(), CallId::to_string),
    }
}

/// A call without arguments under a known id is an echo of the first: some servers close a call that way.
fn is_blank(call: &ToolCall) -> bool {
    matches!(call.payload.arguments().trim(), "" | "{}")
}

/// Without an id: the one it came with is answered already.
fn reused(call: ToolCall) -> WireFault {
    let kind = match call.payload {
        ToolPayload::Custom { .. } => Kind::Custom,
        ToolPayload::Function { .. } | ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => Kind::Function,
    };
    let why = Why::Reused { id: call.id.to_string() };
    WireFault { id: None, name: Some(call.name), kind, path: "id".to_owned(), why }
}

/// The same for the same call: a stream and the message that repeats it may space and order their JSON differently.
fn print(call: &ToolCall) -> u64 {
    let text = call.payload.arguments();
    let same = serde_json::from_str(&text).map(|mut json: Value| {
        json.sort_all_objects();
        json.to_string()
    });
    let mut hasher = DefaultHasher::new();
    (&call.name, same.as_deref().unwrap_or(&text)).hash(&mut hasher);
    hasher.finish()
}
