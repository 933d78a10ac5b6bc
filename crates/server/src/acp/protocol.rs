//! The messages of the Agent Client Protocol, version 1, as far as we use them.
//!
//! docs/adr/0029 explains why the types are our own. Unknown members are ignored: the protocol adds members
//! within a version.

use std::path::PathBuf;

use rpc::{RpcErrorCode, RpcFault, parse_params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The supported protocol version.
pub(super) const VERSION: u16 = 1;

/// The protocol's error code for a missing session or file.
const NOT_FOUND: i64 = -32002;

/// Creates a "not found" error.
pub(super) fn not_found(message: String) -> RpcFault {
    RpcFault { code: NOT_FOUND, message, data: None }
}

/// A request of the editor.
pub(super) enum EditorRequest {
    Initialize(InitializeRequest),
    NewSession(SessionSetup),
    LoadSession(LoadSessionRequest),
    ResumeSession(LoadSessionRequest),
    ListSessions(ListSessionsRequest),
    CloseSession(SessionIdParams),
    SetMode(SetModeRequest),
    Prompt(PromptRequest),
}

impl EditorRequest {
    /// Parses a request.
    pub(super) fn parse(method: &str, params: Value) -> Result<Self, RpcFault> {
        match method {
            "initialize" => parse_params(params).map(Self::Initialize),
            "session/new" => parse_params(params).map(Self::NewSession),
            "session/load" => parse_params(params).map(Self::LoadSession),
            "session/resume" => parse_params(params).map(Self::ResumeSession),
            "session/list" => parse_params(params).map(Self::ListSessions),
            "session/close" => parse_params(params).map(Self::CloseSession),
            "session/set_mode" => parse_params(params).map(Self::SetMode),
            "session/prompt" => parse_params(params).map(Self::Prompt),
            other => {
                let name = terminal::to_one_line(other);
                Err(RpcErrorCode::Method
                    .fault(format!("there is no method `{name}` here; docs/acp.md has those that are")))
            }
        }
    }
}

/// Parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeRequest {
    pub(super) protocol_version: u16,
}

/// The working directory and the MCP servers of a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionSetup {
    pub(super) cwd: PathBuf,
    #[serde(default)]
    pub(super) mcp_servers: Vec<EditorMcpServer>,
}

/// Parameters of `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadSessionRequest {
    pub(super) session_id: String,
    #[serde(flatten)]
    pub(super) workplace: SessionSetup,
}

/// Parameters of `session/list`.
#[derive(Debug, Deserialize)]
pub(super) struct ListSessionsRequest {
    #[serde(default)]
    pub(super) cwd: Option<PathBuf>,
}

/// Parameters of requests that only name a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionIdParams {
    pub(super) session_id: String,
}

/// Parameters of `session/set_mode`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetModeRequest {
    pub(super) session_id: String,
    pub(super) mode_id: String,
}

/// Parameters of `session/prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptRequest {
    pub(super) session_id: String,
    pub(super) prompt: Vec<ContentBlock>,
}

/// An MCP server of the editor. Without a `type` it is a program.
#[derive(Debug, Deserialize)]
pub(super) struct EditorMcpServer {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<NameValuePair>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Vec<NameValuePair>,
}

/// An environment variable or a header.
#[derive(Debug, Deserialize)]
pub(super) struct NameValuePair {
    pub(super) name: String,
    pub(super) value: String,
}

/// A content block.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum ContentBlock {
    Text { text: String },
    Image { data: String, mime_type: String },
    Audio {},
    ResourceLink { uri: String, name: String },
    Resource { resource: EmbeddedResource },
}

impl ContentBlock {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A resource whose content the editor has embedded in the prompt.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EmbeddedResource {
    pub(super) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blob: Option<String>,
}

/// The payload of `session/update`.
#[derive(Debug, Serialize)]
#[serde(tag = "sessionUpdate")]
pub(super) enum SessionUpdate {
    #[serde(rename = "user_message_chunk")]
    User { content: ContentBlock },
    #[serde(rename = "agent_message_chunk")]
    Text { content: ContentBlock },
    #[serde(rename = "agent_thought_chunk")]
    Thought { content: ContentBlock },
    /// A new call.
    #[serde(rename = "tool_call")]
    Begun(ToolCallUpdate),
    /// Changed fields of a known call.
    #[serde(rename = "tool_call_update")]
    Changed(ToolCallUpdate),
    #[serde(rename = "plan")]
    Plan { entries: Vec<PlanEntry> },
    /// The number of tokens in the conversation, and the size of the context window.
    #[serde(rename = "usage_update")]
    Usage { used: u64, size: u64 },
}

/// A tool call as an editor shows it. Omitted fields stay unchanged.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolCallUpdate {
    pub(super) tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<ToolCallKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<ToolCallStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Vec<ToolCallContent>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) locations: Option<Vec<ToolCallLocation>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw_input: Option<Value>,
}

/// The kind of a tool call, which editors show as an icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolCallKind {
    Read,
    Edit,
    Delete,
    Search,
    Execute,
    Fetch,
    Other,
}

/// The status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolCallStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// Content of a tool call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToolCallContent {
    Content { content: ContentBlock },
    Diff(EditorFileDiff),
}

/// The change of a file. A new file has no old text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditorFileDiff {
    pub(super) path: PathBuf,
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

/// A file, and optionally a line, that a tool call is about.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ToolCallLocation {
    pub(super) path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
}

/// A step of a plan.
#[derive(Debug, Serialize)]
pub(super) struct PlanEntry {
    pub(super) content: String,
    /// The protocol requires a priority; our plans have none.
    pub(super) priority: &'static str,
    pub(super) status: String,
}

/// An answer that a permission request offers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub(super) option_id: &'static str,
    pub(super) name: String,
    pub(super) kind: &'static str,
}

/// The answer to `session/request_permission`.
#[derive(Debug, Deserialize)]
pub(super) struct PermissionResponse {
    pub(super) outcome: PermissionOutcome,
}

/// The user's choice in a permission request.
#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum PermissionOutcome {
    Cancelled,
    Selected { option_id: String },
}

/// The reason for the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
}

/// Puts `text` into a code fence longer than any run of backticks in it, so that an editor shows it
/// literally.
pub(super) fn fenced_block(language: &str, text: &str) -> ContentBlock {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    ContentBlock::text(format!(
        "{fence}{language}\n{}\n{fence}",
        terminal::escape_invisible(text.trim_end_matches('\n'))
    ))
}
