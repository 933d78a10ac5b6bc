//! A tool call as the model requested it, independent of the model API.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The id that pairs a call with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Returns the id as the model wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<S: AsRef<str>> From<S> for CallId {
    fn from(id: S) -> Self {
        Self(id.as_ref().into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One call: a tool name and a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Pairs the call with its answer.
    pub id: CallId,
    /// The tool's name or one of its aliases, as the model wrote it.
    pub name: String,
    /// The arguments as sent.
    pub payload: ToolPayload,
}

impl ToolCall {
    /// Creates a function call with JSON `arguments`.
    pub fn function(id: impl Into<CallId>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let payload = ToolPayload::Function { arguments: arguments.into() };
        Self { id: id.into(), name: name.into(), payload }
    }
}

/// The form of a call, which decides how arguments are parsed and how the answer is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolPayload {
    /// An ordinary function call.
    Function {
        /// A JSON object as text, not validated.
        arguments: String,
    },
    /// A freeform call.
    Custom {
        /// The text, not validated.
        input: String,
    },
    /// The Responses API's own shell call.
    LocalShell(LocalShellCall),
    /// A call of an MCP server's tool.
    Mcp {
        /// The server as configured.
        server: String,
        /// The tool name on that server.
        tool: String,
        /// A JSON object as text, not validated.
        arguments: String,
    },
}

impl ToolPayload {
    /// Returns the arguments as text, for any payload form.
    pub fn arguments(&self) -> Cow<'_, str> {
        match self {
            Self::Function { arguments } | Self::Mcp { arguments, .. } => Cow::Borrowed(arguments),
            Self::Custom { input } => Cow::Borrowed(input),
            Self::LocalShell(shell) => Cow::Owned(shell.arguments()),
        }
    }
}

/// The contents of a `local_shell_call`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalShellCall {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The working directory of the command.
    pub workdir: Option<String>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The other fields of the action as sent, e.g. `env`. The tool accepts or rejects each of them.
    pub other_fields: Map<String, Value>,
}

impl LocalShellCall {
    fn arguments(&self) -> String {
        let mut arguments = self.other_fields.clone();
        arguments.entry("command").or_insert_with(|| json!(self.command));
        if let Some(workdir) = &self.workdir {
            arguments.insert("workdir".to_owned(), json!(workdir));
        }
        if let Some(timeout) = self.timeout_ms {
            arguments.insert("timeout_ms".to_owned(), json!(timeout));
        }
        Value::Object(arguments).to_string()
    }

    /// Returns the action in the Responses API's JSON form.
    pub fn to_action_json(&self) -> Value {
        let mut action = self.other_fields.clone();
        action.entry("type").or_insert_with(|| json!("exec"));
        action.entry("command").or_insert_with(|| json!(self.command));
        if let Some(workdir) = &self.workdir {
            action.insert("working_directory".to_owned(), json!(workdir));
        }
        if let Some(timeout) = self.timeout_ms {
            action.insert("timeout_ms".to_owned(), json!(timeout));
        }
        Value::Object(action)
    }
}
