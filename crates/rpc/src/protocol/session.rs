//! Session methods: initialise, start, attach, prompt, list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::{ContentItem, DynamicTool};

/// Says who is there. It comes first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeParams {
    /// The version of the protocol that the client speaks: 1.
    pub protocol: u32,
    /// Who the client is.
    pub client: ProgramIdentity,
    /// What it can be asked.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

/// A program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "an object with a `name`")]
pub struct ProgramIdentity {
    /// What it is called.
    pub name: String,
    /// Which version of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a client can be asked. Tools of its own need none of these: whoever registers one answers for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientCapabilities {
    /// It answers `approval/request`. Where no client does, what would be asked is refused.
    pub approvals: bool,
    /// It answers `user/ask`.
    pub questions: bool,
}

/// Who answers, and within which bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeResult {
    /// The version of the protocol.
    pub protocol: u32,
    /// The server.
    pub server: ProgramIdentity,
    /// Its bounds.
    pub limits: ServerLimits,
}

/// How much there may be of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLimits {
    /// Bytes of a message.
    pub message_bytes: usize,
    /// Requests of one connection that are under way at a time.
    pub requests: usize,
    /// Sessions of the server.
    pub sessions: usize,
    /// Tools that clients give to one session.
    pub tools: usize,
    /// Processes of one session.
    pub processes: usize,
}

/// How a model is spoken to.
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

/// Which model a session has. Keys are read from the server's environment and nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object, e.g. {\"name\": \"gpt-5\"}")]
pub struct ModelSelection {
    /// What the provider calls it; by default what the configuration names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which API; by default what the name suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<ModelApi>,
    /// Where the API is, e.g. `http://127.0.0.1:8080/v1`; by default the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A file that plays the model, one JSON turn a line (docs/run.md), instead of one behind a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Tokens that it can read (200000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Requests to it in one turn (500).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// Begins a session. What is left out is as the user's configuration has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionStartParams {
    /// The directory to work in; by default the server's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What commands may do: `read-only`, `workspace-write`, `external` or `danger-full-access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// When somebody is asked: `untrusted`, `on-failure`, `on-request`, `never`, `auto` or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The model; without one the session has tools alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSelection>,
    /// MCP servers beside those of the configuration, each as `[mcp_servers.NAME]` has it there (docs/mcp.md).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, Value>,
    /// Tools that this client answers for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DynamicTool>,
    /// What the model is told beside our own words and the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Of the tools that come with Toolgate, only these; all if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_tools: Option<Vec<String>>,
    /// Whether the model may start other agents: gives it `spawn_agent` and what belongs to it.
    pub agents: bool,
}

/// A session that has begun, or goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDetails {
    /// What it is called.
    pub session_id: String,
    /// Its journal.
    pub journal: String,
    /// Where it works.
    pub cwd: String,
    /// What commands may do.
    pub sandbox: String,
    /// When somebody is asked.
    pub approval: String,
    /// What its model is called, if it has one.
    pub model: Option<String>,
    /// The tools there are now.
    pub tools: Vec<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRef {
    /// What it is called.
    pub session_id: String,
}

/// Follows a session: everything that happened after `cursor` is told, and then what happens. If the server does not have it, it goes on from
/// its journal: calls that were running when its server died are answered `interrupted; effects unknown`, and not run again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionAttachParams {
    /// What it is called.
    pub session_id: String,
    /// The last event that the client has seen; 0 for none.
    #[serde(default)]
    pub cursor: u64,
    /// Tools that this client answers for from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DynamicTool>,
    /// What it was started with, for a session that the server does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SessionStartParams>,
}

/// A session that is followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAttachResult {
    /// The session.
    #[serde(flatten)]
    pub session: SessionDetails,
    /// Whether it went on from its journal.
    pub resumed: bool,
    /// Whether a turn runs.
    pub busy: bool,
    /// The last event there is.
    pub cursor: u64,
}

/// Asks the model for something. The answer comes when it is done. While a turn runs, the text is added to what was asked, and the answer comes at
/// once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionPromptParams {
    /// The session.
    pub session_id: String,
    /// What is asked for.
    pub text: String,
    /// Pictures that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ContentItem>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptOutcome {
    /// The model is done.
    Done,
    /// Its provider cut it short.
    CutShort,
    /// Somebody stopped it.
    Interrupted,
    /// It took as many requests as it may.
    MaxTurns,
    /// It could not go on.
    Failed,
    /// A turn runs, and was told.
    Steered,
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPromptResult {
    /// What the turn is called.
    pub turn_id: String,
    /// How it ended.
    pub ended: PromptOutcome,
    /// More of that, if it was not as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What the model said last.
    pub text: String,
}

/// Asks which sessions there are, the newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionListParams {
    /// How many at the most (100).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only those that the server has.
    pub live: bool,
}

/// Sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionListResult {
    /// The newest first.
    pub sessions: Vec<SessionListEntry>,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionListEntry {
    /// What it is called.
    pub session_id: String,
    /// Whether this server has it.
    pub live: bool,
    /// Whether a turn runs.
    pub busy: bool,
    /// Where it works.
    pub cwd: String,
    /// When it began.
    pub started: String,
    /// When something was last written to its journal.
    pub last: String,
    /// How often the model was asked for something.
    pub prompts: u64,
    /// The beginning of what it was asked for first.
    pub first_prompt: String,
    /// How many tools were called.
    pub calls: u64,
}
