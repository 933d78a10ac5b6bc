//! Tool methods: list and call tools, and register tools of a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool that a client answers for: when it is called, the client gets `tool/invoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `name`, `description` and `input_schema`")]
pub struct DynamicTool {
    /// What the model calls it: letters, digits, `_` and `-`, at most 128.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What its arguments are: any JSON Schema of an object. It is made plain before a model sees it, and arguments are checked against it.
    pub input_schema: Value,
    /// Whether it changes nothing. Else its calls run beside no other.
    #[serde(default)]
    pub read_only: bool,
    /// How long the client may take (60000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Gives tools to a session that runs. One of the same name, of any client, is replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRegisterParams {
    /// The session.
    pub session_id: String,
    /// The tools.
    pub tools: Vec<DynamicTool>,
}

/// Takes tools back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolUnregisterParams {
    /// The session.
    pub session_id: String,
    /// What they are called.
    pub names: Vec<String>,
}

/// The tools that clients have given to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRegisterResult {
    /// What they are called.
    pub tools: Vec<String>,
}

/// The tools of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolListResult {
    /// By their names.
    pub tools: Vec<ToolDescription>,
}

/// What is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDescription {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its arguments are; a tool without takes a text, which is its `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
}

/// Calls a tool, with no model at all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallParams {
    /// The session.
    pub session_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The text of a tool that takes one, such as `apply_patch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Makes it safe to call again: a call with a key that the session has seen is not run, and gets the answer of the first, also from a server
    /// that was started anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A piece of what is said to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentItem {
    /// Text.
    #[serde(alias = "input_text")]
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
        /// Its bytes, in base64.
        data: String,
    },
    /// A picture, as a URL with its bytes in it.
    InputImage {
        /// `data:image/png;base64,…`.
        image_url: String,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallResult {
    /// What the call is called in events.
    pub call_id: String,
    /// Whether the tool did what it should.
    pub success: bool,
    /// The kind of fault, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer, as a model would read it.
    pub content_items: Vec<ContentItem>,
    /// The answer as data, from tools that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The file that all of the output is in, if the answer has only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Whether this is the answer of an earlier call with the same key.
    #[serde(default)]
    pub repeated: bool,
}
