//! One item of a conversation, serialised once and sent with every request after.

use std::sync::Arc;

use serde_json::Value;

use crate::Dialect;

/// One item of a conversation, as text that a request is put together from. Cloning it copies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    text: Arc<str>,
    part: Part,
}

/// What the text of an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// An item or a message.
    Whole,
    /// One block that must come first in its user message.
    Result,
    /// Blocks of a user message, with commas between them.
    Blocks,
}

impl Dialect {
    /// Serialises an item that [`user`](Self::user), [`said`](Self::said), [`answers`](Self::answers) or
    /// [`replies`](Self::replies) wrote.
    pub fn entry(self, item: &Value) -> Entry {
        let whole = || Entry { text: item.to_string().into(), part: Part::Whole };
        match self {
            Self::Responses | Self::Chat => whole(),
            Self::Anthropic if item["type"] == "tool_result" => Entry { part: Part::Result, ..whole() },
            Self::Anthropic => match (item["role"].as_str(), item["content"].as_array()) {
                (Some("user"), Some(blocks)) if !blocks.is_empty() => {
                    let blocks: Vec<String> = blocks.iter().map(Value::to_string).collect();
                    Entry { text: blocks.join(",").into(), part: Part::Blocks }
                }
                (Some(_) | None, _) => whole(),
            },
        }
    }
}

impl Entry {
    /// How many bytes a request grows by it, but for what it shares with its neighbours.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn part(&self) -> Part {
        self.part
    }
}
