//! Decodes one model response, streamed or whole, into events: text deltas, complete calls, usage and the end. It also
//! accumulates the turn for the conversation history.

mod accumulator;
mod anthropic;
mod chat;
mod responses;

use serde_json::Value;
use tool::ToolCall;

use crate::{AssistantTurn, CallReader, Dialect, ModelError, TokenUsage, WireFault};
use accumulator::ResponseAccumulator;

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
    calls: CallReader,
    dialect_decoder: DialectDecoder,
    accumulator: ResponseAccumulator,
}

/// The decoder of the response's dialect.
#[derive(Debug)]
enum DialectDecoder {
    Responses(responses::ResponsesStreamDecoder),
    Chat(chat::ChatStreamDecoder),
    Anthropic(anthropic::AnthropicStreamDecoder),
}

impl Dialect {
    /// Returns a decoder for one response of the model.
    pub fn stream_decoder(self) -> StreamDecoder {
        let dialect_decoder = match self {
            Self::Responses => DialectDecoder::Responses(responses::ResponsesStreamDecoder::default()),
            Self::Chat => DialectDecoder::Chat(chat::ChatStreamDecoder::default()),
            Self::Anthropic => DialectDecoder::Anthropic(anthropic::AnthropicStreamDecoder::default()),
        };
        StreamDecoder {
            calls: CallReader::for_one_response(self),
            dialect_decoder,
            accumulator: ResponseAccumulator::new(self),
        }
    }
}

impl StreamDecoder {
    /// Decodes the next stream event, or a whole response. Input after the end is ignored.
    pub fn push(&mut self, json: &Value) -> Vec<ModelStreamEvent> {
        if self.accumulator.is_over() {
            return Vec::new();
        }
        self.accumulator.add_parsed_calls(self.calls.push(json));
        match &mut self.dialect_decoder {
            DialectDecoder::Responses(decoder) => decoder.decode_event(json, &mut self.accumulator),
            DialectDecoder::Chat(decoder) => decoder.decode_event(json, &mut self.accumulator),
            DialectDecoder::Anthropic(decoder) => decoder.decode_event(json, &mut self.accumulator),
        }
        if self.accumulator.is_ending() {
            // Flushes the partial state of the ear and of the reader. The end itself is already set.
            self.flush_partial();
        }
        self.accumulator.take_events()
    }

    /// Ends the stream, with or without `[DONE]`. If the response is incomplete, each partial call becomes a call or a
    /// fault, and the end is [`ResponseEnd::Failed`].
    pub fn finish(&mut self) -> Vec<ModelStreamEvent> {
        if self.accumulator.is_over() {
            return Vec::new();
        }
        let end = self.flush_partial();
        self.accumulator.set_end(end);
        self.accumulator.take_events()
    }

    /// Returns the turn accumulated so far.
    pub fn into_turn(self) -> AssistantTurn {
        self.accumulator.into_turn()
    }

    /// Flushes partial state, and returns the end of a response that receives no more events.
    fn flush_partial(&mut self) -> ResponseEnd {
        self.accumulator.add_parsed_calls(self.calls.finish());
        match &mut self.dialect_decoder {
            DialectDecoder::Responses(decoder) => decoder.finish(&mut self.accumulator),
            DialectDecoder::Chat(decoder) => decoder.finish(&mut self.accumulator),
            DialectDecoder::Anthropic(decoder) => decoder.finish(&mut self.accumulator),
        }
    }
}

#[cfg(test)]
mod tests;
