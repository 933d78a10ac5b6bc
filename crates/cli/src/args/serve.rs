//! Command-line arguments of `toolgate serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::WorkspaceArgs;
use crate::listen_address::parse_listen_address;

/// Let programs hold sessions here, over JSON-RPC: prompts, tools, processes, files, and tools of their own
///
/// Speaks JSON-RPC 2.0 at standard input and output, one message a line, with the program that started it; with --socket or --websocket,
/// with many. docs/serve.md says what can be said, docs/openrpc.json describes it for machines, and clients/python is a client.
///
/// What has to be asked is asked of the client. Sessions outlive their connections, and their journals the server: a client comes back to one
/// with `session/attach`.
///
/// Exit status: 0 when the program has left; 2 the command line or the configuration is wrong; 130 after Ctrl-C, 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate serve
  toolgate serve --socket ~/.toolgate.sock
  toolgate serve --websocket 127.0.0.1:8719
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1,\"client\":{\"name\":\"me\"}}}' | toolgate serve")]
pub(crate) struct ServeArgs {
    /// Serve at this Unix socket, which only you can reach
    #[arg(long, value_name = "PATH", conflicts_with = "websocket")]
    pub(crate) socket: Option<PathBuf>,
    /// Serve WebSockets at this address of this machine; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) websocket: Option<SocketAddr>,
    /// Take the token that clients must bring from this variable, instead of from a file of ours
    #[arg(long, value_name = "NAME", requires = "websocket")]
    pub(crate) token_env: Option<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}
