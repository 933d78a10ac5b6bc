//! Configuration of one server (transport, time limits, tools, approval), and the traits that launch its program.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tool::BoxFuture;

use crate::auth::OAuthConfig;

/// Default time limit for starting a server.
pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Default time limit of a call.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

/// A server and the tools in use.
#[derive(Debug, Clone)]
pub struct McpServerConfig {
    /// The user's name for it: `^[A-Za-z0-9_-]{1,64}$`.
    pub name: String,
    /// Its transport.
    pub transport: ServerTransport,
    /// Time limit for starting, including the tool listing.
    pub startup_timeout: Duration,
    /// Time limit of a call, not counting the time for the user's answers.
    pub tool_timeout: Duration,
    /// Allow-list of tools, by the server's names; all tools if `None`.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools of those that are not used.
    pub disabled_tools: Vec<String>,
    /// Nothing may run without this server.
    pub required: bool,
    /// Its tool annotations can replace a question to the user. Must be false for an unconfined server on this
    /// machine.
    pub annotations_trusted: bool,
    /// The approval mode of its calls.
    pub approval: CallApproval,
    /// Approval modes of single tools, by the server's names.
    pub approvals: BTreeMap<String, CallApproval>,
}

impl McpServerConfig {
    /// Creates a server with default settings.
    pub fn new(name: impl Into<String>, transport: ServerTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            startup_timeout: STARTUP_TIMEOUT,
            tool_timeout: TOOL_TIMEOUT,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            required: false,
            annotations_trusted: true,
            approval: CallApproval::default(),
            approvals: BTreeMap::new(),
        }
    }

    /// Returns whether its tool is in use.
    pub(crate) fn uses_tool(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(named) && !named(&self.disabled_tools)
    }

    /// Returns the approval mode of its tool.
    pub(crate) fn approval_for(&self, tool: &str) -> CallApproval {
        self.approvals.get(tool).copied().unwrap_or(self.approval)
    }
}

/// The approval mode of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallApproval {
    /// Asks, unless the server declares the tool read-only.
    #[default]
    Auto,
    /// Always asks, whatever the server declares.
    Ask,
    /// Never asks, unless the tool's definition has changed.
    Allow,
}

/// The transport of a server.
#[derive(Clone)]
pub enum ServerTransport {
    /// A program that reads and writes one message a line.
    Program(Arc<dyn ServerLauncher>),
    /// Streamable HTTP.
    Http(HttpTransport),
}

impl fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(_) => f.write_str("Program"),
            Self::Http(http) => f.debug_tuple("Http").field(&http.url).finish(),
        }
    }
}

/// A server behind a URL.
#[derive(Clone)]
pub struct HttpTransport {
    /// Its URL.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// A bearer token.
    pub bearer: Option<String>,
    /// OAuth, if there is no bearer token.
    pub auth: Option<OAuthConfig>,
}

impl HttpTransport {
    /// Creates a server with default settings.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), bearer: None, auth: None }
    }
}

/// Starts a server program.
pub trait ServerLauncher: Send + Sync {
    /// Starts the program with these file descriptors as standard input, output and error.
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn LaunchedServer>, LaunchFault>>;

    /// Resolves when no start is in progress, including cancelled ones, and nothing of the program is left.
    fn wait_until_settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A running program. Dropping it ends the program and all its descendants.
pub trait LaunchedServer: Send {
    /// Resolves with the exit status when the program has ended.
    fn wait_for_exit(&mut self) -> BoxFuture<'_, String>;

    /// Returns gaps in its intended confinement, each in a few words; empty if there are none or no confinement is
    /// intended.
    fn gaps(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the function that lands the changes of a call.
    fn land_changes_fn(&self) -> Option<LandChangesFn> {
        None
    }
}

/// Checks quickly whether a confinement has changes to land. If so, returns a function that lands them and reports
/// those that stay behind, which may block.
pub type LandChangesFn = Arc<dyn Fn() -> Option<Box<dyn FnOnce() -> Vec<String> + Send>> + Send + Sync>;

/// The reason why a program was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct LaunchFault {
    /// One sentence.
    pub why: String,
    /// A later attempt may succeed.
    pub retryable: bool,
}
