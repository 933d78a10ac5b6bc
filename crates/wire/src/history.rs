//! Writing a conversation: what a person said, what the model said, and what its calls came to.

use serde_json::Value;
use tool::{CallId, Image, ToolCall, ToolOutput};

use crate::dialect::sorted;
use crate::write::{anthropic, chat, responses};
use crate::{Dialect, Said};

/// What a model reads of a call that was never answered.
const UNANSWERED: &str =
    "the call was interrupted before it came to an answer; what it did until then is unknown";

impl Dialect {
    /// A person's message. APIs refuse one without content, so it has some words in any case.
    pub fn user(self, text: &str, pictures: &[Image]) -> Value {
        sorted(match self {
            Self::Responses => responses::user(text, pictures),
            Self::Chat => chat::user(text, pictures),
            Self::Anthropic => anthropic::user(text, pictures),
        })
    }

    /// The model's own turn as items of the history; none if there was nothing to keep.
    ///
    /// Of what another dialect heard, text and calls are written, and its own items are left out.
    pub fn said(self, said: &Said) -> Vec<Value> {
        let items = match self {
            Self::Responses => responses::said(said),
            Self::Chat => chat::said(said).into_iter().collect(),
            Self::Anthropic => anthropic::said(said).into_iter().collect(),
        };
        items.into_iter().map(sorted).collect()
    }

    /// What follows [`said`](Self::said): exactly one answer for every call in it, those that could not be read
    /// last, and then a message about calls that no answer reaches.
    ///
    /// `outputs` may come in any order. One that belongs to no call is left out, and so is a second one for the same
    /// call; a call without any is told to have been interrupted.
    pub fn replies<'a>(
        self,
        said: &Said,
        outputs: impl IntoIterator<Item = (&'a CallId, &'a ToolOutput)>,
    ) -> Vec<Value> {
        let outputs: Vec<(&CallId, &ToolOutput)> = outputs.into_iter().collect();
        let unanswered = ToolOutput::failure(UNANSWERED);
        let unread: Vec<(&ToolCall, ToolOutput)> = said.unread().collect();
        let read = said.calls().map(|call| {
            let found = outputs.iter().find(|(id, _)| **id == call.id);
            (call, found.map_or(&unanswered, |(_, output)| *output))
        });
        let mut items = self.answers(read.chain(unread.iter().map(|(call, output)| (*call, output))));
        let lost: Vec<&str> = said.lost().collect();
        if !lost.is_empty() {
            items.push(self.user(&lost.join("\n"), &[]));
        }
        items
    }
}

#[cfg(test)]
mod tests;
