//! The supported model APIs (dialects): writes tool declarations, user messages, assistant turns and answers in each.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use tool::{CallId, OutputImage, ToolCall, ToolOutput, ToolSpec};

use crate::write::{anthropic, chat, responses};
use crate::{ApiCompat, AssistantTurn};

/// The answer to a call that was never answered.
const UNANSWERED: &str =
    "the call was interrupted before it came to an answer; what it did until then is unknown";

/// A model API that this crate reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI's Responses API.
    Responses,
    /// OpenAI's Chat Completions API, and the many servers that imitate it.
    Chat,
    /// Anthropic's Messages API.
    Anthropic,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::Responses, Self::Chat, Self::Anthropic];

    /// Returns the name of the dialect in configuration and on the command line, e.g. `responses`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the value of a request's `tools`: an array sorted by name. Equal specs give equal bytes.
    ///
    /// Tools that the API has no form for are left out: `local_shell` and `web_search` exist in Responses only.
    pub fn tools(self, specs: &[&ToolSpec], compat: &ApiCompat) -> Value {
        let mut specs = specs.to_vec();
        specs.sort_by_key(|spec| spec.name());
        let hosted = specs.iter().any(|spec| matches!(spec, ToolSpec::WebSearch { .. }));
        if self == Self::Responses && hosted {
            // The provider's own search replaces ours: both would be tools of the same name.
            let ours =
                |spec: &&ToolSpec| matches!(spec, ToolSpec::Function(spec) if spec.name == "web_search");
            specs.retain(|spec| !ours(spec));
        }
        let tools = specs.into_iter().filter_map(|spec| match self {
            Self::Responses => Some(responses::tool_declaration(spec, compat)),
            Self::Chat => chat::tool_declaration(spec, compat),
            Self::Anthropic => anthropic::tool_declaration(spec, compat),
        });
        with_sorted_keys(tools.collect())
    }

    /// Writes the items that answer `call`. Every dialect needs one item, except Chat for an output with images. Tool
    /// messages of Chat carry text only, so a user message with the images follows. [`answers`](Self::answers) orders
    /// these items for several calls.
    pub fn answer(self, call: &ToolCall, output: &ToolOutput) -> Vec<Value> {
        let items = match self {
            Self::Responses => vec![responses::call_output(call, output)],
            Self::Chat => chat::tool_messages(call, output),
            Self::Anthropic => vec![anthropic::tool_result(call, output)],
        };
        items.into_iter().map(with_sorted_keys).collect()
    }

    /// Writes the items that answer the calls of one response, in an order that the API accepts. Chat requires all tool
    /// messages before any other message, so user messages with images come last.
    pub fn answers<'a>(
        self,
        answered: impl IntoIterator<Item = (&'a ToolCall, &'a ToolOutput)>,
    ) -> Vec<Value> {
        let items = answered.into_iter().flat_map(|(call, output)| self.answer(call, output));
        let (mut first, last): (Vec<_>, Vec<_>) = items.partition(|item| item["role"] != "user");
        first.extend(last);
        first
    }

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

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.as_str() == name);
        found.ok_or_else(|| UnknownDialect { name: name.to_owned() })
    }
}

/// The error for a name that is no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect `{name}`; there are `responses`, `chat` and `anthropic`")]
pub struct UnknownDialect {
    name: String,
}

/// Sorts the keys of all objects. Feature unification decides whether `serde_json` keeps insertion order, and the bytes
/// of a cached prompt must not depend on it.
pub(crate) fn with_sorted_keys(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

#[cfg(test)]
mod tests;
