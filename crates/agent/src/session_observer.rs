//! Observer interface of a session, for a terminal or a program that reads JSON.

use std::time::Duration;

use serde_json::Value;
use tool::{ToolCall, ToolOutput};
use wire::TokenUsage;

/// An event of a turn. The engine's own events report the progress of a call.
#[derive(Debug, Clone, Copy)]
pub enum SessionEvent<'a> {
    /// A request is sent to the model.
    RequestSent {
        /// Number of the request in its turn, from 1.
        round: usize,
        /// Size of the request.
        bytes: usize,
    },
    /// The next piece of the model's text.
    Text(&'a str),
    /// The next piece of its reasoning.
    Thought(&'a str),
    /// The model calls a tool.
    Called(&'a ToolCall),
    /// The provider ran a tool of its own.
    ProviderToolRan {
        /// The provider's name for it.
        kind: &'a str,
        /// The provider's full item.
        item: &'a Value,
    },
    /// A call is answered.
    Answered(&'a ToolCall, &'a ToolOutput),
    /// The model has answered a request.
    Responded {
        /// Token usage.
        usage: TokenUsage,
        /// Time from the request to the end of the response.
        took: Duration,
    },
    /// A request failed and is retried. Text of this response so far is void.
    Retried {
        /// The reason.
        why: &'a str,
        /// Pause before the retry.
        pause: Duration,
    },
    /// The conversation was compacted.
    Compacted {
        /// Number of bytes removed.
        bytes: usize,
    },
    /// The file changes of the turn, as a git diff.
    FilesChanged(&'a str),
    /// Another message for the user.
    Notice(&'a str),
}

/// Observes a session. An observer cannot change the outcome.
pub trait SessionObserver: Send + Sync {
    /// Receives an event. Must not block for long.
    fn on_session_event(&self, seen: SessionEvent<'_>);
}

/// Ignores all events.
impl SessionObserver for () {
    fn on_session_event(&self, _: SessionEvent<'_>) {}
}
