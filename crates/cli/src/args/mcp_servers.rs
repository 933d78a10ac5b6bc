//! Command-line arguments of the subcommands that manage MCP servers (`toolgate mcp list`, `add`, `test` …).

use clap::{Args, Subcommand};

use super::WorkspaceArgs;
use crate::config::{NetworkMode, SandboxMode};

/// What is done about servers.
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
/// Shows an address; open it in a browser. What you are given is kept in a file that only you can read, and renewed.
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Forget what a login to a server gave
#[derive(Debug, Args)]
pub(crate) struct McpLogoutArgs {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// List the servers whose tools are used
///
/// Nothing is started: `toolgate mcp test` does that.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Show one server as your configuration has it
#[derive(Debug, Args)]
pub(crate) struct McpGetArgs {
    /// Its name
    pub(crate) name: String,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Add a server to your configuration
///
/// It is started confined: it may write below the directory that you work in and use the network, unless you say otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate mcp add git -- uvx mcp-server-git
  toolgate mcp add files --sandbox read-only --network off -- npx -y @modelcontextprotocol/server-filesystem .
  toolgate mcp add issues --env-var GITHUB_TOKEN -- github-mcp-server stdio
  toolgate mcp add docs --url https://example.com/mcp --bearer-token-env-var DOCS_TOKEN")]
pub(crate) struct McpAddArgs {
    /// What to call it: letters, digits, `_` and `-`
    pub(crate) name: String,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// Where it is, if it is no program
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// A variable that it gets, and its value
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A variable of yours that it gets
    #[arg(long, value_name = "NAME")]
    pub(crate) env_var: Vec<String>,
    /// A header that it is sent, and its value
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// The variable of yours that holds its token
    #[arg(long, value_name = "NAME")]
    pub(crate) bearer_token_env_var: Option<String>,
    /// What it may do
    #[arg(long, value_enum)]
    pub(crate) sandbox: Option<SandboxMode>,
    /// Whom it may talk to
    #[arg(long, value_enum)]
    pub(crate) network: Option<NetworkMode>,
}

/// Remove a server from your configuration
#[derive(Debug, Args)]
pub(crate) struct McpRemoveArgs {
    /// Its name
    pub(crate) name: String,
}

/// Start servers, and say how that went
///
/// Exit status: 0 all of them can be used; 1 one cannot; 2 there is no such server, or the configuration is wrong.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate mcp test
  toolgate mcp test git --json")]
pub(crate) struct McpTestArgs {
    /// Which ones; all that are enabled if none is named
    pub(crate) names: Vec<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}
