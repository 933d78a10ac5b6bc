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
    Hello {
        /// Description of the server for the user.
        server: String,
    },
    /// A question.
    Question {
        /// Number of the question.
        id: u64,
        /// Returned with the answer, which counts only for the text that was shown.
        digest: String,
        /// The text that the terminal shows.
        text: String,
        /// The text that the terminal shows for the rule that could be saved.
        rule: Option<String>,
        /// Valid answers.
        choices: Vec<ApprovalChoice>,
        /// The client that keeps its form open after an answer at the terminal.
        #[serde(default)]
        form_keeper: Option<String>,
    },
    /// The client shows no form of the question, or no more.
    FormClosed {
        /// Number of the question.
        id: u64,
    },
    /// The question needs no answer any more.
    Settled {
        /// Number of the question.
        id: u64,
    },
}

/// A message of the terminal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromTerminal {
    /// The size of the terminal.
    Hello {
        /// Width in columns.
        width: usize,
        /// Height in lines.
        height: usize,
    },
    /// The user's answer.
    Answer {
        /// Number of the question.
        id: u64,
        /// Digest from the question.
        digest: String,
        /// Answer that the user chose.
        said: ApprovalAnswer,
    },
}
