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
use seen::{Repeats, Seen};

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
/// No id is ever reported twice, though streams repeat themselves. Use a reader for one response, or call
/// [`finish`](Self::finish) between two: some servers count their ids from zero each time.
#[derive(Debug)]
pub struct CallReader {
    state: State,
    seen: Seen,
}

#[derive(Debug)]
enum State {
    Responses(responses::Reader),
    Chat(chat::Reader),
    Anthropic(anthropic::Reader),
}

impl CallReader {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let (state, repeats) = match dialect {
            Dialect::Responses => (State::Responses(responses::Reader::default()), Repeats::Expected),
            Dialect::Chat => (State::Chat(chat::Reader::default()), Repeats::Suspect),
            Dialect::Anthropic => (State::Anthropic(anthropic::Reader::default()), Repeats::Suspect),
        };
        Self { state, seen: Seen::new(repeats) }
    }

    /// Takes the next piece of JSON: a stream event, a whole response, a message, or one item of it.
    ///
    /// What is none of these, or holds no call, gives no reading.
    pub fn push(&mut self, json: &Value) -> Vec<Reading> {
        let readings = match &mut self.state {
            State::Responses(reader) => reader.read(json),
            State::Chat(reader) => reader.read(json),
            State::Anthropic(reader) => reader.read(json),
        };
        self.admit(readings)
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
