//! A server as its user describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tool::BoxFuture;

use crate::auth::Auth;

/// How long a server may take to start if nothing else is said.
pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call may take if nothing else is said.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

/// A server, and what of it is used.
#[derive(Debug, Clone)]
pub struct Server {
    /// What its user calls it: `^[A-Za-z0-9_-]{1,64}$`.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
    /// How long it may take to start, its list of tools included.
    pub startup_timeout: Duration,
    /// How long a call may take, without the time that a person takes to answer it.
    pub tool_timeout: Duration,
    /// The tools that are used, by its own names for them; all if nothing is said.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not used, of those.
    pub disabled_tools: Vec<String>,
    /// Whether nothing is to be done without it.
    pub required: bool,
    /// Whether what it says about its tools may spare a question: not if it is on this machine and nothing confines it.
    pub believed: bool,
    /// When somebody is asked about a call of it.
    pub approval: Approval,
    /// The same for single tools, by its own names for them.
    pub approvals: BTreeMap<String, Approval>,
}

impl Server {
    /// A server with nothing else said about it.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            startup_timeout: STARTUP_TIMEOUT,
            tool_timeout: TOOL_TIMEOUT,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            required: false,
            believed: true,
            approval: Approval::default(),
            approvals: BTreeMap::new(),
        }
    }

    /// Whether its tool is used.
    pub(crate) fn uses(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(named) && !named(&self.disabled_tools)
    }

    /// When somebody is asked about a call of its tool.
    pub(crate) fn approval(&self, tool: &str) -> Approval {
        self.approvals.get(tool).copied().unwrap_or(self.approval)
    }
}

/// When somebody is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    /// Unless the server says that the tool only reads.
    #[default]
    Auto,
    /// Always, whatever the server says.
    Ask,
    /// Never, unless the tool is not what it was.
    Allow,
}

/// How to reach a server.
#[derive(Clone)]
pub enum Transport {
    /// A program that reads and writes one message a line.
    Program(Arc<dyn Launch>),
    /// Streamable HTTP.
    Http(Http),
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(_) => f.write_str("Program"),
            Self::Http(http) => f.debug_tuple("Http").field(&http.url).finish(),
        }
    }
}

/// A server behind a URL.
#[derive(Clone)]
pub struct Http {
    /// Where it is.
    pub url: String,
    /// What is sent along with every request.
    pub headers: Vec<(String, String)>,
    /// What it knows the user by.
    pub bearer: Option<String>,
    /// How it gets to know the user, if not by that.
    pub auth: Option<Auth>,
}

impl Http {
    /// A server with nothing else said about it.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), bearer: None, auth: None }
    }
}

/// Starts the program that is a server.
pub trait Launch: Send + Sync {
    /// Starts it once more, with this input, output and errors.
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn Running>, LaunchFault>>;

    /// Resolves when no start is under way, also none that was given up half-way: then nothing of it is left.
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A program that runs. Dropping it ends the program and all that came of it.
pub trait Running: Send {
    /// Resolves when it has ended, with how.
    fn ended(&mut self) -> BoxFuture<'_, String>;

    /// What its confinement should hold and does not, each in a few words: nothing if it does, or if there is to be none.
    fn gaps(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What brings out of its confinement what a call has done there, and says what stays behind.
    fn landing(&self) -> Option<Landing> {
        None
    }
}

/// Looks, in no time, whether anything was done in a confinement that has to come out; and if so gives what brings it out and says
/// what stays behind, which may block.
pub type Landing = Arc<dyn Fn() -> Option<Box<dyn FnOnce() -> Vec<String> + Send>> + Send + Sync>;

/// Why a program was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct LaunchFault {
    /// One sentence.
    pub why: String,
    /// Whether it may be another time.
    pub passing: bool,
}
