//! The interface of a program whose tools are served, independent of the protocol library.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tool::{BoxFuture, OutputItem, ToolOutput};

/// A program with tools for MCP clients.
pub trait ToolHost: Send + Sync + 'static {
    /// Its self-description.
    fn identity(&self) -> HostIdentity;

    /// Its tools, in a stable order.
    fn tools(&self) -> Vec<HostTool>;

    /// Starts a call. The call runs by itself, and is cancelled when the returned value is dropped.
    fn start(&self, call: HostCall) -> Box<dyn RunningCall>;

    /// The only client has left: running calls are about to be cancelled, and no question may be answered any more.
    fn on_client_left(&self) {}

    /// Returns this host for the client's directories; `None` if it stays in its own.
    fn for_roots(&self, _roots: &[PathBuf]) -> Option<Arc<dyn ToolHost>> {
        None
    }

    /// Its features besides tools.
    fn features(&self) -> HostFeatures {
        HostFeatures::default()
    }

    /// Answers a request about another feature, with the result as protocol JSON.
    fn request_feature(&self, _request: FeatureRequest) -> Result<Value, FeatureFault> {
        Err(FeatureFault::NoSuchMethod)
    }
}

/// The self-description of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostIdentity {
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// Instructions for the model before its first call.
    pub instructions: Option<String>,
}

/// A tool as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTool {
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: Option<String>,
    /// Its description, for the model.
    pub description: String,
    /// Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// Schema of its structured answers, if every answer has one.
    pub output_schema: Option<Map<String, Value>>,
    /// Hints that hold for every call of it; `None` if unknown.
    pub hints: Option<ToolHints>,
}

/// Hints that hold for every call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or overwrite existing data.
    pub destructive: bool,
    /// Repeating a call has no further effect.
    pub idempotent: bool,
    /// It may contact other machines.
    pub open_world: bool,
}

/// A call of a client.
#[derive(Debug, Clone)]
pub struct HostCall {
    /// The tool.
    pub tool: String,
    /// The arguments, unchecked.
    pub arguments: Map<String, Value>,
    /// The client.
    pub client: CallingClient,
}

/// The client of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallingClient {
    /// Its name, as it reports it.
    pub name: Option<String>,
    /// Its user can be asked with a form.
    pub supports_forms: bool,
    /// A form that it shows stays until its user closes it: the stateless era cannot cancel a request for input.
    pub keeps_forms: bool,
    /// It wants progress updates.
    pub wants_progress: bool,
}

/// A running call. Dropping it cancels the call.
pub trait RunningCall: Send {
    /// Waits for the next step. Cancel-safe; nothing follows [`CallStep::Done`].
    fn next(&mut self) -> BoxFuture<'_, CallStep>;
}

/// The next step of a call.
pub enum CallStep {
    /// An update.
    Update(CallUpdate),
    /// A request for input from the client.
    RequestInput(ClientInputBatch),
    /// The end: the client lacks a capability that the call requires.
    MissingCapability(ClientInput),
    /// The answer.
    Done(HostReply),
}

/// An update of a running call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallUpdate {
    /// Progress.
    Progress {
        /// Grows with every update.
        done: f64,
        /// The final value of `done`, if it is known.
        total: Option<f64>,
        /// A description.
        text: Option<String>,
    },
    /// A log line, for clients of the older era.
    Log {
        /// E.g. `info`.
        level: String,
        /// The logged data.
        data: Value,
    },
}

/// Requests of a call for input from its client.
pub struct ClientInputBatch {
    /// The requests, by names that the host chooses.
    pub requests: BTreeMap<String, ClientInput>,
    /// Takes the answers under the same names, without those that the client does not support. The host drops the
    /// receiver if it no longer needs them.
    pub answer: oneshot::Sender<BTreeMap<String, Value>>,
}

/// One request for input from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientInput {
    /// Values for a form: answered with `action` and `content`.
    Form {
        /// The message for the user.
        message: String,
        /// A flat schema.
        schema: Value,
    },
    /// A message of the client's model, as protocol JSON.
    Sample(Value),
    /// The client's workspace directories.
    Roots,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReply {
    /// The content for the model, in order.
    pub pieces: Vec<ReplyPiece>,
    /// The answer as data, which a client may show to a model instead of the pieces.
    pub structured: Option<Value>,
    /// Data for programs, which clients do not show to a model: in `_meta`, as [`DATA_META_KEY`].
    pub data: Option<Value>,
    /// The tool did not do its task.
    pub failed: bool,
}

/// The key of `_meta` for the data for programs.
pub const DATA_META_KEY: &str = "toolgate/data";

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPiece {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// E.g. `image/png`.
        mime: String,
        /// The encoded file.
        bytes: Vec<u8>,
    },
    /// Any other content, as protocol JSON.
    Other(Value),
}

impl From<ToolOutput> for HostReply {
    fn from(output: ToolOutput) -> Self {
        let pieces = output.items.into_iter().map(|item| match item {
            OutputItem::Text(text) => ReplyPiece::Text(text),
            OutputItem::Image(image) => ReplyPiece::Image { mime: image.mime.to_owned(), bytes: image.bytes },
        });
        Self { pieces: pieces.collect(), structured: output.structured, data: None, failed: !output.success }
    }
}

/// The features of a host besides tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostFeatures {
    /// Prompts.
    pub prompts: bool,
    /// Resources.
    pub resources: bool,
    /// Argument completions.
    pub completions: bool,
    /// Log lines, in the older era.
    pub logging: bool,
}

/// A request about a feature other than tools.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRequest {
    /// E.g. `resources/read`.
    pub method: &'static str,
    /// The parameters, as protocol JSON.
    pub params: Value,
}

/// The reason why such a request fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureFault {
    /// The host does not have the feature.
    #[error("this server does not have that feature")]
    NoSuchMethod,
    /// The resource does not exist.
    #[error("there is no resource `{uri}`")]
    NoSuchResource {
        /// As requested.
        uri: String,
    },
    /// The parameters are invalid.
    #[error("{0}")]
    BadParams(String),
}
