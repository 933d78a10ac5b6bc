//! Requests of the server to its clients: approvals, user questions, calls of client tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tool::ContentItem;

/// Something has to be approved. Every client that follows the session and answers such requests is asked; the first answer counts, and the others
/// are told with `$/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequestParams {
    /// The session.
    pub session_id: String,
    /// Which agent asks, from the session's own down; empty for the session's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What would be done and why it is asked, as `toolgate.question` of docs/pipe.md: `call_id`, `tool`, `why`, `command`, `diff`, `choices` and more.
    pub question: Map<String, Value>,
}

/// What somebody says to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequestResult {
    /// One of the question's `choices`: `approved`, `approved_for_session`, `approved_with_rule`, `denied` or `abort`.
    pub decision: String,
    /// For the model, with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The model wants to know something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskParams {
    /// The session.
    pub session_id: String,
    /// The question.
    pub question: String,
    /// Answers to choose from; any other is possible too.
    pub options: Vec<UserAskOption>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskOption {
    /// The answer.
    pub label: String,
    /// What it would mean.
    pub description: String,
}

/// What the user says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskResult {
    /// The answer; nothing if they do not want to say.
    pub answer: Option<String>,
}

/// A tool of the client's is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolInvokeParams {
    /// The session.
    pub session_id: String,
    /// The call.
    pub call_id: String,
    /// The turn it is of; empty if a client made the call.
    pub turn_id: String,
    /// The tool.
    pub tool: String,
    /// Arguments that fit its schema.
    pub arguments: Value,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "an object with `content_items` and `success`")]
pub struct ToolInvokeResult {
    /// What the model is told.
    pub content_items: Vec<ContentItem>,
    /// Whether the tool did what it should.
    pub success: bool,
}
