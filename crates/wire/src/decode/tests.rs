//! Tests of stream decoding: recorded streams, the decoded events, and the resulting history.

mod anthropic;
mod anthropic_calls;
mod call_reader;
mod chat;
mod chat_calls;
mod responses;
mod responses_calls;
mod scripted;

use serde_json::Value;
use tool::{CallId, ToolPayload};

use super::{ModelStreamEvent, ParsedCall, ResponseEnd, StreamDecoder};
use crate::{AssistantTurn, Dialect};

/// Decodes a stream that then ends. Returns the events, one a line, and the turn.
fn decode_stream(dialect: Dialect, stream: &[Value]) -> (String, AssistantTurn) {
    let mut decoder: StreamDecoder = dialect.stream_decoder();
    let mut events: Vec<ModelStreamEvent> = stream.iter().flat_map(|json| decoder.push(json)).collect();
    events.extend(decoder.finish());
    assert_eq!(decoder.finish(), [], "an end comes once");
    let lines: Vec<String> = events.iter().map(line).collect();
    (lines.join("\n"), decoder.into_turn())
}

/// Asserts for every break-off point that no call is reported twice, and that each reported call is kept.
fn check_cut_streams(dialect: Dialect, stream: &[Value]) {
    for end in 0..=stream.len() {
        let (described, turn) = decode_stream(dialect, &stream[..end]);
        let calls = described.lines().filter(|line| line.starts_with("call ") || line.starts_with("fault "));
        assert_eq!(calls.count(), turn.calls().count() + turn.unread_calls().count(), "{described}");
    }
}

/// Returns the decoded events and the resulting history items.
fn tell(dialect: Dialect, stream: &[Value]) -> String {
    let (described, turn) = decode_stream(dialect, stream);
    let items: Vec<String> = dialect.assistant_turn(&turn).iter().map(Value::to_string).collect();
    format!("{described}\n--\n{}", items.join("\n"))
}

fn line(event: &ModelStreamEvent) -> String {
    match event {
        ModelStreamEvent::Text(piece) => format!("text {piece:?}"),
        ModelStreamEvent::Thought(piece) => format!("thought {piece:?}"),
        ModelStreamEvent::Call(call) => {
            format!("call {} {} {}", call.id, call.name, call.payload.arguments())
        }
        ModelStreamEvent::Fault(fault) => format!("fault {fault}"),
        ModelStreamEvent::Hosted { kind, item } => format!("hosted {kind} {item}"),
        ModelStreamEvent::Usage(usage) => {
            format!("usage {} {} {} {}", usage.input, usage.cached, usage.output, usage.reasoning)
        }
        ModelStreamEvent::End(ResponseEnd::Done) => "done".to_owned(),
        ModelStreamEvent::End(ResponseEnd::CutShort { why }) => format!("cut short: {why}"),
        ModelStreamEvent::End(ResponseEnd::Failed(error)) => {
            format!("failed: {:?} {:?} {error}", error.code, error.retry)
        }
    }
}

/// Describes the results of a reader for a stream that then ends: one line for each result.
pub(super) fn describe_calls(dialect: Dialect, stream: &[Value]) -> String {
    let mut reader = dialect.call_reader();
    let mut readings: Vec<ParsedCall> = stream.iter().flat_map(|json| reader.push(json)).collect();
    readings.extend(reader.finish());
    let text = readings.iter().map(call_line).collect::<Vec<_>>().join("\n");
    // Removes the random part of invented ids, which differs between readers.
    let (first, rest) = text.split_once("call_toolgate_").unwrap_or((&text, ""));
    let rest = rest.split("call_toolgate_").filter_map(|id| Some(id.split_once('_')?.1));
    rest.fold(first.to_owned(), |all, id| all + "call_toolgate_" + id)
}

fn call_line(reading: &ParsedCall) -> String {
    match reading {
        ParsedCall::Call(call) => {
            let kind = match call.payload {
                ToolPayload::Function { .. } => "function",
                ToolPayload::Custom { .. } => "custom",
                ToolPayload::LocalShell(_) => "shell",
                ToolPayload::Mcp { .. } => "mcp",
            };
            format!("{} {kind} {} {}", call.id, call.name, call.payload.arguments())
        }
        ParsedCall::Fault(fault) => {
            format!("{} fault {fault}", fault.id().map_or("-", CallId::as_str))
        }
    }
}
