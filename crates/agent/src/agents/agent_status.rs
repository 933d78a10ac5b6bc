//! Status of an agent, and its JSON for the model.

use serde_json::{Value, json};

/// Status of an agent, named with the words that models know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentStatus {
    /// Its session is being created.
    PendingInit,
    /// A turn runs.
    Running,
    /// Its turn was interrupted; it waits for the next message.
    Interrupted,
    /// Its turn is done, with this last message; it waits for the next message.
    Completed(String),
    /// Its turn failed.
    Errored(String),
    /// It is closed.
    Shutdown,
}

impl AgentStatus {
    /// Returns whether the status changes only after new input.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::PendingInit | Self::Running => false,
            Self::Interrupted | Self::Completed(_) | Self::Errored(_) | Self::Shutdown => true,
        }
    }

    /// Returns the JSON that the model reads.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::PendingInit => json!("pending_init"),
            Self::Running => json!("running"),
            Self::Interrupted => json!("interrupted"),
            Self::Completed(last) => json!({ "completed": last }),
            Self::Errored(why) => json!({ "errored": why }),
            Self::Shutdown => json!("shutdown"),
        }
    }
}
