//! Writes conversation items: user messages, assistant turns, and the answers to their calls.

use serde_json::Value;
use tool::{CallId, OutputImage, ToolCall, ToolOutput};

use crate::dialect::with_sorted_keys;
use crate::write::{anthropic, chat, responses};
use crate::{AssistantTurn, Dialect};

/// The answer to a call that was never answered.
const UNANSWERED: &str =
    "the call was interrupted before it came to an answer; what it did until then is unknown";

impl Dialect {
    /// Writes a user message. An empty one gets a placeholder text, because APIs reject a message without content.
    pub fn user_message(self, text: &str, pictures: &[OutputImage]) -> Value {
        with_sorted_keys(match self {
            Self::Responses => responses::user_message(text, pictures),
            Self::Chat => chat::user_message(text, pictures),
            Self::Anthropic => anthropic::user_message(text, pictures),
        })
    }

    /// Writes an assistant turn as history items; none if the turn has no content.
    ///
    /// A turn decoded by another dialect is reduced to its text and calls; its API-specific items are left out.
    pub fn assistant_turn(self, turn: &AssistantTurn) -> Vec<Value> {
        let items = match self {
            Self::Responses => responses::assistant_items(turn),
            Self::Chat => chat::assistant_message(turn).into_iter().collect(),
            Self::Anthropic => anthropic::assistant_message(turn).into_iter().collect(),
        };
        items.into_iter().map(with_sorted_keys).collect()
    }

    /// Writes the items that follow those of [`assistant_turn`](Self::assistant_turn): exactly one answer for every
    /// call of the turn. Answers to unreadable calls come last, followed by a message about calls that cannot be
    /// answered.
    ///
    /// `outputs` may come in any order. Outputs of unknown calls and duplicate outputs are ignored. A call without an
    /// output is answered as interrupted.
    pub fn turn_replies<'a>(
        self,
        turn: &AssistantTurn,
        outputs: impl IntoIterator<Item = (&'a CallId, &'a ToolOutput)>,
    ) -> Vec<Value> {
        let outputs: Vec<(&CallId, &ToolOutput)> = outputs.into_iter().collect();
        let unanswered = ToolOutput::failure(UNANSWERED);
        let unread: Vec<(&ToolCall, ToolOutput)> = turn.unread_calls().collect();
        let read = turn.calls().map(|call| {
            let found = outputs.iter().find(|(id, _)| **id == call.id);
            (call, found.map_or(&unanswered, |(_, output)| *output))
        });
        let mut items = self.answers(read.chain(unread.iter().map(|(call, output)| (*call, output))));
        let lost: Vec<&str> = turn.lost_calls().collect();
        if !lost.is_empty() {
            items.push(self.user_message(&lost.join("\n"), &[]));
        }
        items
    }
}

#[cfg(test)]
mod tests;
