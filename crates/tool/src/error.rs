//! Everything that can keep a tool from answering, each with its own type and its own sentence.

use std::io;
use std::time::Duration;

use policy::Denial;

use crate::Misfit;

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// No tool goes by that name.
    #[error("{}", unknown_tool(name, nearest, known))]
    UnknownTool {
        /// As the model wrote it.
        name: String,
        /// Names it may have meant.
        nearest: Vec<String>,
        /// Every name there is, sorted.
        known: Vec<String>,
    },
    /// The call names a server of tools that there is not.
    #[error("{}", unknown_server(server, known))]
    UnknownServer {
        /// As the model wrote it.
        server: String,
        /// Every server there is, sorted.
        known: Vec<String>,
    },
    /// The arguments are not what the tool's schema asks for.
    #[error(transparent)]
    BadArguments(#[from] BadArguments),
    /// The policy forbids it, and nobody was asked.
    #[error("forbidden by policy: {0}")]
    Forbidden(Denial),
    /// A person said no.
    #[error("denied by the user{}", note.as_ref().map(|note| format!(": {note}")).unwrap_or_default())]
    Denied {
        /// What they said about it.
        note: Option<String>,
    },
    /// It was tried, and the sandbox or the file door stopped it.
    #[error("blocked by the sandbox: {0}")]
    Blocked(Denial),
    /// The call's time ran out.
    #[error("timed out after {}; ask for less at a time", seconds(*after))]
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
    /// Somebody stopped the call.
    #[error("aborted by the user after {}", seconds(*after))]
    Cancelled {
        /// How long it had run.
        after: Duration,
    },
    /// A person stopped all that goes on.
    #[error("stopped by the user; wait for what they say")]
    Stopped,
    /// The machine said no: a missing file, a full disk, a broken pipe.
    #[error("{what}")]
    Io {
        /// What was tried and what went wrong.
        what: String,
        /// The system's own word.
        #[source]
        source: Option<io::Error>,
    },
    /// The tool's code panicked.
    #[error("the tool `{tool}` crashed; the fault is in its code, not in the call: try another way")]
    Crashed {
        /// The tool's name.
        tool: String,
    },
    /// The session cannot go on.
    #[error("{0}")]
    Fatal(String),
}

/// What is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadArguments {
    /// They are not JSON.
    #[error("the arguments are not JSON at line {line}, column {column}: {why}")]
    NotJson {
        /// 1-based.
        line: usize,
        /// 1-based.
        column: usize,
        /// The parser's word.
        why: String,
    },
    /// They are JSON, but do not fit the schema.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// They fit the schema, but make no sense.
    #[error("the arguments do not fit{}: {why}", at(path))]
    Value {
        /// The JSON path, e.g. `steps[1].status`.
        path: String,
        /// What is expected instead.
        why: String,
    },
    /// There are too many bytes of them.
    #[error("the arguments are {bytes} bytes long, and {limit} are the most; send them in smaller calls")]
    TooLong {
        /// How many came.
        bytes: usize,
        /// How many are read.
        limit: usize,
    },
}

impl ToolError {
    /// A bad argument at `path`, found by the tool itself.
    pub fn argument(path: impl Into<String>, why: impl Into<String>) -> Self {
        BadArguments::Value { path: path.into(), why: why.into() }.into()
    }

    /// A failure of the machine, in words.
    pub fn io(what: impl Into<String>) -> Self {
        Self::Io { what: what.into(), source: None }
    }

    /// The fault's kind, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownTool { .. } | Self::UnknownServer { .. } => ErrorKind::UnknownTool,
            Self::BadArguments(_) => ErrorKind::BadArguments,
            Self::Forbidden(_) => ErrorKind::Forbidden,
            Self::Denied { .. } => ErrorKind::Denied,
            Self::Blocked(_) => ErrorKind::Blocked,
            Self::TimedOut { .. } => ErrorKind::TimedOut,
            Self::Cancelled { .. } => ErrorKind::Cancelled,
            Self::Stopped => ErrorKind::Stopped,
            Self::Io { .. } => ErrorKind::Io,
            Self::Crashed { .. } => ErrorKind::Crashed,
            Self::Fatal(_) => ErrorKind::Fatal,
        }
    }
}

/// The kinds of [`ToolError`], without their facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No such tool.
    UnknownTool,
    /// Arguments that do not fit.
    BadArguments,
    /// Policy said no.
    Forbidden,
    /// A person said no.
    Denied,
    /// The sandbox said no.
    Blocked,
    /// Time ran out.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// A person stopped all that goes on.
    Stopped,
    /// The machine said no.
    Io,
    /// The tool panicked.
    Crashed,
    /// The session is over.
    Fatal,
}

impl ErrorKind {
    /// The kind as programs spell it, e.g. `bad_arguments`.
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
    const SHOWN: usize = 40;
    let quote =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let name: String = name.chars().take(100).collect();
    if !nearest.is_empty() {
        return format!("there is no tool `{name}`; did you mean {}?", quote(nearest));
    }
    match known.len() {
        0 => format!("there is no tool `{name}`, and no other tool either"),
        1..=SHOWN => format!("there is no tool `{name}`; there are {}", quote(known)),
        more => {
            format!(
                "there is no tool `{name}`; there are {} and {} more",
                quote(&known[..SHOWN]),
                more - SHOWN
            )
        }
    }
}

/// Where something is wrong, if that is one place.
fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} seconds", time.as_secs_f64())
}
