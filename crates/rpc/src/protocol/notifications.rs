//! Parameter types of the notifications about a session: events and deltas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An event of a followed session. Each connection receives every event once, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEventParams {
    /// The session id.
    pub session_id: String,
    /// The event number, from 1. `session/attach` continues after it.
    pub cursor: u64,
    /// The journal line (docs/journal.md); `kind` is the event type.
    pub event: Map<String, Value>,
}

/// The progress of an action that becomes an event when it ends. A client that reads too slowly does not receive all
/// deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDeltaParams {
    /// The session id.
    pub session_id: String,
    /// The progress.
    #[serde(flatten)]
    pub happening: SessionProgress,
}

/// The progress of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionProgress {
    /// A delta of the model's text.
    Text {
        /// The text.
        text: String,
    },
    /// A delta of the model's reasoning.
    Thought {
        /// The text.
        text: String,
    },
    /// A delta of a command's output.
    Output {
        /// The call id.
        call_id: String,
        /// `stdout` or `stderr`.
        stream: String,
        /// The text.
        text: String,
    },
    /// A call is about to run.
    Running {
        /// The call id.
        call_id: String,
    },
    /// A request is sent to the model.
    Request {
        /// The number of the request in the turn, from 1.
        number: usize,
        /// The size of the request in bytes.
        bytes: usize,
    },
    /// A request failed and is retried; discard the text of that response.
    Retry {
        /// The reason.
        why: String,
        /// The delay before the retry in milliseconds.
        pause_ms: u64,
    },
}
