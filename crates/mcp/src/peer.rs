//! The interface of a connected server, independent of the protocol library.

use serde_json::{Map, Value};
use tool::BoxFuture;

/// A connected server.
pub(crate) trait ServerPeer: Send + Sync {
    /// Its self-description.
    fn about(&self) -> &ServerDescription;

    /// Returns a page of its tools.
    fn list_tools(&self, cursor: Option<String>) -> BoxFuture<'_, Result<ListPage<ListedTool>, PeerError>>;

    /// Calls a tool. Dropping the future cancels the call at the server.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        progress: &'a (dyn Fn(CallProgress) + Send + Sync),
    ) -> BoxFuture<'a, Result<CallAnswer, PeerError>>;

    /// Returns a page of its resources or resource templates, as the server describes them.
    fn list_resources(
        &self,
        templates: bool,
        cursor: Option<String>,
    ) -> BoxFuture<'_, Result<ListPage<Value>, PeerError>>;

    /// Returns the content of a resource.
    fn read_resource<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Value, PeerError>>;

    /// Returns whether the connection is closed.
    fn is_closed(&self) -> bool;

    /// Resolves when the connection is closed, with the reason if we cut it.
    fn wait_for_close(&self) -> BoxFuture<'_, Option<String>>;

    /// Resolves when the server reports that its tools have changed.
    fn wait_for_tool_change(&self) -> BoxFuture<'_, ()>;
}

/// The self-description of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerDescription {
    /// The negotiated protocol version.
    pub protocol: String,
    /// Its own name, which does not identify it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// It has resources.
    pub resources: bool,
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct ListPage<T> {
    pub(crate) items: Vec<T>,
    /// The reasons why items could not be parsed.
    pub(crate) parse_faults: Vec<String>,
    /// The cursor of the next page.
    pub(crate) next_cursor: Option<String>,
}

/// A tool as a server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    /// The server's annotations: `readOnlyHint` and others.
    pub(crate) annotations: Option<Value>,
}

impl ListedTool {
    /// Returns whether the server declares the tool read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        let hint = |name: &str| self.annotations.as_ref().and_then(|hints| hints.get(name)?.as_bool());
        hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true)
    }
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallProgress {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallAnswer {
    pub(crate) blocks: Vec<AnswerBlock>,
    pub(crate) structured: Option<Value>,
    pub(crate) failed: bool,
}

/// A content block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AnswerBlock {
    Text(String),
    /// Base64, as received.
    Image {
        mime: String,
        data: String,
    },
    Audio {
        mime: String,
        data: String,
    },
    /// A link to a resource.
    Link {
        uri: String,
        name: String,
        about: Option<String>,
    },
    /// An embedded resource.
    Resource {
        uri: String,
        mime: Option<String>,
        text: Option<String>,
        blob: Option<String>,
    },
    /// A block of unknown type.
    Unknown {
        kind: String,
    },
}

/// The reason why a server did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PeerError {
    /// It is gone or unreachable.
    #[error("{0}")]
    Gone(String),
    /// It returned an error.
    #[error("{message} (code {code})")]
    Refused { code: i32, message: String },
    /// It violates the protocol.
    #[error("it does not keep to the protocol: {0}")]
    ProtocolViolation(String),
    /// It answered the discovery probe too late, and must be started again.
    #[error("it took too long to negotiate the protocol")]
    LateDiscovery,
    /// It requires authorization, or more rights. The text is a hint for the user.
    #[error("{0}")]
    Unauthorized(String),
}
