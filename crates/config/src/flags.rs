//! Command-line flags that set configuration values (clap). The doc comments are the help texts.

use std::path::PathBuf;

use clap::Args;
use runtime::HostPattern;

use crate::{ApprovalMode, ChangesMode, ConfinementTier, NetworkMode, SandboxMode};

/// Working directory, permissions and model.
#[derive(Debug, Clone, Default, Args)]
pub struct WorkspaceArgs {
    /// Work in this directory instead of the current one; tools may read below it
    #[arg(long, value_name = "DIR", help_heading = "Permissions")]
    pub cwd: Option<PathBuf>,
    /// Let tools read below this directory too (repeatable)
    #[arg(long, help_heading = "Permissions", value_name = "DIR")]
    pub read_root: Vec<PathBuf>,
    /// Set the sandbox mode of tools (default: read-only; `toolgate sandbox`: workspace-write)
    #[arg(long, help_heading = "Permissions", visible_alias = "mode", value_enum, value_name = "MODE")]
    pub sandbox: Option<SandboxMode>,
    /// Ask for your approval in these cases (default: on-request)
    #[arg(long, help_heading = "Permissions", value_enum, value_name = "WHEN")]
    pub approval: Option<ApprovalMode>,
    /// Send file changes here (default: direct)
    #[arg(long, help_heading = "Permissions", value_enum, value_name = "WHERE")]
    pub changes: Option<ChangesMode>,
    /// Name of the model that makes the calls, e.g. `claude-opus-4`; it gets the tools that it
    /// supports
    #[arg(long, help_heading = "Model")]
    pub model: Option<String>,
    /// Confinement of commands.
    #[command(flatten)]
    pub confine: ConfinementArgs,
}

/// Confinement of commands.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub struct ConfinementArgs {
    /// Let commands write below this directory too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub writable: Vec<PathBuf>,
    /// Make this path read-only, even below a writable directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub read_only: Vec<PathBuf>,
    /// Hide this path, or all files that match this glob, from tools and commands (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub deny_read: Vec<String>,
    /// Let commands connect to these peers (default: loopback)
    #[arg(long, value_enum, value_name = "WHOM")]
    pub network: Option<NetworkMode>,
    /// Let commands connect to this host whatever --network says: `example.org`,
    /// `*.example.org:443` (repeatable)
    #[arg(long, value_name = "HOST")]
    pub host: Vec<HostPattern>,
    /// Let commands connect to this Unix socket: a path, or `@` and an abstract name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub unix_socket: Vec<String>,
    /// Use sandbox layers up to this one (default: namespaces)
    #[arg(long, value_enum, value_name = "LAYER", hide_short_help = true)]
    pub tier: Option<ConfinementTier>,
    /// Refuse to run commands with weaker layers than this one (default: namespaces); with less,
    /// commands can read secrets
    #[arg(long, value_enum, value_name = "LAYER", hide_short_help = true)]
    pub require: Option<ConfinementTier>,
}
