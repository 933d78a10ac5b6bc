//! The effective configuration: built-in values, the user's file, project files and flags, each with its source.
//!
//! A project's file comes with the project and is untrusted. It may narrow what tools can do, never widen it.

mod config_file;
pub mod flags;
mod hook;
mod listing;
mod load;
mod mcp_server;
mod operation_fault;
pub mod private_dirs;
mod project_file;
mod rule_files;
mod tool_forms;
mod web_search;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;
use runtime::HostPattern;
use serde::{Deserialize, Serialize};

pub use listing::{ConfigRow, RowValue, to_toml};
pub use load::{PROJECT_FILE, UserDirs, load, user_config_path};
pub use mcp_server::{ServerApproval, ServerSetting, ServerTable, is_name as is_server_name};
pub use operation_fault::{FaultKind, OperationFault};
pub use rule_files::{USER as USER_RULES, rule_files};
pub use tool_forms::ToolForms;
pub use web_search::{SearchApproval, WebSearchTable};

/// Every key with an example, as `toolgate config --help` and docs/configuration.md show it.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Default limit of command sessions that run at a time.
const DEFAULT_SESSIONS: usize = 64;

/// Error text for an invalid name of a unix socket.
const INVALID_SOCKET: &str = "a unix socket is a whole path, e.g. `/run/x.sock`, or `@` and an abstract name";

fn is_socket_name(name: &str) -> bool {
    name.len() > 1 && (name.starts_with('/') || name.starts_with('@'))
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue<T> {
    /// The value in force.
    pub value: T,
    /// The built-in default, file or flag that set the value.
    pub source: SettingSource,
}

impl<T> SourcedValue<T> {
    fn built_in(value: T) -> Self {
        Self { value, source: SettingSource::BuiltIn }
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// A default of Toolgate.
    BuiltIn,
    /// A configuration file.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The line of the value.
        line: usize,
    },
    /// A command-line flag, such as `--sandbox`.
    Flag(&'static str),
}

impl fmt::Display for SettingSource {
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
pub struct Config {
    /// The model name, which selects the tools and the scaling of images.
    pub model: SourcedValue<Option<String>>,
    /// The sandbox mode of tools; read-only by default.
    pub sandbox: SourcedValue<SandboxMode>,
    /// The approval policy; on-request by default.
    pub approval: SourcedValue<ApprovalMode>,
    /// The `[tools]` table.
    pub tools: ToolSettings,
    /// The `[models.NAME]` tables, which override `[tools]` for models with that name prefix.
    pub models: Vec<SourcedValue<tool_forms::ModelSetting>>,
    /// The `[files]` table.
    pub files: FileSettings,
    /// The `[commands]` table.
    pub commands: CommandSettings,
    /// The `[confinement]` table.
    pub confinement: ConfinementSettings,
    /// The `[limits]` table.
    pub limits: LimitSettings,
    /// The `wire.integers` key: the schema type of integers.
    pub integers: SourcedValue<IntegerStyle>,
    /// The `[[hook]]` tables.
    pub hooks: Vec<SourcedValue<hook::HookSetting>>,
    /// The `[mcp_servers.NAME]` tables.
    pub servers: Vec<SourcedValue<ServerSetting>>,
    /// The configuration files that were looked for.
    pub candidates: Vec<ConfigCandidate>,
}

/// The tool selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// Each list narrows the one before it.
    pub only: Vec<SourcedValue<Vec<String>>>,
    /// The deny-list of tools; `*` matches any characters.
    pub without: Vec<SourcedValue<String>>,
    /// The mode of the model provider's own web search; off by default.
    pub web_search: SourcedValue<HostedSearchMode>,
    /// The shell tool for all models; by model family if unset.
    pub shell_type: SourcedValue<Option<tool_forms::ShellName>>,
    /// The form of `apply_patch` for all models; by model family if unset.
    pub apply_patch_tool_type: SourcedValue<Option<tool_forms::PatchForm>>,
    /// An older key for the shell tool: true is `unified_exec`, false is `shell_command`.
    pub use_experimental_streamable_shell_tool: SourcedValue<Option<bool>>,
    /// The user's own web search.
    pub search: Option<SourcedValue<WebSearchTable>>,
}

/// The paths that tools may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// Additional directories that tools may read.
    pub read_roots: Vec<SourcedValue<PathBuf>>,
    /// Patterns of paths that are never readable, at any depth.
    pub deny_read: Vec<SourcedValue<String>>,
    /// The use of the built-in deny-read list; true by default.
    pub deny_read_defaults: SourcedValue<bool>,
}

/// The environment and the shell of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// The inherited part of the user's environment; core by default.
    pub inherit: SourcedValue<EnvInheritance>,
    /// Names of additional variables to pass; `*` matches any characters.
    pub pass: Vec<SourcedValue<String>>,
    /// Names and values.
    pub set: Vec<SourcedValue<(String, String)>>,
    /// The maximum number of concurrent command sessions; 64 by default.
    pub sessions: SourcedValue<usize>,
    /// The user's own shell if unset.
    pub shell: SourcedValue<Option<PathBuf>>,
}

/// Limits of tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// The maximum length of an answer in tokens of four bytes.
    pub output_tokens: SourcedValue<usize>,
    /// The time limit of a call in milliseconds, counted from its start.
    pub call_timeout_ms: SourcedValue<u64>,
    /// The maximum number of concurrent read-only calls.
    pub parallel: SourcedValue<usize>,
}

/// The sandbox mode of tools, the strictest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Commands run in the sandbox and write only to a private /tmp
    ReadOnly,
    /// Commands run in the sandbox and write below the working directory (also: restricted)
    #[serde(alias = "restricted")]
    #[value(alias = "restricted")]
    WorkspaceWrite,
    /// No sandbox: something outside confines this program
    External,
    /// No sandbox: commands can do everything that you can (also: none)
    #[serde(alias = "none")]
    #[value(alias = "none")]
    DangerFullAccess,
}

/// The cases in which the user is asked. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Before everything except reads in the sandbox and calls that a rule allows
    Untrusted,
    /// As on-request, but a request to leave the sandbox is tried inside first
    OnFailure,
    /// Dangerous commands, requests to leave the sandbox, sandbox refusals (also: interactive)
    #[serde(alias = "interactive")]
    #[value(alias = "interactive")]
    OnRequest,
    /// Never: calls that need approval are refused
    Never,
    /// As on-failure, but dangerous commands run in the sandbox without a question
    Auto,
    /// Never: every call is refused
    Disabled,
}

/// The network access of confined commands, the strictest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// None
    Off,
    /// Commands of this session, over a private loopback
    Loopback,
    /// Every host
    On,
}

/// A sandbox tier, the weakest first. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementTier {
    /// No layer
    Nothing,
    /// A system call filter
    Seccomp,
    /// Also Landlock rules for files
    Landlock,
    /// Also a private file system, process tree and network
    Namespaces,
}

/// The confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementSettings {
    /// Additional directories that commands may write.
    pub writable: Vec<SourcedValue<PathBuf>>,
    /// Read-only exceptions inside writable directories.
    pub read_only: Vec<SourcedValue<PathBuf>>,
    /// The network access of commands; loopback by default.
    pub network: SourcedValue<NetworkMode>,
    /// Hosts that commands may reach regardless of `network`.
    pub hosts: Vec<SourcedValue<HostPattern>>,
    /// Unix sockets of other programs that commands may connect to.
    pub unix_sockets: Vec<SourcedValue<String>>,
    /// The strongest sandbox layer to use; namespaces by default.
    pub tier: SourcedValue<ConfinementTier>,
    /// The weakest sandbox layer to accept; namespaces by default.
    pub require: SourcedValue<ConfinementTier>,
    /// The maximum number of processes at a time, per session or per command.
    pub processes: SourcedValue<Option<u64>>,
    /// The memory limit in megabytes, per session and per process.
    pub memory_mb: SourcedValue<Option<u64>>,
    /// The maximum size of a file in megabytes.
    pub file_size_mb: SourcedValue<Option<u64>>,
    /// The maximum number of open files per process.
    pub open_files: SourcedValue<Option<u64>>,
    /// The space for `/tmp`, `/var/tmp` and caches in megabytes; half of the free disk space if unset.
    pub tmp_mb: SourcedValue<Option<u64>>,
    /// The space for `/dev/shm` in megabytes; a quarter of the memory if unset.
    pub shm_mb: SourcedValue<Option<u64>>,
}

/// The part of the user's environment that a command inherits; the strictest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvInheritance {
    /// No variables.
    None,
    /// Identity, locale and the locations of toolchains.
    Core,
    /// All variables except the withheld ones, such as credentials.
    All,
}

/// The way integers are described to the model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegerStyle {
    /// The schema type `integer`.
    Keep,
    /// The schema type `number`, for servers without `integer`.
    Number,
}

/// The mode of the model provider's own web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostedSearchMode {
    /// No search.
    Off,
    /// A search of the provider's stored pages.
    Cached,
    /// A search of the live web.
    Live,
}

/// A configuration file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigCandidate {
    /// The path of the file.
    pub path: PathBuf,
    /// The result of the lookup.
    pub found: CandidateState,
}

/// The state of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateState {
    /// Found and read.
    Read,
    /// Missing.
    NotThere,
    /// Above the working directory and owned by another user, so ignored.
    NotYours,
}

impl Config {
    fn built_in() -> Self {
        let limits = runtime::CallLimits::default();
        let timeout = u64::try_from(limits.call_timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            model: SourcedValue::built_in(None),
            sandbox: SourcedValue::built_in(SandboxMode::ReadOnly),
            approval: SourcedValue::built_in(ApprovalMode::OnRequest),
            tools: ToolSettings {
                only: Vec::new(),
                without: Vec::new(),
                web_search: SourcedValue::built_in(HostedSearchMode::Off),
                shell_type: SourcedValue::built_in(None),
                apply_patch_tool_type: SourcedValue::built_in(None),
                use_experimental_streamable_shell_tool: SourcedValue::built_in(None),
                search: None,
            },
            models: Vec::new(),
            files: FileSettings {
                read_roots: Vec::new(),
                deny_read: Vec::new(),
                deny_read_defaults: SourcedValue::built_in(true),
            },
            commands: CommandSettings {
                inherit: SourcedValue::built_in(EnvInheritance::Core),
                pass: Vec::new(),
                set: Vec::new(),
                sessions: SourcedValue::built_in(DEFAULT_SESSIONS),
                shell: SourcedValue::built_in(None),
            },
            confinement: ConfinementSettings {
                writable: Vec::new(),
                read_only: Vec::new(),
                network: SourcedValue::built_in(NetworkMode::Loopback),
                hosts: Vec::new(),
                unix_sockets: Vec::new(),
                tier: SourcedValue::built_in(ConfinementTier::Namespaces),
                require: SourcedValue::built_in(ConfinementTier::Namespaces),
                processes: SourcedValue::built_in(runtime::CommandLimits::default().processes),
                memory_mb: SourcedValue::built_in(None),
                file_size_mb: SourcedValue::built_in(None),
                open_files: SourcedValue::built_in(None),
                tmp_mb: SourcedValue::built_in(None),
                shm_mb: SourcedValue::built_in(None),
            },
            limits: LimitSettings {
                output_tokens: SourcedValue::built_in(limits.output_tokens),
                call_timeout_ms: SourcedValue::built_in(timeout),
                parallel: SourcedValue::built_in(limits.parallel),
            },
            integers: SourcedValue::built_in(IntegerStyle::Keep),
            hooks: Vec::new(),
            servers: Vec::new(),
            candidates: Vec::new(),
        }
    }
}

impl CommandSettings {
    /// Adds a variable from a flag: `NAME` passes the user's own, `NAME=VALUE` sets one.
    pub fn add_variable(&mut self, named: &str) {
        let source = SettingSource::Flag("--env");
        match named.split_once('=') {
            Some((name, value)) => {
                self.set.push(SourcedValue { value: (name.to_owned(), value.to_owned()), source });
            }
            None => self.pass.push(SourcedValue { value: named.to_owned(), source }),
        }
    }
}

impl ToolSettings {
    /// Returns the tools that every `only` list names; `None` if there is no such list.
    pub fn allowed_names(&self) -> Option<BTreeSet<String>> {
        let sets = self.only.iter().map(|only| only.value.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|one, other| one.intersection(&other).cloned().collect())
    }

    /// Returns the source of the setting that names the tool `name`.
    pub fn source_naming(&self, name: &str) -> Option<&SettingSource> {
        let only = self.only.iter().find(|only| only.value.iter().any(|one| one == name));
        let without = self.without.iter().find(|one| one.value == name);
        only.map(|only| &only.source).or(without.map(|without| &without.source))
    }
}
