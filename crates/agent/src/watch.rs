//! Whoever watches a session: a terminal, a program that reads JSON.

use std::time::Duration;

use serde_json::Value;
use tool::{ToolCall, ToolOutput};
use wire::Usage;

/// What happens in a turn. What happens to a call on its way is told by the engine's own events.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// A request is on its way to the model.
    Asked {
        /// Which one of the turn, from 1.
        round: usize,
        /// Its size.
        bytes: usize,
    },
    /// The next piece of the model's text.
    Text(&'a str),
    /// The next piece of its thoughts.
    Thought(&'a str),
    /// The model calls a tool.
    Called(&'a ToolCall),
    /// The provider did something itself.
    Hosted {
        /// Its word for it.
        kind: &'a str,
        /// All that it tells.
        item: &'a Value,
    },
    /// A call is answered.
    Answered(&'a ToolCall, &'a ToolOutput),
    /// The model has answered a request.
    Responded {
        /// What it cost.
        usage: Usage,
        /// From the request to the end of the response.
        took: Duration,
    },
    /// Something went wrong, and is tried again; text of this response so far does not count.
    Retried {
        /// What.
        why: &'a str,
        /// How long is waited first.
        pause: Duration,
    },
    /// The conversation was shortened.
    Compacted {
        /// How much is gone, in bytes.
        bytes: usize,
    },
    /// What the turn changed in files, as git writes it.
    Changed(&'a str),
    /// Something else that a person should know.
    Notice(&'a str),
}

/// Watches a session. Watching cannot change an outcome.
pub trait Watch: Send + Sync {
    /// Sees something happen. Must not block for long.
    fn saw(&self, seen: Seen<'_>);
}

/// Nobody.
impl Watch for () {
    fn saw(&self, _: Seen<'_>) {}
}
