//! What a server says about a tool, so that it is seen when it says something else.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::peer::Listed;

/// A tool's definition: the same text for the same definition, however it was ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// For whoever compares two.
    pub(crate) text: String,
    /// For whatever is bound to it.
    pub(crate) hash: String,
}

impl Definition {
    pub(crate) fn of(tool: &Listed) -> Self {
        let all = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input,
            "outputSchema": tool.output,
            "annotations": tool.annotations,
        });
        let mut text = serde_json::to_string_pretty(&sorted(&all)).unwrap_or_default();
        text.push('\n');
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(&text) {
            let _ = write!(hash, "{byte:02x}");
        }
        Self { text, hash }
    }
}

/// The same value with its keys in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let pairs = keys.into_iter().map(|key| (key.clone(), sorted(&object[key])));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// Remembers which definitions were in use.
pub trait Pins: Send + Sync {
    /// The definition of `tool` of `server` that was last used; an error if nobody can tell.
    fn pinned(&self, server: &str, tool: &str) -> Result<Option<String>, String>;

    /// Remembers that this one is used.
    fn pin(&self, server: &str, tool: &str, definition: &str);
}
