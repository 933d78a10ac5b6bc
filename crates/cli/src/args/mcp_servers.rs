//! Command-line arguments of the subcommands that manage MCP servers (`toolgate mcp list`, `add`, `test` …).

use clap::{Args, Subcommand};

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
}

/// Log in to a server behind a URL
///
/// Prints an address to open in a browser on this machine. The login is kept in a file that only
/// you can read, and is renewed automatically.
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// Name of the server, e.g. `docs`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Delete the login to a server
#[derive(Debug, Args)]
pub(crate) struct McpLogoutArgs {
    /// Name of the server, e.g. `docs`
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
    pub(crate) names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}
