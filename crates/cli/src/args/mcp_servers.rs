//! Command-line arguments of the subcommands that manage MCP servers (`toolgate mcp list`, `add`, `test` …).

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::WorkspaceArgs;
use config::{NetworkMode, SandboxMode};

/// Commands that manage MCP servers.
#[derive(Debug, Subcommand)]
pub(crate) enum McpServerCommand {
    List(McpListArgs),
    Get(McpGetArgs),
    Add(McpAddArgs),
    Remove(McpRemoveArgs),
    Test(McpTestArgs),
    Login(McpLoginArgs),
    Logout(McpLogoutArgs),
    Setup(McpSetupArgs),
}

/// Log in to a server behind a URL
///
/// Prints an address to open in a browser on this machine. The login is kept in a file that only
/// you can read, and is renewed automatically.
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// Name of the server, e.g. `docs`
    #[arg(add = crate::completion_candidates::servers())]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Delete the login to a server
#[derive(Debug, Args)]
pub(crate) struct McpLogoutArgs {
    /// Name of the server, e.g. `docs`
    #[arg(add = crate::completion_candidates::servers())]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// List the servers whose tools are used
///
/// Starts no server: `toolgate mcp test` does.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Show the configuration of one server
#[derive(Debug, Args)]
pub(crate) struct McpGetArgs {
    /// Name of the server, e.g. `git`
    #[arg(add = crate::completion_candidates::servers())]
    pub(crate) name: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Add a server to your configuration
///
/// The server runs in the sandbox. By default, it may write below the working directory and use the
/// network.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate mcp add git -- uvx mcp-server-git
  toolgate mcp add files --sandbox read-only --network off -- \\
    npx -y @modelcontextprotocol/server-filesystem .
  toolgate mcp add issues --env-var GITHUB_TOKEN -- github-mcp-server stdio
  toolgate mcp add docs --url https://a.example/mcp --bearer-token-env-var KEY")]
pub(crate) struct McpAddArgs {
    /// Name of the server: letters, digits, `_` and `-`
    pub(crate) name: String,
    /// Program and arguments of the server, after `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// URL of the server, instead of a program
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Set an environment variable for the server (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Pass this environment variable of yours to the server (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env_var: Vec<String>,
    /// Send an HTTP header to the server (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// Read the bearer token for the server from this environment variable
    #[arg(long, value_name = "NAME")]
    pub(crate) bearer_token_env_var: Option<String>,
    /// Set the sandbox mode of the server (default: workspace-write)
    #[arg(long, value_enum)]
    pub(crate) sandbox: Option<SandboxMode>,
    /// Let the server connect to these peers (default: on)
    #[arg(long, value_enum)]
    pub(crate) network: Option<NetworkMode>,
}

/// Remove a server from your configuration, and delete its login
#[derive(Debug, Args)]
pub(crate) struct McpRemoveArgs {
    /// Name of the server, e.g. `git`
    #[arg(add = crate::completion_candidates::servers())]
    pub(crate) name: String,
}

/// Start servers and report the result
///
/// Exit status: 0 all of them work; 1 at least one does not; 2 there is no such server, or the
/// configuration is wrong.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate mcp test
  toolgate mcp test git --json")]
pub(crate) struct McpTestArgs {
    /// Servers to start (default: all that are enabled)
    #[arg(add = crate::completion_candidates::servers())]
    pub(crate) names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Put Toolgate under another agent: write the agent's settings
///
/// Shows the change of each file first, and asks. Afterwards the agent uses Toolgate's tools, its
/// own shell and edit tools are off where it allows that, and only Toolgate asks for approval.
/// docs/mcp-server.md says for each agent what was tested.
///
/// Claude Code, Cursor and VS Code are set up for the project in the working directory, and the
/// first two for all your projects with --user. Codex, Zed and goose have one file for you.
///
/// Exit status: 0 it is set up; 1 you said no, or a file cannot be changed; 2 the command line is
/// wrong, or there is no terminal to ask at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate mcp setup codex
  toolgate mcp setup claude --dry-run
  toolgate mcp setup claude --undo
  toolgate mcp setup goose --yes --sandbox read-only")]
pub(crate) struct McpSetupArgs {
    /// Agent to set up
    #[arg(value_enum)]
    pub(crate) agent: SetupAgent,
    /// Change your own settings, for all projects, instead of those of this project
    #[arg(long)]
    pub(crate) user: bool,
    /// Leave the agent's own shell and edit tools on: they bypass Toolgate
    #[arg(long)]
    pub(crate) keep_own_tools: bool,
    /// Sandbox mode of Toolgate's tools
    #[arg(long, value_enum, value_name = "MODE", default_value = "workspace-write")]
    pub(crate) sandbox: SetupSandbox,
    /// Take the last setup of this agent back
    #[arg(long)]
    pub(crate) undo: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Directory of the project (default: the current one)
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// An agent that can be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupAgent {
    /// Codex CLI
    Codex,
    /// Claude Code
    Claude,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Zed
    Zed,
    /// goose
    Goose,
}

impl SetupAgent {
    /// Returns its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
            Self::Goose => "goose",
        }
    }
}

/// The sandbox mode that another agent's tools get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupSandbox {
    /// Tools read below the project, and commands write only to a private /tmp
    ReadOnly,
    /// Tools write below the project too
    WorkspaceWrite,
}

impl SetupSandbox {
    /// Returns its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
        }
    }
}
