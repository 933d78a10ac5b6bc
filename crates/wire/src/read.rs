//! What a model sent → calls: one reader for streams, whole responses and single items.

mod anthropic;
mod chat;
mod draft;
mod local_shell;
mod responses;
mod scan;
mod seen;

use serde_json::Value;
use tool::ToolCall;

use crate::{Dialect, WireFault};
use seen::Seen;

/// What a reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A complete call.
    Call(ToolCall),
    /// A call that cannot be read.
    Fault(WireFault),
}

/// Reads the calls out of one response of a model, however it comes: as stream events, as a whole, or as its items.
///
/// Within a response no id is reported twice, though streams repeat themselves. A new response may use the ids of the
/// last one again, as some servers do; it is told by its own id, or by [`finish`](Self::finish). An item or a message
/// that comes alone, with no named response around it, is always reported: nothing repeats those but their sender.
#[derive(Debug)]
pub struct CallReader {
    state: State,
    seen: Seen,
    /// The response that the last event belonged to.
    response: Option<String>,
}

#[derive(Debug)]
enum State {
    Responses(responses::Reader),
    Chat(chat::Reader),
    Anthropic(anthropic::Reader),
}

impl CallReader {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let state = match dialect {
            Dialect::Responses => State::Responses(responses::Reader::default()),
            Dialect::Chat => State::Chat(chat::Reader::default()),
            Dialect::Anthropic => State::Anthropic(anthropic::Reader::default()),
        };
        Self { state, seen: Seen::default(), response: None }
    }

    /// Takes the next piece of JSON: a stream event, a whole response, a message, or one item of it.
    ///
    /// What is none of these, or holds no call, gives no reading.
    pub fn push(&mut self, json: &Value) -> Vec<Reading> {
        let mut before = if self.begins_another(json) { self.finish() } else { Vec::new() };
        let readings = match &mut self.state {
            State::Responses(reader) => reader.read(json),
            State::Chat(reader) => reader.read(json),
            State::Anthropic(reader) => reader.read(json),
        };
        if self.is_alone(json) {
            readings.iter().for_each(|reading| self.seen.forget(reading));
        }
        before.extend(self.admit(readings));
        before
    }

    /// Whether `json` belongs to another response than what came before it.
    fn begins_another(&mut self, json: &Value) -> bool {
        let Some(id) = self.response_id(json) else { return false };
        let id = id.to_owned();
        let last = self.response.replace(id.clone());
        // Some proxies give every chunk an id of its own: a call that is open goes on all the same.
        let idle = match &self.state {
            State::Chat(reader) => reader.is_idle(),
            State::Responses(_) | State::Anthropic(_) => true,
        };
        idle && last.is_some_and(|last| last != id)
    }

    /// What the response calls itself, where it does.
    fn response_id<'a>(&self, json: &'a Value) -> Option<&'a str> {
        let id = match self.state {
            State::Responses(_) if json["output"].is_array() => &json["id"],
            State::Responses(_) => &json["response"]["id"],
            State::Anthropic(_) if json["content"].is_array() => &json["id"],
            State::Anthropic(_) => &json["message"]["id"],
            State::Chat(_) if json["choices"].is_array() => &json["id"],
            State::Chat(_) => &Value::Null,
        };
        id.as_str()
    }

    /// Whether `json` is an item or a message with nothing around it that could repeat it.
    fn is_alone(&self, json: &Value) -> bool {
        let named = self.response_id(json).is_some();
        match self.state {
            State::Responses(_) => match json["type"].as_str() {
                Some("function_call" | "custom_tool_call" | local_shell::TYPE) => true,
                Some(_) | None => json["output"].is_array() && !named,
            },
            State::Anthropic(_) => json["type"] == "tool_use" || (json["content"].is_array() && !named),
            State::Chat(_) => !json["choices"].is_array(),
        }
    }

    /// Says that the stream has ended: whatever is half-finished becomes a call, if all of it came, or a fault.
    pub fn finish(&mut self) -> Vec<Reading> {
        let readings = match &mut self.state {
            State::Responses(reader) => reader.finish(),
            State::Chat(reader) => reader.finish(),
            State::Anthropic(reader) => reader.finish(),
        };
        let readings = self.admit(readings);
        self.seen.clear();
        readings
    }

    fn admit(&mut self, readings: Vec<Reading>) -> Vec<Reading> {
        readings.into_iter().filter_map(|reading| self.seen.admit(reading)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader says about a stream that then ends: one line for every reading.
    pub(super) fn tell(dialect: Dialect, stream: &[Value]) -> String {
        let mut reader = dialect.reader();
        let mut readings: Vec<Reading> = stream.iter().flat_map(|json| reader.push(json)).collect();
        readings.extend(reader.finish());
        readings.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_next_response_may_use_the_same_ids() {
        let chunk = |id: &str| {
            let call =
                serde_json::json!({"index": 0, "id": "c0", "function": {"name": "go", "arguments": "{}"}});
            let choice = serde_json::json!({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"});
            serde_json::json!({"id": id, "choices": [choice]})
        };
        assert_eq!(tell(Dialect::Chat, &[chunk("a"), chunk("a"), chunk("b")]).lines().count(), 2);
        let item =
            serde_json::json!({"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{}"});
        let done = serde_json::json!({"type": "response.output_item.done", "item": item});
        let completed =
            serde_json::json!({"type": "response.completed", "response": {"id": "r1", "output": [item]}});
        let created = |id: &str| serde_json::json!({"type": "response.created", "response": {"id": id}});
        let stream = [created("r1"), done.clone(), completed, created("r2"), done];
        assert_eq!(tell(Dialect::Responses, &stream).lines().count(), 2);
        assert_eq!(tell(Dialect::Responses, &[item.clone(), item.clone()]).lines().count(), 2);
        let message = serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "go", "input": {}}]});
        assert_eq!(tell(Dialect::Anthropic, &[message.clone(), message]).lines().count(), 2);
        let call = serde_json::json!({"id": "c0", "function": {"name": "go", "arguments": "{}"}});
        let message = serde_json::json!({"role": "assistant", "tool_calls": [call]});
        assert_eq!(tell(Dialect::Chat, &[message.clone(), message]).lines().count(), 2);
        let twice = serde_json::json!({"id": "r3", "output": [item, {"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{\"other\":1}"}]});
        assert!(tell(Dialect::Responses, &[twice]).contains("already has the id `c0`"));
        // Items that came alone are not run again when the whole response follows.
        let other =
            serde_json::json!({"type": "function_call", "call_id": "c1", "name": "go", "arguments": "{}"});
        let completed =
            serde_json::json!({"type": "response.completed", "response": {"output": [item, other]}});
        assert_eq!(tell(Dialect::Responses, &[item, other, completed]).lines().count(), 2);
    }

    fn line(reading: &Reading) -> String {
        match reading {
            Reading::Call(call) => {
                let kind = match call.payload {
                    tool::ToolPayload::Function { .. } => "function",
                    tool::ToolPayload::Custom { .. } => "custom",
                    tool::ToolPayload::LocalShell(_) => "shell",
                    tool::ToolPayload::Mcp { .. } => "mcp",
                };
                format!("{} {kind} {} {}", call.id, call.name, call.payload.arguments())
            }
            Reading::Fault(fault) => {
                format!("{} fault {fault}", fault.id().map_or("-", tool::CallId::as_str))
            }
        }
    }
}
