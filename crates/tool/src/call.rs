//! A model's request, in our words.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The name under which the model expects the answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

impl CallId {
    /// The id as the model wrote it.
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

/// One call: which tool, with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Pairs the call with its answer.
    pub id: CallId,
    /// The tool's name or one of its aliases, as the model wrote it.
    pub name: String,
    /// What the model sent along.
    pub payload: ToolPayload,
}

impl ToolCall {
    /// A function call with JSON `arguments`.
    pub fn function(id: impl Into<CallId>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let payload = ToolPayload::Function { arguments: arguments.into() };
        Self { id: id.into(), name: name.into(), payload }
    }
}

/// How the call was made, which decides how its arguments are read and its answer is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolPayload {
    /// An ordinary function call.
    Function {
        /// A JSON object as text, unchecked.
        arguments: String,
    },
    /// A freeform call.
    Custom {
        /// The text, unchecked.
        input: String,
    },
    /// The Responses API's own shell call.
    LocalShell(LocalShell),
    /// A call of a tool that an MCP server offers.
    Mcp {
        /// The server as configured.
        server: String,
        /// The tool as that server names it.
        tool: String,
        /// A JSON object as text, unchecked.
        arguments: String,
    },
}

impl ToolPayload {
    /// The arguments as JSON text, whichever way they came.
    pub fn arguments(&self) -> Cow<'_, str> {
        match self {
            Self::Function { arguments } | Self::Mcp { arguments, .. } => Cow::Borrowed(arguments),
            Self::Custom { input } => Cow::Borrowed(input),
            Self::LocalShell(shell) => Cow::Owned(shell.arguments()),
        }
    }
}

/// What a `local_shell_call` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalShell {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where to run it.
    pub workdir: Option<String>,
    /// When to give up.
    pub timeout_ms: Option<u64>,
    /// The other fields of its action as they came, e.g. `env`: the tool takes or refuses each of them.
    pub more: Map<String, Value>,
}

impl LocalShell {
    fn arguments(&self) -> String {
        let mut arguments = self.more.clone();
        arguments.entry("command").or_insert_with(|| json!(self.command));
        if let Some(workdir) = &self.workdir {
            arguments.insert("workdir".to_owned(), json!(workdir));
        }
        if let Some(timeout) = self.timeout_ms {
            arguments.insert("timeout_ms".to_owned(), json!(timeout));
        }
        Value::Object(arguments).to_string()
    }

    /// The action as the Responses API spells it.
    pub fn action(&self) -> Value {
        let mut action = self.more.clone();
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
