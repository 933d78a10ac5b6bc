//! What is served, in our own words: whatever speaks the protocol is on the other side of this.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tool::{BoxFuture, Item, ToolOutput};

/// A program with tools for others.
pub trait Host: Send + Sync + 'static {
    /// What it says about itself.
    fn identity(&self) -> Identity;

    /// Its tools, in an order that stays.
    fn tools(&self) -> Vec<Offer>;

    /// Starts a call. It goes on by itself, and is given up when what comes back is dropped.
    fn start(&self, call: Call) -> Box<dyn Running>;

    /// The same host where a client works; `None` if it stays where it is.
    fn at(&self, _roots: &[PathBuf]) -> Option<Arc<dyn Host>> {
        None
    }

    /// What it has beside tools.
    fn extras(&self) -> Extras {
        Extras::default()
    }

    /// Answers a request about what it has beside tools, with the result as the protocol writes it.
    fn extra(&self, _request: Extra) -> Result<Value, ExtraFault> {
        Err(ExtraFault::NoSuchMethod)
    }
}

/// What a server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What a model should know before it calls anything.
    pub instructions: Option<String>,
}

/// A tool as a client is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// What its arguments look like.
    pub input: Map<String, Value>,
    /// What the data of its answers looks like, if every answer has some.
    pub output: Option<Map<String, Value>>,
    /// What may be said of every call of it; nothing if nobody knows.
    pub hints: Option<Hints>,
}

/// What may be said of every call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or overwrite what was there.
    pub destructive: bool,
    /// Twice is the same as once.
    pub idempotent: bool,
    /// It may talk to others than this machine.
    pub open_world: bool,
}

/// A call that a client makes.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What it is called with, unchecked.
    pub arguments: Map<String, Value>,
    /// Whose call it is.
    pub client: Client,
}

/// What is known about whoever calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name, as it says.
    pub name: Option<String>,
    /// Whether its user can be asked with a form.
    pub takes_forms: bool,
    /// Whether it wants to hear how far a call is.
    pub wants_progress: bool,
}

/// A call on its way. Dropping it gives it up.
pub trait Running: Send {
    /// Waits for what it does next. Safe to drop and call again; nothing comes after [`Step::Done`].
    fn next(&mut self) -> BoxFuture<'_, Step>;
}

/// What a call does next.
pub enum Step {
    /// It says something.
    Tell(Tell),
    /// It wants something from the client.
    Ask(Ask),
    /// It is over: there is nothing to be done for a client that cannot be asked for this.
    Needs(Request),
    /// It is answered.
    Done(Reply),
}

/// What a call says while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Tell {
    /// How far it is.
    Progress {
        /// Grows with every one of them.
        done: f64,
        /// What `done` will be in the end, if that is known.
        total: Option<f64>,
        /// In words.
        text: Option<String>,
    },
    /// A line for a log, of a server of the older era.
    Log {
        /// E.g. `info`.
        level: String,
        /// What there is to log.
        data: Value,
    },
}

/// What a call wants from its client.
pub struct Ask {
    /// Each under a name of the host's choice.
    pub requests: BTreeMap<String, Request>,
    /// Takes the answers under the same names; those that the client cannot be asked for are left out. Whoever drops the
    /// other end does not want them any more.
    pub answer: oneshot::Sender<BTreeMap<String, Value>>,
}

/// One thing that a call wants from its client.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Values for a form: answered with `action` and `content`.
    Form {
        /// What the user reads.
        message: String,
        /// A flat schema.
        schema: Value,
    },
    /// A message of the client's model, as the protocol writes it.
    Sample(Value),
    /// Where the client works.
    Roots,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model reads, in order.
    pub pieces: Vec<Piece>,
    /// The answer as data, which a client may show a model in place of the pieces.
    pub structured: Option<Value>,
    /// Data for programs, which no client shows a model: in `_meta`, as [`DATA`].
    pub data: Option<Value>,
    /// Whether the tool did not do what was asked.
    pub failed: bool,
}

/// The key of `_meta` that holds the data of an answer for programs.
pub const DATA: &str = "toolgate/data";

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// E.g. `image/png`.
        mime: String,
        /// The encoded file.
        bytes: Vec<u8>,
    },
    /// Anything else, as the protocol writes it.
    Other(Value),
}

impl From<ToolOutput> for Reply {
    fn from(output: ToolOutput) -> Self {
        let pieces = output.items.into_iter().map(|item| match item {
            Item::Text(text) => Piece::Text(text),
            Item::Image(image) => Piece::Image { mime: image.mime.to_owned(), bytes: image.bytes },
        });
        Self { pieces: pieces.collect(), structured: output.structured, data: None, failed: !output.success }
    }
}

/// What a host has beside tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// Prompts.
    pub prompts: bool,
    /// Resources.
    pub resources: bool,
    /// Values to complete arguments with.
    pub completions: bool,
    /// Lines for a log, in the older era.
    pub logging: bool,
}

/// A request about what a host has beside tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// E.g. `resources/read`.
    pub method: &'static str,
    /// As the protocol writes it.
    pub params: Value,
}

/// Why there is no answer to such a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtraFault {
    /// The host has nothing of the kind.
    #[error("there is nothing of the kind here")]
    NoSuchMethod,
    /// There is no such resource.
    #[error("there is no resource `{uri}`")]
    NoSuchResource {
        /// As it was asked for.
        uri: String,
    },
    /// What was asked makes no sense.
    #[error("{0}")]
    BadParams(String),
}
