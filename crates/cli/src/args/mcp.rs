//! The command lines of `toolgate mcp` and `toolgate approve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{Place, ServerCommand};

/// Give these tools to another agent, as a server of the Model Context Protocol; or use those of other servers
///
/// `toolgate mcp add`, `list`, `get`, `remove` and `test` are about servers whose tools are used here: docs/mcp.md. Without one of
/// them, this is a server itself.
///
/// Speaks the protocol at standard input and output, as agents start servers; with --http, to many clients over HTTP. Both
/// eras of it are understood: 2025-11-25, which begins with `initialize`, and 2026-07-28, which begins with nothing.
///
/// What has to be asked is asked of the client, if it can show a form, and of every `toolgate approve`; who answers first has
/// answered. If neither is there, it is refused. docs/mcp-server.md says how to set up Claude Code, Codex, Cursor,
/// VS Code, Zed and goose.
///
/// Exit status: 0 when the client has left; 1 if it does not speak the protocol; 2 the command line or the configuration is
/// wrong; 130 after Ctrl-C, 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  toolgate mcp
  toolgate mcp --cwd ~/project --sandbox workspace-write
  claude mcp add toolgate -- toolgate mcp --sandbox workspace-write
  toolgate mcp add git -- uvx mcp-server-git
  toolgate mcp test
  toolgate mcp --http 127.0.0.1:8717
  TOKEN=$(openssl rand -hex 32) toolgate mcp --http 127.0.0.1:8717 --token-env TOKEN")]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<ServerCommand>,
    /// Serve over HTTP at this address, below /mcp; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// Take the token that clients must bring from this variable, instead of from a file of ours
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Option<String>,
    /// Serve beyond this machine, to clients that call it by this name or address (repeatable); put TLS before it
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_remote: Vec<String>,
    /// Let clients choose to work below this directory too, not only below the working directory (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Answer what running `toolgate mcp` servers have to ask
///
/// Shows one question after the other, of every server of yours that runs or is started later. What is answered
/// elsewhere in the meantime goes away. Ctrl-C ends it when no question stands.
///
/// Exit status: 2 if there is no terminal; 130 after Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate approve")]
pub(crate) struct Approve {}
