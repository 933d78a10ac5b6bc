//! What a server and a terminal say to each other: JSON, a line each.

use serde::{Deserialize, Serialize};

use crate::approve::{Choice, Said};

/// The longest line.
pub(crate) const MAX_LINE: u64 = 8 << 20;

/// What a server says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToTerminal {
    /// Who it is.
    Hello { server: String },
    /// What it has to ask.
    Question {
        id: u64,
        /// Goes back with the answer: it counts for what was shown.
        digest: String,
        /// As the terminal shows it.
        text: String,
        /// What it shows of the rule that could be saved.
        rule: Option<String>,
        choices: Vec<Choice>,
    },
    /// It need not be answered any more.
    Settled { id: u64 },
}

/// What a terminal says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum FromTerminal {
    /// How large it is.
    Hello { width: usize, height: usize },
    /// What somebody said.
    Answer { id: u64, digest: String, said: Said },
}
