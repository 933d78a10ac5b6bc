//! Parses the tool calls of model responses: one reader for streams, whole responses and single items.

mod anthropic;
mod chat;
mod dedup;
mod local_shell;
mod object_scanner;
mod partial_call;
mod response_boundary;
mod responses;

use serde_json::Value;
use tool::ToolCall;

use crate::{Dialect, WireFault};
pub(crate) use chat::{finish_reason, first_choice, is_whole_response};
use dedup::CallDeduplicator;
use response_boundary::{ResponseFragment, ResponseTracker};
pub(crate) use responses::call_id;

/// A result of the call reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedCall {
    /// A complete call.
    Call(ToolCall),
    /// A call that cannot be parsed.
    Fault(WireFault),
}

/// Parses the calls of model responses, which arrive as stream events, as a whole, or as single items.
///
/// Within one response an id is reported once, although streams repeat themselves. Some servers reuse ids in the next
/// response. The next response begins after the end of a stream, with a whole message, or after
/// [`finish`](Self::finish). A single item is always reported, because only its sender could repeat it.
#[derive(Debug)]
pub struct CallReader {
    state: DialectCallReader,
    deduplicator: CallDeduplicator,
    dialect: Dialect,
    response_tracker: ResponseTracker,
    scope: ReaderScope,
}

/// The number of responses that a reader serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderScope {
    OneResponse,
    ManyResponses,
}

/// The call reader of the dialect.
#[derive(Debug)]
enum DialectCallReader {
    Responses(responses::ResponsesCallReader),
    Chat(chat::ChatCallReader),
    Anthropic(anthropic::AnthropicCallReader),
}

impl CallReader {
    /// Returns a reader for any number of consecutive responses.
    pub(crate) fn new(dialect: Dialect) -> Self {
        let state = match dialect {
            Dialect::Responses => DialectCallReader::Responses(responses::ResponsesCallReader::default()),
            Dialect::Chat => DialectCallReader::Chat(chat::ChatCallReader::default()),
            Dialect::Anthropic => DialectCallReader::Anthropic(anthropic::AnthropicCallReader::default()),
        };
        Self {
            state,
            deduplicator: CallDeduplicator::default(),
            dialect,
            response_tracker: ResponseTracker::default(),
            scope: ReaderScope::ManyResponses,
        }
    }

    /// Returns a reader that takes all input for one response, so no id is reported twice.
    pub(crate) fn for_one_response(dialect: Dialect) -> Self {
        Self { scope: ReaderScope::OneResponse, ..Self::new(dialect) }
    }

    /// Parses the next piece of JSON: a stream event, a whole response, a message, or a single item.
    ///
    /// Any other JSON gives no result.
    pub fn push(&mut self, json: &Value) -> Vec<ParsedCall> {
        match self.scope {
            ReaderScope::OneResponse => {
                let readings = self.parse_event(json);
                self.deduplicate(readings)
            }
            ReaderScope::ManyResponses => self.push_across_responses(json),
        }
    }

    fn push_across_responses(&mut self, json: &Value) -> Vec<ParsedCall> {
        let piece = ResponseFragment::classify(self.dialect, json);
        let idle = match &self.state {
            DialectCallReader::Chat(reader) => reader.is_idle(),
            DialectCallReader::Responses(_) | DialectCallReader::Anthropic(_) => true,
        };
        let mut before =
            if self.response_tracker.starts_new_response(piece, idle) { self.finish() } else { Vec::new() };
        let readings = self.parse_event(json);
        if piece == ResponseFragment::Item {
            readings.iter().for_each(|reading| self.deduplicator.forget(reading));
        }
        before.extend(self.deduplicate(readings));
        before
    }

    fn parse_event(&mut self, json: &Value) -> Vec<ParsedCall> {
        match &mut self.state {
            DialectCallReader::Responses(reader) => reader.read_event(json),
            DialectCallReader::Chat(reader) => reader.read_event(json),
            DialectCallReader::Anthropic(reader) => reader.read_event(json),
        }
    }

    /// Ends the stream: each partial call becomes a call if it is complete, else a fault.
    pub fn finish(&mut self) -> Vec<ParsedCall> {
        let readings = match &mut self.state {
            DialectCallReader::Responses(reader) => reader.finish(),
            DialectCallReader::Chat(reader) => reader.finish(),
            DialectCallReader::Anthropic(reader) => reader.finish(),
        };
        let readings = self.deduplicate(readings);
        match self.scope {
            ReaderScope::OneResponse => {}
            ReaderScope::ManyResponses => self.deduplicator.clear(),
        }
        readings
    }

    fn deduplicate(&mut self, readings: Vec<ParsedCall>) -> Vec<ParsedCall> {
        readings.into_iter().filter_map(|reading| self.deduplicator.admit(reading)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Describes the results of a reader for a stream that then ends: one line for each result.
    pub(super) fn describe_stream(dialect: Dialect, stream: &[Value]) -> String {
        let mut reader = dialect.call_reader();
        let mut readings: Vec<ParsedCall> = stream.iter().flat_map(|json| reader.push(json)).collect();
        readings.extend(reader.finish());
        let text = readings.iter().map(line).collect::<Vec<_>>().join("\n");
        // Removes the random part of invented ids, which differs between readers.
        let (first, rest) = text.split_once("call_toolgate_").unwrap_or((&text, ""));
        let rest = rest.split("call_toolgate_").filter_map(|id| Some(id.split_once('_')?.1));
        rest.fold(first.to_owned(), |all, id| all + "call_toolgate_" + id)
    }

    fn calls(dialect: Dialect, stream: &[Value]) -> usize {
        describe_stream(dialect, stream).lines().count()
    }

    #[test]
    fn chat_may_use_its_ids_again_in_the_next_response_and_repeat_itself_in_this_one() {
        let call = json!({"index": 0, "id": "c0", "function": {"name": "go", "arguments": "{}"}});
        let chunk = |id: Option<&str>, end: Option<&str>| {
            let delta = if end.is_some() { json!({}) } else { json!({"tool_calls": [call]}) };
            json!({"id": id, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
        };
        let usage = json!({"id": "a", "choices": [], "usage": {}});
        let whole = |id: Option<&str>| json!({"id": id, "choices": [{"message": {"tool_calls": [call]}}]});
        let message = json!({"role": "assistant", "tool_calls": [call]});
        let turn = |id| [chunk(id, None), chunk(id, Some("tool_calls")), usage.clone()];
        assert_eq!(calls(Dialect::Chat, &[turn(None), turn(None), turn(None)].concat()), 3);
        assert_eq!(calls(Dialect::Chat, &[turn(Some("a")), turn(Some("b")), turn(Some("b"))].concat()), 2);
        for id in [None, Some("a")] {
            assert_eq!(calls(Dialect::Chat, &[whole(id), whole(id)]), 2, "{id:?}");
        }
        let stream = [chunk(Some("a"), None), chunk(Some("a"), Some("tool_calls")), usage];
        assert_eq!(calls(Dialect::Chat, &[&stream[..], &[whole(Some("a"))]].concat()), 1);
        assert_eq!(calls(Dialect::Chat, &[chunk(Some("a"), None), chunk(Some("b"), None)]), 1);
        assert_eq!(calls(Dialect::Chat, &[message.clone(), message]), 2);
    }

    #[test]
    fn responses_may_use_its_ids_again_in_the_next_response_and_repeat_itself_in_this_one() {
        let item = json!({"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{}"});
        let done = json!({"type": "response.output_item.done", "item": item});
        let created = |id: &str| json!({"type": "response.created", "response": {"id": id}});
        let completed =
            |id: &str| json!({"type": "response.completed", "response": {"id": id, "output": [item]}});
        let whole = json!({"id": "r", "output": [item]});
        let turn = |start: &str, end: &str| [created(start), done.clone(), completed(end)];
        assert_eq!(calls(Dialect::Responses, &[turn("a", "a"), turn("b", "b"), turn("b", "b")].concat()), 3);
        assert_eq!(calls(Dialect::Responses, &[turn("", "a"), turn("", "b")].concat()), 2);
        assert_eq!(calls(Dialect::Responses, &[completed("a"), completed("b")]), 2);
        assert_eq!(calls(Dialect::Responses, &[whole.clone(), whole]), 2);
        assert_eq!(calls(Dialect::Responses, &[item.clone(), item.clone(), completed("a")]), 3);
        let other = json!({"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{\"a\":1}"});
        let told = describe_stream(Dialect::Responses, &[json!({"id": "r", "output": [item, other]})]);
        assert!(told.contains("already has the id `c0`"), "{told}");
    }

    #[test]
    fn anthropic_may_use_its_ids_again_in_the_next_message_and_repeat_itself_in_this_one() {
        let block = json!({"type": "tool_use", "id": "t0", "name": "go", "input": {}});
        let start = |id: Option<&str>| json!({"type": "message_start", "message": {"id": id, "content": []}});
        let parts = [
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_stop"}),
        ];
        let message = |id: Option<&str>| json!({"id": id, "role": "assistant", "content": [block]});
        for id in [None, Some("m")] {
            let turn = [&[start(id)][..], &parts].concat();
            assert_eq!(calls(Dialect::Anthropic, &[turn.clone(), turn].concat()), 2, "{id:?}");
            assert_eq!(calls(Dialect::Anthropic, &[message(id), message(id)]), 2, "{id:?}");
        }
        assert_eq!(calls(Dialect::Anthropic, &[parts.clone(), parts.clone()].concat()), 2);
        assert_eq!(
            calls(Dialect::Anthropic, &[&[start(Some("m"))][..], &parts, &[message(Some("m"))]].concat()),
            1
        );
    }

    fn line(reading: &ParsedCall) -> String {
        match reading {
            ParsedCall::Call(call) => {
                let kind = match call.payload {
                    tool::ToolPayload::Function { .. } => "function",
                    tool::ToolPayload::Custom { .. } => "custom",
                    tool::ToolPayload::LocalShell(_) => "shell",
                    tool::ToolPayload::Mcp { .. } => "mcp",
                };
                format!("{} {kind} {} {}", call.id, call.name, call.payload.arguments())
            }
            ParsedCall::Fault(fault) => {
                format!("{} fault {fault}", fault.id().map_or("-", tool::CallId::as_str))
            }
        }
    }
}
