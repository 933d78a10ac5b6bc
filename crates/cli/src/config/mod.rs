//! The effective configuration: built-in values, the user's file, project files and flags, each with its source.
//!
//! A project's file comes with the project and is untrusted. It may narrow what tools can do, never widen it.

mod file;
mod forms;
mod hook;
mod load;
mod rows;
mod rules;
mod search;
mod server;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use toolgate::Host;

pub(crate) use forms::Forms;
pub(crate) use load::{Dirs, PROJECT_FILE, load, user_path};
pub(crate) use rows::{Row, Shown};
pub(crate) use rules::{USER as USER_RULES, rule_files};
pub(crate) use search::{SearchApproval, WebSearchTable};
pub(crate) use server::{ServerApproval, ServerSetting, ServerTable, is_name as is_server_name};

/// Every key with an example, as `toolgate config --help` and docs/configuration.md show it.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// Default limit of command sessions that run at a time.
const SESSIONS: usize = 64;

/// Error text for an invalid name of a unix socket.
const NO_SOCKET: &str = "a unix socket is a whole path, e.g. `/run/x.sock`, or `@` and an abstract name";

fn is_socket(name: &str) -> bool {
    name.len() > 1 && (name.starts_with('/') || name.starts_with('@'))
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Setting<T> {
    fn built_in(value: T) -> Self {
        Self { value, source: Source::BuiltIn }
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    BuiltIn,
    File { path: PathBuf, line: usize },
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// Every setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) model: Setting<Option<String>>,
    pub(crate) sandbox: Setting<Sandbox>,
    pub(crate) approval: Setting<Approval>,
    pub(crate) tools: Tools,
    pub(crate) models: Vec<Setting<forms::ModelSetting>>,
    pub(crate) files: Files,
    pub(crate) commands: Commands,
    pub(crate) confinement: Confinement,
    pub(crate) limits: Limits,
    pub(crate) integers: Setting<Integers>,
    pub(crate) hooks: Vec<Setting<hook::Hook>>,
    pub(crate) servers: Vec<Setting<ServerSetting>>,
    pub(crate) looked_for: Vec<LookedFor>,
}

/// The tool selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tools {
    /// Each list narrows the one before it.
    pub(crate) only: Vec<Setting<Vec<String>>>,
    pub(crate) without: Vec<Setting<String>>,
    pub(crate) web_search: Setting<WebSearch>,
    pub(crate) shell_type: Setting<Option<forms::ShellName>>,
    pub(crate) apply_patch_tool_type: Setting<Option<forms::PatchForm>>,
    pub(crate) use_experimental_streamable_shell_tool: Setting<Option<bool>>,
    /// The user's own web search.
    pub(crate) search: Option<Setting<WebSearchTable>>,
}

/// The paths that tools may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) read_roots: Vec<Setting<PathBuf>>,
    pub(crate) deny_read: Vec<Setting<String>>,
    pub(crate) deny_read_defaults: Setting<bool>,
}

/// The environment and the shell of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commands {
    pub(crate) inherit: Setting<Inherit>,
    pub(crate) pass: Vec<Setting<String>>,
    /// Names and values.
    pub(crate) set: Vec<Setting<(String, String)>>,
    pub(crate) sessions: Setting<usize>,
    /// The user's own shell if unset.
    pub(crate) shell: Setting<Option<PathBuf>>,
}

/// Limits of tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) output_tokens: Setting<usize>,
    pub(crate) call_timeout_ms: Setting<u64>,
    pub(crate) parallel: Setting<usize>,
}

/// What tools may do beside reading; the tightest comes first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sandbox {
    /// Commands run confined and write nothing but a /tmp of their own
    ReadOnly,
    /// Commands run confined and write below the working directory (also: restricted)
    #[serde(alias = "restricted")]
    #[value(alias = "restricted")]
    WorkspaceWrite,
    /// Commands run unconfined, because something outside confines this program
    External,
    /// Run, change and connect to whatever you can (also: none)
    #[serde(alias = "none")]
    #[value(alias = "none")]
    DangerFullAccess,
}

/// When the user is asked. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Approval {
    /// Before anything that does more than read
    Untrusted,
    /// When something was refused: everything is tried in the sandbox first
    OnFailure,
    /// When a command is dangerous, asks to leave the sandbox or was refused something (also: interactive)
    #[serde(alias = "interactive")]
    #[value(alias = "interactive")]
    OnRequest,
    /// Never: what would be asked is refused
    Never,
    /// As on-failure, and what is dangerous runs without a question too, in the sandbox
    Auto,
    /// No tool is run at all
    Disabled,
}

/// Whom confined commands may talk to; the tightest comes first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Network {
    /// Nobody
    Off,
    /// Each other, over a loopback that only they have
    Loopback,
    /// Everybody
    On,
}

/// A way to confine, the weakest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tier {
    /// None
    Nothing,
    /// A filter for system calls
    Seccomp,
    /// Rules for files, too
    Landlock,
    /// A file system, processes and a network of its own, too
    Namespaces,
}

/// The confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confinement {
    pub(crate) writable: Vec<Setting<PathBuf>>,
    pub(crate) read_only: Vec<Setting<PathBuf>>,
    pub(crate) network: Setting<Network>,
    pub(crate) hosts: Vec<Setting<Host>>,
    pub(crate) unix_sockets: Vec<Setting<String>>,
    pub(crate) tier: Setting<Tier>,
    pub(crate) require: Setting<Tier>,
    pub(crate) processes: Setting<Option<u64>>,
    pub(crate) memory_mb: Setting<Option<u64>>,
    pub(crate) file_size_mb: Setting<Option<u64>>,
    pub(crate) open_files: Setting<Option<u64>>,
    pub(crate) tmp_mb: Setting<Option<u64>>,
    pub(crate) shm_mb: Setting<Option<u64>>,
}

/// The part of the user's environment that a command inherits; the strictest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Inherit {
    None,
    Core,
    All,
}

/// The way integers are described to the model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Integers {
    Keep,
    Number,
}

/// The mode of the model provider's own web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WebSearch {
    Off,
    Cached,
    Live,
}

/// A configuration file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LookedFor {
    pub(crate) path: PathBuf,
    pub(crate) found: Found,
}

/// The state of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Found {
    Read,
    NotThere,
    /// Above the working directory and owned by another user, so ignored.
    NotYours,
}

impl Config {
    fn built_in() -> Self {
        let limits = toolgate::Limits::default();
        let timeout = u64::try_from(limits.call_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            model: Setting::built_in(None),
            sandbox: Setting::built_in(Sandbox::ReadOnly),
            approval: Setting::built_in(Approval::OnRequest),
            tools: Tools {
                only: Vec::new(),
                without: Vec::new(),
                web_search: Setting::built_in(WebSearch::Off),
                shell_type: Setting::built_in(None),
                apply_patch_tool_type: Setting::built_in(None),
                use_experimental_streamable_shell_tool: Setting::built_in(None),
                search: None,
            },
            models: Vec::new(),
            files: Files {
                read_roots: Vec::new(),
                deny_read: Vec::new(),
                deny_read_defaults: Setting::built_in(true),
            },
            commands: Commands {
                inherit: Setting::built_in(Inherit::Core),
                pass: Vec::new(),
                set: Vec::new(),
                sessions: Setting::built_in(SESSIONS),
                shell: Setting::built_in(None),
            },
            confinement: Confinement {
                writable: Vec::new(),
                read_only: Vec::new(),
                network: Setting::built_in(Network::Loopback),
                hosts: Vec::new(),
                unix_sockets: Vec::new(),
                tier: Setting::built_in(Tier::Namespaces),
                require: Setting::built_in(Tier::Namespaces),
                processes: Setting::built_in(toolgate::CommandLimits::default().processes),
                memory_mb: Setting::built_in(None),
                file_size_mb: Setting::built_in(None),
                open_files: Setting::built_in(None),
                tmp_mb: Setting::built_in(None),
                shm_mb: Setting::built_in(None),
            },
            limits: Limits {
                output_tokens: Setting::built_in(limits.output_tokens),
                call_timeout_ms: Setting::built_in(timeout),
                parallel: Setting::built_in(limits.parallel),
            },
            integers: Setting::built_in(Integers::Keep),
            hooks: Vec::new(),
            servers: Vec::new(),
            looked_for: Vec::new(),
        }
    }
}

impl Commands {
    /// Adds a variable from a flag: `NAME` passes the user's own, `NAME=VALUE` sets one.
    pub(crate) fn take(&mut self, named: &str) {
        let source = Source::Flag("--env");
        match named.split_once('=') {
            Some((name, value)) => {
                self.set.push(Setting { value: (name.to_owned(), value.to_owned()), source });
            }
            None => self.pass.push(Setting { value: named.to_owned(), source }),
        }
    }
}

impl Tools {
    /// Returns the tools that every `only` list names; `None` if there is no such list.
    pub(crate) fn chosen(&self) -> Option<BTreeSet<String>> {
        let sets = self.only.iter().map(|only| only.value.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|one, other| one.intersection(&other).cloned().collect())
    }

    /// Returns the source of the setting that names the tool `name`.
    pub(crate) fn names(&self, name: &str) -> Option<&Source> {
        let only = self.only.iter().find(|only| only.value.iter().any(|one| one == name));
        let without = self.without.iter().find(|one| one.value == name);
        only.map(|only| &only.source).or(without.map(|without| &without.source))
    }
}
