//! Parameter and result types of the session methods: initialise, start, attach, prompt, list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::{ContentItem, DynamicTool};

/// Introduces the client. It must be the first request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeParams {
    /// The protocol version of the client: 1.
    pub protocol: u32,
    /// Name and version of the client.
    pub client: ProgramIdentity,
    /// The requests that the client answers.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

/// Name and version of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "an object with a `name`")]
pub struct ProgramIdentity {
    /// The name.
    pub name: String,
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The requests that a client answers. Client tools need no capability: their client always receives `tool/invoke`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientCapabilities {
    /// The client answers `approval/request`. If no client does, calls that need an approval are refused.
    pub approvals: bool,
    /// The client answers `user/ask`.
    pub questions: bool,
}

/// The server's introduction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeResult {
    /// The protocol version.
    pub protocol: u32,
    /// Name and version of the server.
    pub server: ProgramIdentity,
    /// The limits of the server.
    pub limits: ServerLimits,
}

/// The limits of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLimits {
    /// Maximum bytes of a message.
    pub message_bytes: usize,
    /// Maximum concurrent requests of a connection.
    pub requests: usize,
    /// Maximum number of sessions.
    pub sessions: usize,
    /// Maximum number of client tools in a session.
    pub tools: usize,
    /// Maximum number of processes in a session.
    pub processes: usize,
}

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelApi {
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Anthropic,
}

/// The model of a session. API keys are read from the server's environment only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object, e.g. {\"name\": \"gpt-5\"}")]
pub struct ModelSelection {
    /// The provider's model name; by default the one in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The API; by default derived from the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<ModelApi>,
    /// The base URL of the API, e.g. `http://127.0.0.1:8080/v1`; by default the provider's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A script file that replaces the model, one JSON turn a line (docs/run.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The context length in tokens (default 200000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Maximum number of model requests in a turn (default 500).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Maximum number of input and output tokens of all requests, until the server closes the session (default: no
    /// limit).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// Starts a session. Absent members default to the user's configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionStartParams {
    /// The working directory; by default the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The sandbox mode of commands: `read-only`, `workspace-write`, `external` or `danger-full-access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The approval policy: `untrusted`, `on-failure`, `on-request`, `never`, `auto` or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The model; a session without one can only call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSelection>,
    /// MCP servers in addition to those of the configuration, each like `[mcp_servers.NAME]` there (docs/mcp.md).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, Value>,
    /// Tools that this client provides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DynamicTool>,
    /// Instructions for the model, in addition to Toolgate's and the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The built-in tools to enable; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_tools: Option<Vec<String>>,
    /// Lets the model start subagents with `spawn_agent` and its companion tools.
    pub agents: bool,
}

/// A session that was started or resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDetails {
    /// The session id.
    pub session_id: String,
    /// The path of its journal.
    pub journal: String,
    /// The working directory.
    pub cwd: String,
    /// The sandbox mode.
    pub sandbox: String,
    /// The approval policy.
    pub approval: String,
    /// The model name, if the session has a model.
    pub model: Option<String>,
    /// The names of the current tools.
    pub tools: Vec<String>,
}

/// Identifies a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRef {
    /// The session id.
    pub session_id: String,
}

/// Follows a session: the client receives all events after `cursor`, and then new ones. A session that the server does
/// not run is resumed from its journal. Calls that were running when its server died are answered
/// `interrupted; effects unknown`, and not run again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionAttachParams {
    /// The session id.
    pub session_id: String,
    /// The last event that the client has received; 0 for none.
    #[serde(default)]
    pub cursor: u64,
    /// Tools that this client provides from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DynamicTool>,
    /// The start parameters, for a session that the server does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SessionStartParams>,
}

/// A followed session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAttachResult {
    /// The session.
    #[serde(flatten)]
    pub session: SessionDetails,
    /// True if the session was resumed from its journal.
    pub resumed: bool,
    /// True if a turn is running.
    pub busy: bool,
    /// The number of the last event.
    pub cursor: u64,
}

/// Sends a prompt to the model. The response comes when the turn ends. If a turn is already running, the prompt is
/// added to it, and the response comes at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionPromptParams {
    /// The session id.
    pub session_id: String,
    /// The prompt.
    pub text: String,
    /// Images of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ContentItem>,
}

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptOutcome {
    /// The model finished.
    Done,
    /// The provider cut the response short.
    CutShort,
    /// The turn was interrupted.
    Interrupted,
    /// The turn reached its limit of model requests.
    MaxTurns,
    /// The session used up its tokens.
    OutOfBudget,
    /// The turn failed.
    Failed,
    /// The prompt was added to a running turn.
    Steered,
}

/// The result of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPromptResult {
    /// The turn id.
    pub turn_id: String,
    /// The outcome.
    pub ended: PromptOutcome,
    /// Details of an unusual outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last text of the model.
    pub text: String,
}

/// Lists sessions, newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionListParams {
    /// Maximum number of sessions (default 100, at most 1000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only sessions that the server runs.
    pub live: bool,
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionListResult {
    /// The sessions, newest first.
    pub sessions: Vec<SessionListEntry>,
}

/// The summary of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionListEntry {
    /// The session id.
    pub session_id: String,
    /// True if this server runs the session.
    pub live: bool,
    /// True if a turn is running.
    pub busy: bool,
    /// The working directory.
    pub cwd: String,
    /// The start time.
    pub started: String,
    /// The time of the last journal entry.
    pub last: String,
    /// The number of prompts.
    pub prompts: u64,
    /// The start of the first prompt.
    pub first_prompt: String,
    /// The number of tool calls.
    pub calls: u64,
}
