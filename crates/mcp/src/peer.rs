//! What is asked of a server, in our own words: whatever speaks the protocol is behind this.

use serde_json::{Map, Value};
use tool::BoxFuture;

/// A server that is connected.
pub(crate) trait Peer: Send + Sync {
    /// What it says about itself.
    fn about(&self) -> &About;

    /// A page of its tools.
    fn tools(&self, cursor: Option<String>) -> BoxFuture<'_, Result<Page<Listed>, Trouble>>;

    /// Calls one of them. Dropping this tells the server that nobody waits.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        progress: &'a (dyn Fn(Progress) + Send + Sync),
    ) -> BoxFuture<'a, Result<Answer, Trouble>>;

    /// A page of its resources or of its templates of them, as it describes them.
    fn resources(
        &self,
        templates: bool,
        cursor: Option<String>,
    ) -> BoxFuture<'_, Result<Page<Value>, Trouble>>;

    /// What is in a resource, as it says.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Value, Trouble>>;

    /// Whether nothing can be asked of it any more.
    fn is_over(&self) -> bool;

    /// Resolves when nothing can be asked of it any more; with why, if that was our doing.
    fn ended(&self) -> BoxFuture<'_, Option<String>>;

    /// Resolves when it says that its tools have changed.
    fn changed(&self) -> BoxFuture<'_, ()>;
}

/// What a server says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The revision of the protocol that is spoken with it.
    pub protocol: String,
    /// Its own name, which says nothing about who it is.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it has resources.
    pub resources: bool,
}

/// A part of a list.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Why some of it could not be read.
    pub(crate) unread: Vec<String>,
    /// Where the next begins.
    pub(crate) next: Option<String>,
}

/// A tool as a server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input: Value,
    pub(crate) output: Option<Value>,
    /// As it says them: `readOnlyHint` and others.
    pub(crate) annotations: Option<Value>,
}

impl Listed {
    /// Whether the server says that it changes nothing.
    pub(crate) fn reads_only(&self) -> bool {
        let hint = |name: &str| self.annotations.as_ref().and_then(|hints| hints.get(name)?.as_bool());
        hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true)
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    pub(crate) done: f64,
    pub(crate) of: Option<f64>,
    pub(crate) message: Option<String>,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<Block>,
    pub(crate) structured: Option<Value>,
    pub(crate) failed: bool,
}

/// A piece of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Text(String),
    /// Base64, as it came.
    Image {
        mime: String,
        data: String,
    },
    Audio {
        mime: String,
        data: String,
    },
    /// Something that could be read.
    Link {
        uri: String,
        name: String,
        about: Option<String>,
    },
    /// Something that was read.
    Resource {
        uri: String,
        mime: Option<String>,
        text: Option<String>,
        blob: Option<String>,
    },
    /// Something that nobody knows.
    Unknown {
        kind: String,
    },
}

/// Why a server did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// It is gone, or cannot be reached.
    #[error("{0}")]
    Gone(String),
    /// It says no.
    #[error("{message} (code {code})")]
    Refused { code: i32, message: String },
    /// What it says makes no sense.
    #[error("it does not keep to the protocol: {0}")]
    Nonsense(String),
    /// It answered too late whether it speaks the newer protocol, and so has to be asked anew.
    #[error("it took too long to say which protocol it speaks")]
    Late,
    /// It wants to know who asks, or does not let them; what a user can do about it.
    #[error("{0}")]
    Unauthorized(String),
}
