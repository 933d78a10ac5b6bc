//! Tests of stream decoding: recorded streams, the decoded events, and the resulting history.

mod anthropic;
mod chat;
mod responses;
mod scripted;

use serde_json::Value;

use super::{ModelStreamEvent, ResponseEnd, StreamDecoder};
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
