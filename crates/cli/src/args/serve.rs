//! Command-line arguments of `toolgate serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::WorkspaceArgs;
use super::mcp::parse_remote_name;
use server::listen_address::parse_listen_address;

/// Serve sessions over JSON-RPC: prompts, tools, processes, files, client tools
///
/// Speaks JSON-RPC 2.0, one message a line, over standard input and output with the program that
/// started it. With --socket or --websocket, it serves many programs. docs/serve.md describes the
/// protocol, docs/openrpc.json describes it for machines, and clients/python is a client.
///
/// Approval questions go to the client. Sessions outlive their connections, and their journals
/// outlive the server: a client returns to a session with `session/attach`.
///
/// Exit status: 0 the program has disconnected; 2 the command line or the configuration is wrong;
/// 129 after SIGHUP; 130 after Ctrl-C; 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate serve
  toolgate serve --socket ~/.toolgate.sock
  toolgate serve --websocket 127.0.0.1:8719
  toolgate serve --socket ~/.toolgate.sock --metrics 127.0.0.1:9469
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",' \\
    '\"params\":{\"protocol\":1,\"client\":{\"name\":\"me\"}}}' | toolgate serve")]
pub(crate) struct ServeArgs {
    /// Listen on this Unix socket, which only you can reach
    #[arg(long, value_name = "PATH", conflicts_with = "websocket")]
    pub(crate) socket: Option<PathBuf>,
    /// Listen for WebSockets at this address of this machine, e.g. 127.0.0.1:8719; port 0 takes a
    /// free one
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) websocket: Option<SocketAddr>,
    /// Read the token of clients from this environment variable, instead of a file that Toolgate
    /// creates
    #[arg(long, value_name = "NAME", requires = "websocket")]
    pub(crate) token_env: Option<String>,
    /// Serve metrics for Prometheus at this address of this machine, under /metrics, e.g.
    /// 127.0.0.1:9469; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Serve metrics to other machines too, to scrapers that use this host name or address
    /// (repeatable)
    #[arg(long, value_name = "NAME", requires = "metrics", value_parser = parse_remote_name)]
    pub(crate) allow_remote: Vec<String>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}
