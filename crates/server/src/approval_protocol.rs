//! The protocol between a server and an approving terminal: JSON, one message per line.

use serde::{Deserialize, Serialize};

use session::approval::{ApprovalAnswer, ApprovalChoice};

/// Maximum length of a line in bytes.
pub const MAX_LINE_BYTES: u64 = 8 << 20;

/// A message of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToTerminal {
    /// The description of the server.
    Hello { server: String },
    /// A question.
    Question {
        id: u64,
        /// Returned with the answer, which counts only for the text that was shown.
        digest: String,
        /// The text that the terminal shows.
        text: String,
        /// The text that the terminal shows for the rule that could be saved.
        rule: Option<String>,
        choices: Vec<ApprovalChoice>,
    },
    /// The question needs no answer any more.
    Settled { id: u64 },
}

/// A message of the terminal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromTerminal {
    /// The size of the terminal.
    Hello { width: usize, height: usize },
    /// The user's answer.
    Answer { id: u64, digest: String, said: ApprovalAnswer },
}
