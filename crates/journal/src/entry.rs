//! The entry kinds of a journal, one for each event of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a session. `docs/journal.md` describes every kind and every field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JournalEntry {
    /// A session starts or resumes.
    Session(SessionSettings),
    /// The user sent a message.
    Prompt {
        /// The text.
        text: String,
        /// The images of the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageDigest>,
    },
    /// The model responded.
    Said {
        /// The dialect of the items.
        wire: String,
        /// The model's raw items.
        items: Vec<Value>,
    },
    /// The model called a tool.
    Call(RecordedCall),
    /// The intent of a call, before it runs.
    Intent {
        /// The call's id.
        call: String,
        /// One sentence for each effect.
        effects: Vec<String>,
    },
    /// The verdict of the policy on the intent.
    Verdict {
        /// The call's id.
        call: String,
        /// The verdict.
        verdict: RecordedVerdict,
        /// The reasons.
        why: Vec<String>,
        /// The rule or the default that decided.
        by: String,
    },
    /// An approval was requested.
    Asked {
        /// The call's id.
        call: String,
        /// The reasons.
        why: Vec<String>,
    },
    /// An approval request was answered.
    Decided {
        /// The call's id.
        call: String,
        /// The decision, as named in `docs/pipe.md`.
        decision: String,
        /// The decider: a person, a program, or a timeout.
        by: String,
    },
    /// The call is about to touch the machine.
    Attempt {
        /// The call's id.
        call: String,
        /// The attempt number, from one. A call may be retried with more rights.
        number: u64,
        /// The confinement of the attempt.
        enforcement: String,
    },
    /// The answer to a call, as the model receives it.
    Answered(RecordedAnswer),
    /// The complete output of a call whose answer was truncated, written after the output was read to its end.
    Kept {
        /// The call's id.
        call: String,
        /// The file path.
        path: String,
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
        /// The file size in bytes.
        bytes: u64,
    },
    /// The plan was updated.
    Plan {
        /// All steps of the plan.
        steps: Vec<JournalPlanStep>,
    },
    /// The file changes of a turn.
    Diff {
        /// The diff in git's format.
        text: String,
    },
    /// The cost of a request to the model.
    Usage(RequestUsage),
    /// The conversation was compacted.
    Compacted {
        /// The summary that replaces the dropped items.
        summary: String,
        /// The number of dropped items.
        dropped: u64,
    },
    /// The session belongs to a subagent of another session.
    Agent {
        /// The path of agent names from the parent session down: `a1`, `a1/a2`.
        path: String,
        /// The parent session.
        of: String,
    },
    /// A message was added to a running turn; a prompt follows when the model reads it.
    Added {
        /// The text.
        text: String,
    },
    /// A turn ended.
    Turn {
        /// The turn id: `t` and the line number of its prompt.
        id: String,
        /// The outcome in one word, as named in `docs/run.md`.
        ended: String,
        /// Details of an unusual outcome.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A turn was interrupted.
    Interrupted {
        /// The reason.
        why: String,
    },
    /// A remark for readers of the journal.
    Notice {
        /// The text.
        text: String,
    },
    /// The session ended.
    End {
        /// The reason.
        why: String,
    },
    /// An entry of a newer program. It can be read but not written.
    #[serde(untagged)]
    Unknown(Value),
}

/// The settings with which a session starts or resumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The version of the program that writes.
    pub version: String,
    /// The working directory.
    pub cwd: String,
    /// The model name.
    pub model: String,
    /// The dialect of the model API.
    pub wire: String,
    /// The sandbox mode of commands.
    pub sandbox: String,
    /// The approval policy.
    pub approval: String,
    /// The base URL of the model API, if it is not the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The client program whose calls the session answers, if it has no model of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Set if the session resumes an earlier one.
    pub resumed: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The call id that the model chose.
    pub id: String,
    /// The tool name that the model used.
    pub tool: String,
    /// The form of the call.
    pub form: RecordedCallForm,
    /// The raw arguments.
    pub arguments: String,
    /// The MCP tool, if the tool belongs to a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<McpToolRef>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// The call's id.
    pub call: String,
    /// Set if the call succeeded.
    pub success: bool,
    /// The kind of error, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The duration in milliseconds.
    pub took_ms: u64,
    /// The text of the answer.
    pub text: String,
    /// The images of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<ImageDigest>,
    /// The file with the complete output, if the answer was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled: Option<SpilledOutput>,
    /// The accesses that the sandbox refused to the call, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// The cost of a request to the model, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Input tokens that came from the cache.
    pub cached_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Bytes of the request.
    pub request_bytes: u64,
    /// The duration of the model's response in milliseconds.
    pub model_ms: u64,
}

impl RequestUsage {
    /// Adds the usage of another request.
    pub fn add(&mut self, other: &Self) {
        let Self { input_tokens, cached_tokens, output_tokens, request_bytes, model_ms } = other;
        for (sum, more) in [
            (&mut self.input_tokens, input_tokens),
            (&mut self.cached_tokens, cached_tokens),
            (&mut self.output_tokens, output_tokens),
            (&mut self.request_bytes, request_bytes),
            (&mut self.model_ms, model_ms),
        ] {
            *sum = sum.saturating_add(*more);
        }
    }
}

impl RecordedAnswer {
    /// Returns the kind of error; `None` if the call succeeded.
    #[must_use]
    pub fn error_kind(&self) -> Option<&str> {
        if self.success { None } else { Some(self.error.as_deref().unwrap_or("unsuccessful")) }
    }
}

/// An image, identified by its hash: the journal does not contain its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageDigest {
    /// The MIME type, such as `image/png`.
    pub mime: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The size in bytes.
    pub bytes: u64,
}

/// Output that was too long for an answer and went to its own file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpilledOutput {
    /// The file path.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The file size in bytes.
    pub bytes: u64,
}

/// The tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpToolRef {
    /// The server name in the configuration.
    pub server: String,
    /// The tool name on the server.
    pub tool: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPlanStep {
    /// The description of the step.
    pub step: String,
    /// The status, such as `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// The form of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedCallForm {
    /// A function call with JSON arguments.
    Function,
    /// A call with free text.
    Custom,
    /// The shell call that some models were trained with.
    LocalShell,
    /// A call of an MCP tool, with JSON arguments.
    Mcp,
    /// A call by a client program instead of the model, with JSON arguments.
    Client,
    /// A call by a client program, with free text.
    ClientText,
}

impl RecordedCallForm {
    /// Reports whether a client program made the call, not the model.
    #[must_use]
    pub fn is_of_client(self) -> bool {
        matches!(self, Self::Client | Self::ClientText)
    }
}

/// The verdict of the policy on an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedVerdict {
    /// The call is allowed.
    Allow,
    /// The call needs an approval.
    Ask,
    /// The call is forbidden.
    Forbid,
}
