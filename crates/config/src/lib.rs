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
mod tables;
mod tool_forms;
mod web_search;

use std::fmt;
use std::io;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use listing::{ConfigRow, RowValue, to_toml};
pub use load::{PROJECT_FILE, UserDirs, load, user_config_path};
pub use mcp_server::{ServerApproval, ServerSetting, ServerTable, is_name as is_server_name};
pub use operation_fault::{FaultKind, OperationFault};
pub use rule_files::{USER as USER_RULES, rule_files};
pub use tables::{
    CommandSettings, ConfinementSettings, ConfinementTier, EnvInheritance, FileSettings, HostedSearchMode,
    JournalSettings, LimitSettings, NetworkMode, ToolSettings,
};
pub use tool_forms::{PriceSettings, ToolForms, to_micro_dollars};
pub use web_search::{SearchApproval, WebSearchTable};

/// The hint for a state directory that cannot be written.
pub const STATE_HINT: &str = "set XDG_STATE_HOME or TOOLGATE_HOME to a directory that you can write";
/// The hint for a state directory on a full disk.
const FULL_STATE_HINT: &str = "`toolgate log prune --max-size 500MB` removes the oldest sessions; or set XDG_STATE_HOME or TOOLGATE_HOME";

/// Returns the hint for a state directory that cannot be written because of `error`.
pub fn state_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FULL_STATE_HINT,
        _ => STATE_HINT,
    }
}

/// Every key with an example, as `toolgate config --help` and docs/configuration.md show it.
pub const EXAMPLE: &str = include_str!("example.toml");

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
    /// Allows plain HTTP to a model server at a private address; off by default.
    pub insecure_http: SourcedValue<bool>,
    /// The sandbox mode of tools; read-only by default.
    pub sandbox: SourcedValue<SandboxMode>,
    /// The approval policy; on-request by default.
    pub approval: SourcedValue<ApprovalMode>,
    /// The destination of file changes; direct by default.
    pub changes: SourcedValue<ChangesMode>,
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
    /// The `[journal]` table.
    pub journal: JournalSettings,
    /// The `wire.integers` key: the schema type of integers.
    pub integers: SourcedValue<IntegerStyle>,
    /// The `[[hook]]` tables.
    pub hooks: Vec<SourcedValue<hook::HookSetting>>,
    /// The `[mcp_servers.NAME]` tables.
    pub servers: Vec<SourcedValue<ServerSetting>>,
    /// The configuration files that were looked for.
    pub candidates: Vec<ConfigCandidate>,
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

/// The destination of file changes. The doc comments are help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ChangesMode {
    /// They are kept aside until you apply them: `toolgate changes`, `apply`, `discard`, `undo`
    Staged,
    /// They go to your files at once
    Direct,
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
        Self {
            insecure_http: SourcedValue::built_in(false),
            model: SourcedValue::built_in(None),
            sandbox: SourcedValue::built_in(SandboxMode::ReadOnly),
            approval: SourcedValue::built_in(ApprovalMode::OnRequest),
            changes: SourcedValue::built_in(ChangesMode::Direct),
            tools: ToolSettings::built_in(),
            models: Vec::new(),
            files: FileSettings::built_in(),
            commands: CommandSettings::built_in(),
            confinement: ConfinementSettings::built_in(),
            limits: LimitSettings::built_in(),
            journal: JournalSettings::built_in(),
            integers: SourcedValue::built_in(IntegerStyle::Keep),
            hooks: Vec::new(),
            servers: Vec::new(),
            candidates: Vec::new(),
        }
    }
}
