//! One assistant turn in a form that every dialect can write into the next request.

mod saved_json;

use serde_json::Value;
use tool::{CallId, ToolCall, ToolOutput, ToolPayload};

use crate::fault::CallItemKind;
use crate::{Dialect, WireFault};

pub use saved_json::UnreadableTurn;

/// One assistant turn: text, calls, and items that only the originating API understands, in order.
///
/// No two calls have the same id, and each call must be answered. [`calls`](Self::calls) are answered by running them,
/// [`unread_calls`](Self::unread_calls) with their included output. [`Dialect::turn_replies`] writes both.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantTurn {
    dialect: Dialect,
    pieces: Vec<TurnPiece>,
}

/// One piece of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnPiece {
    pub(crate) content: TurnContent,
    /// The item as the API sent it, if it contains more than `content`.
    pub(crate) raw: Option<Value>,
}

/// The content of a piece.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnContent {
    Text(String),
    Call(ToolCall),
    /// A call that could not be parsed, with substitute arguments, and the reason.
    Unread(ToolCall, String),
    /// A call that could not be parsed and has no id, so that no API accepts an answer to it.
    Lost(String),
    /// An item that only the originating API understands.
    Item,
}

impl AssistantTurn {
    /// Returns an empty turn.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, pieces: Vec::new() }
    }

    /// Returns a turn that consists of calls alone.
    pub fn from_calls(dialect: Dialect, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let mut turn = Self::new(dialect);
        calls
            .into_iter()
            .for_each(|call| turn.push(TurnPiece { content: TurnContent::Call(call), raw: None }));
        turn
    }

    /// Returns the API that the turn came from.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns whether the turn has no content for the history.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the text for the user, pieces joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match &piece.content {
            TurnContent::Text(text) => Some(text.as_str()),
            TurnContent::Call(_) | TurnContent::Unread(..) | TurnContent::Lost(_) | TurnContent::Item => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the calls to run, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            TurnContent::Call(call) => Some(call),
            TurnContent::Text(_) | TurnContent::Unread(..) | TurnContent::Lost(_) | TurnContent::Item => None,
        })
    }

    /// Returns the calls that could not be parsed, each with its answer.
    pub fn unread_calls(&self) -> impl Iterator<Item = (&ToolCall, ToolOutput)> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            TurnContent::Unread(call, why) => Some((call, ToolOutput::failure(why.as_str()))),
            TurnContent::Text(_) | TurnContent::Call(_) | TurnContent::Lost(_) | TurnContent::Item => None,
        })
    }

    /// Returns one sentence for the model about each call without an id. Such calls are not in the history.
    pub fn lost_calls(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            TurnContent::Lost(why) => Some(why.as_str()),
            TurnContent::Text(_) | TurnContent::Call(_) | TurnContent::Unread(..) | TurnContent::Item => None,
        })
    }

    pub(crate) fn pieces(&self) -> &[TurnPiece] {
        &self.pieces
    }

    /// Adds a piece. Blank text and calls with a known id are dropped.
    pub(crate) fn push(&mut self, piece: TurnPiece) {
        let taken = |call: &ToolCall| self.call_ids().any(|id| *id == call.id);
        let keep = match &piece.content {
            TurnContent::Text(text) => !text.trim().is_empty(),
            TurnContent::Call(call) | TurnContent::Unread(call, _) => !taken(call),
            TurnContent::Lost(_) => true,
            TurnContent::Item => piece.raw.as_ref().is_some_and(is_standalone_item),
        };
        if keep {
            self.pieces.push(piece);
        }
    }

    fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            TurnContent::Call(call) | TurnContent::Unread(call, _) => Some(&call.id),
            TurnContent::Text(_) | TurnContent::Lost(_) | TurnContent::Item => None,
        })
    }
}

/// Returns whether an item is neither a call, an answer, a message nor a reference. Those would break the pairing of
/// calls and answers, and the API would reject every later request.
fn is_standalone_item(item: &Value) -> bool {
    const PAIRED_TYPES: &[&str] = &[
        "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
        "local_shell_call", "local_shell_call_output", "item_reference", "message", "tool_use",
        "tool_result",
    ];
    item.is_object() && item["type"].as_str().is_none_or(|kind| !PAIRED_TYPES.contains(&kind))
}

impl TurnContent {
    /// Converts a fault into the content that the history keeps.
    pub(crate) fn from_fault(fault: &WireFault) -> Self {
        let Some(id) = fault.id().cloned() else { return Self::Lost(fault.to_string()) };
        let payload = match fault.kind {
            // The received arguments may be anything, and servers that render them in a template need an object.
            CallItemKind::Function => ToolPayload::Function { arguments: "{}".to_owned() },
            CallItemKind::Custom => ToolPayload::Custom { input: String::new() },
        };
        let name = fault.name().unwrap_or_default().to_owned();
        Self::Unread(ToolCall { id, name, payload }, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(content: TurnContent) -> TurnPiece {
        TurnPiece { content, raw: None }
    }

    #[test]
    fn an_id_is_taken_once_and_blank_text_is_nothing() {
        let mut turn = AssistantTurn::new(Dialect::Chat);
        turn.push(piece(TurnContent::Text(" \n".to_owned())));
        assert!(turn.is_empty());
        turn.push(piece(TurnContent::Call(ToolCall::function("a", "read", "{}"))));
        turn.push(piece(TurnContent::Unread(ToolCall::function("a", "list", "{}"), "why".to_owned())));
        turn.push(piece(TurnContent::Lost("lost".to_owned())));
        assert_eq!(turn.calls().count(), 1);
        assert_eq!(turn.unread_calls().count(), 0);
        assert_eq!(turn.lost_calls().collect::<Vec<_>>(), ["lost"]);
    }
}
