//! Decodes model responses, streamed or whole.
//!
//! Each dialect has one decoder, which finds text, calls, usage and the end.
//!
//! [`StreamDecoder`] decodes one response for the agent and accumulates the turn for the conversation history.
//! [`CallReader`] reads the calls of many responses.

mod accumulator;
mod anthropic;
mod call_reader;
mod chat;
mod dedup;
mod local_shell;
mod object_scanner;
mod partial_call;
mod response_boundary;
pub(crate) mod responses;

use std::fmt;

use serde_json::Value;
use tool::ToolCall;

use crate::{AssistantTurn, Dialect, ModelError, TokenUsage, WireFault};
use accumulator::{AccumulatedContent, ResponseAccumulator};
pub use call_reader::CallReader;
pub use partial_call::ParsedCall;
use response_boundary::ResponseFragment;

/// An event decoded from a model response.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelStreamEvent {
    /// The next delta of the model's text.
    Text(String),
    /// The next delta of the model's reasoning, or of its summary.
    Thought(String),
    /// A complete call.
    Call(ToolCall),
    /// A call that cannot be parsed.
    Fault(WireFault),
    /// An action that the provider performed itself, e.g. a web search.
    Hosted {
        /// The provider's type name, e.g. `web_search_call`.
        kind: String,
        /// The provider's item.
        item: Value,
    },
    /// The token usage of the response: at most once, right before the end.
    Usage(TokenUsage),
    /// The end of the response: exactly once, as the last event.
    End(ResponseEnd),
}

/// The way in which a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The model finished its response.
    Done,
    /// The provider cut the response short.
    CutShort {
        /// The provider's reason, e.g. `max_output_tokens`.
        why: String,
    },
    /// The response failed; the events before may be incomplete.
    Failed(ModelError),
}

/// Decodes one response, which arrives as stream events or as a whole.
///
/// ```
/// use serde_json::json;
/// use toolgate_wire::{Dialect, ModelStreamEvent, ResponseEnd};
///
/// let mut listener = Dialect::Chat.stream_decoder();
/// let heard = listener.push(&json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}));
/// assert_eq!(heard, [ModelStreamEvent::Text("Hel".to_owned())]);
/// listener.push(&json!({"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]}));
/// assert_eq!(listener.finish(), [ModelStreamEvent::End(ResponseEnd::Done)]);
/// assert_eq!(listener.into_turn().text(), "Hello");
/// ```
#[derive(Debug)]
pub struct StreamDecoder {
    dialect_decoder: Box<dyn DialectDecoder>,
    accumulator: ResponseAccumulator,
}

impl StreamDecoder {
    /// Decodes the next stream event, or a whole response. Input after the end is ignored.
    pub fn push(&mut self, json: &Value) -> Vec<ModelStreamEvent> {
        if self.accumulator.is_over() {
            return Vec::new();
        }
        self.dialect_decoder.decode(json, &mut self.accumulator);
        if self.accumulator.is_ending() {
            self.dialect_decoder.finish(&mut self.accumulator);
        }
        self.accumulator.take_events()
    }

    /// Ends the stream, with or without `[DONE]`. If the response is incomplete, each partial call becomes a call or a
    /// fault, and the end is [`ResponseEnd::Failed`].
    pub fn finish(&mut self) -> Vec<ModelStreamEvent> {
        if self.accumulator.is_over() {
            return Vec::new();
        }
        self.dialect_decoder.finish(&mut self.accumulator);
        self.accumulator.take_events()
    }

    /// Returns the turn accumulated so far.
    pub fn into_turn(self) -> AssistantTurn {
        self.accumulator.into_turn()
    }
}

impl Dialect {
    /// Returns a decoder for one response of the model.
    pub fn stream_decoder(self) -> StreamDecoder {
        let accumulator = ResponseAccumulator::new(self, AccumulatedContent::WholeTurn);
        StreamDecoder { dialect_decoder: self.dialect_decoder(), accumulator }
    }

    fn dialect_decoder(self) -> Box<dyn DialectDecoder> {
        match self {
            Self::Responses => Box::<responses::ResponsesDecoder>::default(),
            Self::Chat => Box::<chat::ChatDecoder>::default(),
            Self::Anthropic => Box::<anthropic::AnthropicDecoder>::default(),
        }
    }
}

/// The state machine of one dialect.
trait DialectDecoder: fmt::Debug + Send + Sync {
    /// Decodes a stream event, a whole response or message, or a single call. Any other JSON adds nothing.
    fn decode(&mut self, json: &Value, accumulator: &mut ResponseAccumulator);

    /// Flushes partial text and calls when no more input follows, and sets the end.
    fn finish(&mut self, accumulator: &mut ResponseAccumulator);

    /// Returns the position of `json` within a response.
    fn classify<'a>(&self, json: &'a Value) -> ResponseFragment<'a>;

    /// Returns whether an open call continues in a chunk with another response id.
    fn has_open_call(&self) -> bool {
        false
    }
}

/// Returns whether an `error` field contains an error.
fn is_error(error: &Value) -> bool {
    error.is_object() || error.is_string()
}

#[cfg(test)]
mod tests;
