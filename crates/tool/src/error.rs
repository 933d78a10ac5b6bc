//! The errors of a tool call, each with its own type and message.

use std::error::Error;
use std::time::Duration;

use policy::Denial;

use crate::{CancelCause, SchemaViolation};

/// The reason why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// No tool has this name.
    #[error("{}", unknown_tool(name, nearest, known))]
    UnknownTool {
        /// The name as the model wrote it.
        name: String,
        /// Similar names.
        nearest: Vec<String>,
        /// All existing names, sorted.
        known: Vec<String>,
    },
    /// The call names an MCP server that does not exist.
    #[error("{}", unknown_server(server, known))]
    UnknownServer {
        /// The name as the model wrote it.
        server: String,
        /// All existing servers, sorted.
        known: Vec<String>,
    },
    /// The arguments do not match the tool's schema.
    #[error(transparent)]
    BadArguments(#[from] BadArguments),
    /// The policy forbids the call, without a question.
    #[error("forbidden by policy: {0}")]
    Forbidden(#[source] Denial),
    /// The user said no.
    #[error("denied by the user{}", note.as_ref().map(|note| format!(": {note}")).unwrap_or_default())]
    Denied {
        /// The user's comment.
        note: Option<String>,
    },
    /// No person answered the question about the call.
    #[error("refused, because no person answered: {why}")]
    Unanswered {
        /// The reason, and what would help.
        why: String,
    },
    /// The attempt was stopped by the sandbox or by confined file access.
    #[error("blocked by the sandbox: {0}")]
    Blocked(#[source] Denial),
    /// The call's time limit passed.
    #[error("timed out after {}; ask for less at a time", seconds(*after))]
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// The call was cancelled.
    #[error("{}", cause.describe_abort(&seconds(*after)))]
    Cancelled {
        /// The time that it had run.
        after: Duration,
        /// The cause.
        cause: CancelCause,
    },
    /// The user stopped the whole session.
    #[error("stopped by the user; wait for their next message")]
    Stopped,
    /// An operating system error: a missing file, a full disk, a broken pipe.
    #[error("{what}")]
    Io {
        /// The operation and its failure.
        what: String,
        /// The error behind it, if a hint may depend on it.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The tool's code panicked.
    #[error("the tool `{tool}` crashed; the fault is in its code, not in the call: try another way")]
    Crashed {
        /// The tool's name.
        tool: String,
    },
    /// The session cannot continue.
    #[error("{0}")]
    Fatal(String),
}

/// The reason why the arguments of a call are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadArguments {
    /// The arguments are not JSON.
    #[error("the arguments are not JSON at line {line}, column {column}: {why}")]
    NotJson {
        /// 1-based.
        line: usize,
        /// 1-based.
        column: usize,
        /// The parser's message.
        why: String,
    },
    /// The arguments are JSON but do not match the schema.
    #[error(transparent)]
    SchemaViolation(#[from] SchemaViolation),
    /// The arguments match the schema, but a value is not usable.
    #[error("the arguments do not fit{}: {why}", at(path))]
    Value {
        /// The JSON path, e.g. `steps[1].status`.
        path: String,
        /// The expected value.
        why: String,
    },
    /// The arguments exceed the size limit.
    #[error(
        "the arguments are {bytes} bytes long, more than the limit of {limit}; send them in smaller calls"
    )]
    TooLong {
        /// The size of the arguments.
        bytes: usize,
        /// The size limit.
        limit: usize,
    },
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::io(error.to_string())
    }
}

impl ToolError {
    /// Creates an error about the argument at `path`, found by the tool itself.
    pub fn bad_argument(path: impl Into<String>, why: impl Into<String>) -> Self {
        BadArguments::Value { path: path.into(), why: why.into() }.into()
    }

    /// Creates an error of the machine, or of your tool, from a message.
    pub fn io(what: impl Into<String>) -> Self {
        Self::Io { what: what.into(), source: None }
    }

    /// Creates an operating system error from the error behind it, with the same message.
    pub fn io_source(source: impl Error + Send + Sync + 'static) -> Self {
        Self::Io { what: source.to_string(), source: Some(Box::new(source)) }
    }

    /// Returns the denial that the error reports, if it reports one.
    pub fn denial(&self) -> Option<&Denial> {
        match self {
            Self::Forbidden(denial) | Self::Blocked(denial) => Some(denial),
            Self::UnknownTool { .. }
            | Self::UnknownServer { .. }
            | Self::BadArguments(_)
            | Self::Denied { .. }
            | Self::Unanswered { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled { .. }
            | Self::Stopped
            | Self::Io { .. }
            | Self::Crashed { .. }
            | Self::Fatal(_) => None,
        }
    }

    /// Returns the error's kind, for programs.
    pub fn kind(&self) -> ToolErrorKind {
        match self {
            Self::UnknownTool { .. } | Self::UnknownServer { .. } => ToolErrorKind::UnknownTool,
            Self::BadArguments(_) => ToolErrorKind::BadArguments,
            Self::Forbidden(_) => ToolErrorKind::Forbidden,
            Self::Denied { .. } | Self::Unanswered { .. } => ToolErrorKind::Denied,
            Self::Blocked(_) => ToolErrorKind::Blocked,
            Self::TimedOut { .. } => ToolErrorKind::TimedOut,
            Self::Cancelled { .. } => ToolErrorKind::Cancelled,
            Self::Stopped => ToolErrorKind::Stopped,
            Self::Io { .. } => ToolErrorKind::Io,
            Self::Crashed { .. } => ToolErrorKind::Crashed,
            Self::Fatal(_) => ToolErrorKind::Fatal,
        }
    }
}

/// The kinds of [`ToolError`], without their details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolErrorKind {
    /// Unknown tool or server.
    UnknownTool,
    /// Invalid arguments.
    BadArguments,
    /// The policy forbids the call.
    Forbidden,
    /// The user said no, or no person answered.
    Denied,
    /// The sandbox blocked the attempt.
    Blocked,
    /// The time limit passed.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// The user stopped the whole session.
    Stopped,
    /// An operating system error.
    Io,
    /// The tool panicked.
    Crashed,
    /// The session cannot continue.
    Fatal,
}

impl ToolErrorKind {
    /// Returns the kind as programs spell it, e.g. `bad_arguments`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::BadArguments => "bad_arguments",
            Self::Forbidden => "forbidden",
            Self::Denied => "denied",
            Self::Blocked => "blocked",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
            Self::Io => "io",
            Self::Crashed => "crashed",
            Self::Fatal => "fatal",
        }
    }
}

fn unknown_server(server: &str, known: &[String]) -> String {
    let server: String = server.chars().take(100).collect();
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    match known.is_empty() {
        true => format!("there is no MCP server `{server}`: none is configured here"),
        false => format!("there is no MCP server `{server}`; there are {}", known.join(", ")),
    }
}

fn unknown_tool(name: &str, nearest: &[String], known: &[String]) -> String {
    const MAX_LISTED_NAMES: usize = 40;
    let quote =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let name: String = name.chars().take(100).collect();
    if !nearest.is_empty() {
        return format!("there is no tool `{name}`; did you mean {}?", quote(nearest));
    }
    match known.len() {
        0 => format!("there is no tool `{name}`, and no other tool either"),
        1..=MAX_LISTED_NAMES => format!("there is no tool `{name}`; there are {}", quote(known)),
        more => {
            format!(
                "there is no tool `{name}`; there are {} and {} more",
                quote(&known[..MAX_LISTED_NAMES]),
                more - MAX_LISTED_NAMES
            )
        }
    }
}

/// Formats the location of an error; empty for the whole value.
fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} seconds", time.as_secs_f64())
}
