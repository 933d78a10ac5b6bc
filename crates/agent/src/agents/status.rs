//! How far an agent is.

use serde_json::{Value, json};

/// How far an agent is, in the words that models know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Its session is being made.
    PendingInit,
    /// It works.
    Running,
    /// It was stopped, and waits for what it is told next.
    Interrupted,
    /// It is done, and said this; it waits for what it is told next.
    Completed(String),
    /// It could not go on.
    Errored(String),
    /// It was closed.
    Shutdown,
}

impl Status {
    /// Whether nothing more comes of it by itself.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::PendingInit | Self::Running => false,
            Self::Interrupted | Self::Completed(_) | Self::Errored(_) | Self::Shutdown => true,
        }
    }

    /// As a model reads it.
    pub(crate) fn told(&self) -> Value {
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
