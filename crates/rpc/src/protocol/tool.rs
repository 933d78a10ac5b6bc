//! Parameter and result types of the tool methods: list and call tools, and register tools of a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool that a client provides. The client receives `tool/invoke` for each call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `name`, `description` and `input_schema`")]
pub struct DynamicTool {
    /// The tool name: letters, digits, `_` and `-`, at most 128 characters, not starting with `mcp__`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments, an object. It is simplified for the model, and arguments are validated
    /// against it.
    pub input_schema: Value,
    /// True if the tool changes nothing. A call of a tool that may change something runs alone.
    #[serde(default)]
    pub read_only: bool,
    /// The time limit of the client in milliseconds (default 60000, at most 600000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Registers tools in a running session. A tool of the same name that any client registered is replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRegisterParams {
    /// The session id.
    pub session_id: String,
    /// The tools.
    pub tools: Vec<DynamicTool>,
}

/// Unregisters tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolUnregisterParams {
    /// The session id.
    pub session_id: String,
    /// The tool names.
    pub names: Vec<String>,
}

/// The client tools of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRegisterResult {
    /// The tool names.
    pub tools: Vec<String>,
}

/// The tools of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolListResult {
    /// The tools, sorted by name.
    pub tools: Vec<ToolDescription>,
}

/// The description of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDescription {
    /// The tool name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of the arguments. A tool without one takes text, its `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
}

/// Calls a tool without a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallParams {
    /// The session id.
    pub session_id: String,
    /// The tool name.
    pub tool: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The input text of a freeform tool, such as `apply_patch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Idempotency key: a call with a known key is not run again and gets the first answer, even after a restart of the
    /// server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A content item for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentItem {
    /// Text.
    #[serde(alias = "input_text")]
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
        /// Its bytes, in base64.
        data: String,
    },
    /// An image as a data URL.
    InputImage {
        /// `data:image/png;base64,…`.
        image_url: String,
    },
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DenialInfo {
    /// The reason, e.g. `outside`, `deny_read`, `may_not_write`, `may_not_connect`, `by_rule` or `unasked`.
    pub kind: String,
    /// The refusal in one sentence.
    pub message: String,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallResult {
    /// The call id in events.
    pub call_id: String,
    /// True if the call succeeded.
    pub success: bool,
    /// The kind of error, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Refusals: of the call itself, or of accesses by its command. Missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<DenialInfo>,
    /// The answer as a model reads it.
    pub content_items: Vec<ContentItem>,
    /// The answer as structured data, if the tool provides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The file with the complete output, if the answer was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The duration in milliseconds.
    pub elapsed_ms: u64,
    /// True if this is the answer to an earlier call with the same key.
    #[serde(default)]
    pub repeated: bool,
}
