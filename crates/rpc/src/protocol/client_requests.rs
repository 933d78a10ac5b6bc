//! Parameter and result types of requests to clients: approvals, user questions, calls of client tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tool::ContentItem;

/// Requests an approval. Every client that follows the session and has the `approvals` capability is asked. The first
/// answer counts, and the other requests are cancelled with `$/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequestParams {
    /// The session id.
    pub session_id: String,
    /// The path of the subagent that asks; empty for the session's own agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The intended action and the reasons for the question, as `toolgate.question` in docs/pipe.md: `call_id`, `tool`,
    /// `why`, `command`, `diff`, `choices` and more.
    pub question: Map<String, Value>,
}

/// The decision on an approval request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequestResult {
    /// One of the question's `choices`: `approved`, `approved_for_session`, `approved_with_rule`, `denied` or `abort`.
    pub decision: String,
    /// A note for the model, with a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A question of the model to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskParams {
    /// The session id.
    pub session_id: String,
    /// The question.
    pub question: String,
    /// Suggested answers; other answers are possible too.
    pub options: Vec<UserAskOption>,
}

/// A suggested answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskOption {
    /// The answer.
    pub label: String,
    /// The consequence of choosing it.
    pub description: String,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserAskResult {
    /// The answer; absent if the user declines to answer.
    pub answer: Option<String>,
}

/// Calls a tool that the client registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolInvokeParams {
    /// The session id.
    pub session_id: String,
    /// The call id.
    pub call_id: String,
    /// The turn of the call; empty if a client made the call.
    pub turn_id: String,
    /// The tool name.
    pub tool: String,
    /// Arguments that match the tool's schema.
    pub arguments: Value,
}

/// The result of a client tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "an object with `content_items` and `success`")]
pub struct ToolInvokeResult {
    /// The content for the model.
    pub content_items: Vec<ContentItem>,
    /// True if the call succeeded.
    pub success: bool,
}
