//! Notifications about a session: events and deltas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something happened in a session that is followed. Every event is told, in order, and once a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEventParams {
    /// The session.
    pub session_id: String,
    /// Its number, from 1: `session/attach` goes on after it.
    pub cursor: u64,
    /// The line of the journal (docs/journal.md): `kind` says what happened.
    pub event: Map<String, Value>,
}

/// Something is happening that will be told as an event when it is over. Such news are left out for a client that reads too slowly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDeltaParams {
    /// The session.
    pub session_id: String,
    /// What.
    #[serde(flatten)]
    pub happening: SessionProgress,
}

/// What is happening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionProgress {
    /// The next piece of the model's text.
    Text {
        /// It.
        text: String,
    },
    /// The next piece of its thoughts.
    Thought {
        /// It.
        text: String,
    },
    /// The next piece of what a call's command writes.
    Output {
        /// The call.
        call_id: String,
        /// `stdout` or `stderr`.
        stream: String,
        /// It.
        text: String,
    },
    /// A call is about to run.
    Running {
        /// The call.
        call_id: String,
    },
    /// A request goes to the model.
    Request {
        /// Which one of the turn, from 1.
        number: usize,
        /// Its size.
        bytes: usize,
    },
    /// A request failed, and is sent again; the text of that response does not count.
    Retry {
        /// Why.
        why: String,
        /// When.
        pause_ms: u64,
    },
}
