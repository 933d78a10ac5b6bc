//! Canonical text and hash of a tool definition, to detect changes, and the trait that stores the last used one.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::peer::ListedTool;

/// A tool definition in canonical form: independent of key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolDefinition {
    /// The text, for diffs.
    pub(crate) text: String,
    /// The hash, for approvals and comparisons.
    pub(crate) hash: String,
}

impl ToolDefinition {
    pub(crate) fn from_listed(tool: &ListedTool) -> Self {
        let all = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
        });
        let mut text = serde_json::to_string_pretty(&sort_keys(&all)).unwrap_or_default();
        text.push('\n');
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(&text) {
            let _ = write!(hash, "{byte:02x}");
        }
        Self { text, hash }
    }
}

/// Returns the value with sorted keys.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let pairs = keys.into_iter().map(|key| (key.clone(), sort_keys(&object[key])));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sort_keys).collect()),
        other => other.clone(),
    }
}

/// Remembers the tool definitions in use.
pub trait DefinitionPins: Send + Sync {
    /// Returns the definition of `tool` of `server` that was last used; an error if it is unknown.
    fn pinned(&self, server: &str, tool: &str) -> Result<Option<String>, String>;

    /// Remembers the definition as used.
    fn pin(&self, server: &str, tool: &str, definition: &str);
}
