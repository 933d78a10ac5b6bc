//! What is said in the Agent Client Protocol, version 1, as far as we say or hear it. docs/adr/0029 has why the types are our own.
//!
//! What a newer client says beside this is passed over: the protocol adds members within a version.

use std::path::PathBuf;

use rpc::{Code, RpcFault, fitting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is spoken here.
pub(super) const VERSION: u16 = 1;

/// What the protocol has for a session or a file that is not there.
const NOT_FOUND: i64 = -32002;

/// Says that something is not there.
pub(super) fn not_found(message: String) -> RpcFault {
    RpcFault { code: NOT_FOUND, message, data: None }
}

/// A request of an editor's.
pub(super) enum Call {
    Initialize(Initialize),
    NewSession(Workplace),
    LoadSession(Earlier),
    ResumeSession(Earlier),
    ListSessions(Listing),
    CloseSession(Which),
    SetMode(SetMode),
    Prompt(Prompt),
}

impl Call {
    /// Reads a request.
    pub(super) fn read(method: &str, params: Value) -> Result<Self, RpcFault> {
        match method {
            "initialize" => fitting(params).map(Self::Initialize),
            "session/new" => fitting(params).map(Self::NewSession),
            "session/load" => fitting(params).map(Self::LoadSession),
            "session/resume" => fitting(params).map(Self::ResumeSession),
            "session/list" => fitting(params).map(Self::ListSessions),
            "session/close" => fitting(params).map(Self::CloseSession),
            "session/set_mode" => fitting(params).map(Self::SetMode),
            "session/prompt" => fitting(params).map(Self::Prompt),
            other => {
                let name = crate::screen::one_line(other);
                Err(Code::Method
                    .fault(format!("there is no method `{name}` here; docs/acp.md has those that are")))
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    pub(super) protocol_version: u16,
}

/// Where a session works, and with which servers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workplace {
    pub(super) cwd: PathBuf,
    #[serde(default)]
    pub(super) mcp_servers: Vec<McpServer>,
}

/// A session that goes on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Earlier {
    pub(super) session_id: String,
    #[serde(flatten)]
    pub(super) workplace: Workplace,
}

#[derive(Debug, Deserialize)]
pub(super) struct Listing {
    #[serde(default)]
    pub(super) cwd: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Which {
    pub(super) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetMode {
    pub(super) session_id: String,
    pub(super) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompt {
    pub(super) session_id: String,
    pub(super) prompt: Vec<Block>,
}

/// A server that the editor has. One without a `type` is a program.
#[derive(Debug, Deserialize)]
pub(super) struct McpServer {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<Pair>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Vec<Pair>,
}

/// A variable or a header.
#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) value: String,
}

/// A piece of what is said.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Block {
    Text { text: String },
    Image { data: String, mime_type: String },
    Audio {},
    ResourceLink { uri: String, name: String },
    Resource { resource: Resource },
}

impl Block {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Something that the editor has read for the model.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    pub(super) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blob: Option<String>,
}

/// What is told with `session/update`.
#[derive(Debug, Serialize)]
#[serde(tag = "sessionUpdate")]
pub(super) enum Update {
    #[serde(rename = "user_message_chunk")]
    User { content: Block },
    #[serde(rename = "agent_message_chunk")]
    Text { content: Block },
    #[serde(rename = "agent_thought_chunk")]
    Thought { content: Block },
    /// A call that is new.
    #[serde(rename = "tool_call")]
    Begun(CallView),
    /// What is new about one.
    #[serde(rename = "tool_call_update")]
    Changed(CallView),
    #[serde(rename = "plan")]
    Plan { entries: Vec<PlanEntry> },
    /// How many tokens the conversation has, and how many it may.
    #[serde(rename = "usage_update")]
    Usage { used: u64, size: u64 },
}

/// A call as an editor shows it; what is left out stays as it was.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallView {
    pub(super) tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Vec<Content>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) locations: Option<Vec<Location>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw_input: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Read,
    Edit,
    Delete,
    Search,
    Execute,
    Fetch,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What is shown of a call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content {
    Content { content: Block },
    Diff(Diff),
}

/// What becomes of a file; without an old text it is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diff {
    pub(super) path: PathBuf,
    pub(super) old_text: Option<String>,
    pub(super) new_text: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct PlanEntry {
    pub(super) content: String,
    /// Our plans have none, and the protocol wants one.
    pub(super) priority: &'static str,
    pub(super) status: String,
}

/// One answer to a question.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Choice {
    pub(super) option_id: &'static str,
    pub(super) name: String,
    pub(super) kind: &'static str,
}

/// The answer to `session/request_permission`.
#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) outcome: Outcome,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Outcome {
    Cancelled,
    Selected { option_id: String },
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
}

/// `text` in a fence that it does not close, so that an editor shows it as it is.
pub(super) fn fenced(language: &str, text: &str) -> Block {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    Block::text(format!(
        "{fence}{language}\n{}\n{fence}",
        crate::screen::visible(text.trim_end_matches('\n'))
    ))
}
