//! A conversation item that is serialised once and reused in every later request.

use std::sync::Arc;

use serde_json::Value;

use crate::Dialect;

/// One serialised item of a conversation, a part of request bodies. Cloning shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerializedItem {
    text: Arc<str>,
    fragment: ItemFragment,
}

/// The role of an entry's text in the request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemFragment {
    /// A complete item or message.
    Whole,
    /// A `tool_result` block, which must come first in its user message.
    Result,
    /// Content blocks of a user message, separated by commas.
    Blocks,
}

impl Dialect {
    /// Serialises an item that [`user_message`](Self::user_message), [`assistant_turn`](Self::assistant_turn),
    /// [`answers`](Self::answers) or [`turn_replies`](Self::turn_replies) wrote.
    pub fn serialize_item(self, item: &Value) -> SerializedItem {
        let whole = || SerializedItem { text: item.to_string().into(), fragment: ItemFragment::Whole };
        match self {
            Self::Responses | Self::Chat => whole(),
            Self::Anthropic if item["type"] == "tool_result" => {
                SerializedItem { fragment: ItemFragment::Result, ..whole() }
            }
            Self::Anthropic => match (item["role"].as_str(), item["content"].as_array()) {
                (Some("user"), Some(blocks)) if !blocks.is_empty() => {
                    let blocks: Vec<String> = blocks.iter().map(Value::to_string).collect();
                    SerializedItem { text: blocks.join(",").into(), fragment: ItemFragment::Blocks }
                }
                (Some(_) | None, _) => whole(),
            },
        }
    }
}

impl SerializedItem {
    /// Returns the bytes that this entry adds to a request body, without separators and enclosing messages.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn fragment(&self) -> ItemFragment {
        self.fragment
    }
}
