//! Listening to one response of a model: words for people as they come, calls as soon as they are complete, and at the
//! end all of it for the history.

mod anthropic;
mod chat;
mod notes;
mod responses;

use serde_json::Value;
use tool::ToolCall;

use crate::{CallReader, Dialect, ModelError, Said, Usage, WireFault};
use notes::Notes;

/// What was heard of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The next piece of its text.
    Text(String),
    /// The next piece of its thoughts, or of their summary.
    Thought(String),
    /// A complete call.
    Call(ToolCall),
    /// A call that cannot be read.
    Fault(WireFault),
    /// Something that the provider did itself, e.g. a search.
    Hosted {
        /// The provider's word for it, e.g. `web_search_call`.
        kind: String,
        /// All that it tells about it.
        item: Value,
    },
    /// What the response cost: at most once, right before its end.
    Usage(Usage),
    /// The response is over: exactly once, last of all.
    End(End),
}

/// How a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The model said all that it wanted to.
    Done,
    /// The provider stopped it.
    CutShort {
        /// The provider's word for why, e.g. `max_output_tokens`.
        why: String,
    },
    /// Something went wrong; what was heard until then may be half of it.
    Failed(ModelError),
}

/// Listens to one response, however it comes: as stream events or as a whole.
///
/// ```
/// use serde_json::json;
/// use toolgate_wire::{Dialect, End, Heard};
///
/// let mut listener = Dialect::Chat.listener();
/// let heard = listener.push(&json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}));
/// assert_eq!(heard, [Heard::Text("Hel".to_owned())]);
/// listener.push(&json!({"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]}));
/// assert_eq!(listener.finish(), [Heard::End(End::Done)]);
/// assert_eq!(listener.into_said().text(), "Hello");
/// ```
#[derive(Debug)]
pub struct Listener {
    calls: CallReader,
    ear: Ear,
    notes: Notes,
}

#[derive(Debug)]
enum Ear {
    Responses(responses::Ear),
    Chat(chat::Ear),
    Anthropic(anthropic::Ear),
}

impl Dialect {
    /// A listener for one response of the model.
    pub fn listener(self) -> Listener {
        let ear = match self {
            Self::Responses => Ear::Responses(responses::Ear::default()),
            Self::Chat => Ear::Chat(chat::Ear::default()),
            Self::Anthropic => Ear::Anthropic(anthropic::Ear::default()),
        };
        Listener { calls: CallReader::of_one_response(self), ear, notes: Notes::new(self) }
    }
}

impl Listener {
    /// Takes the next stream event, or a whole response. What comes after the end is not heard.
    pub fn push(&mut self, json: &Value) -> Vec<Heard> {
        if self.notes.is_over() {
            return Vec::new();
        }
        self.notes.readings(self.calls.push(json));
        match &mut self.ear {
            Ear::Responses(ear) => ear.hear(json, &mut self.notes),
            Ear::Chat(ear) => ear.hear(json, &mut self.notes),
            Ear::Anthropic(ear) => ear.hear(json, &mut self.notes),
        }
        if self.notes.is_ending() {
            // The end takes along what the ear and the reader still hold; how it ended is known.
            self.close();
        }
        self.notes.take()
    }

    /// Says that the stream is over, `[DONE]` or not. If the response is not, whatever is half-finished becomes a call
    /// or a fault, and the end is one that failed.
    pub fn finish(&mut self) -> Vec<Heard> {
        if self.notes.is_over() {
            return Vec::new();
        }
        let end = self.close();
        self.notes.end(end);
        self.notes.take()
    }

    /// All that was said so far.
    pub fn into_said(self) -> Said {
        self.notes.into_said()
    }

    /// Writes down what is half-finished, and says how the response ended if nothing more comes.
    fn close(&mut self) -> End {
        self.notes.readings(self.calls.finish());
        match &mut self.ear {
            Ear::Responses(ear) => ear.finish(&mut self.notes),
            Ear::Chat(ear) => ear.finish(&mut self.notes),
            Ear::Anthropic(ear) => ear.finish(&mut self.notes),
        }
    }
}

#[cfg(test)]
mod tests;
