//! Command-line arguments of `toolgate mcp` and `toolgate approve`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::{McpServerCommand, WorkspaceArgs};
use server::listen_address::parse_listen_address;

/// Serve these tools to another agent over MCP, or manage the MCP servers used here
///
/// Without a subcommand, this is a server of the Model Context Protocol (MCP). An agent starts it
/// and talks to it over standard input and output. With --http, it serves many clients over HTTP.
/// It speaks both protocol versions: 2025-11-25, which begins with `initialize`, and the stateless
/// 2026-07-28. docs/mcp-server.md describes the setup for Claude Code, Codex, Cursor, VS Code, Zed
/// and goose.
///
/// The subcommands manage the servers whose tools are used here: docs/mcp.md.
///
/// Approval questions go to the client, if it can show a form, and to every `toolgate approve`. The
/// first answer counts. If neither is available, the call is refused.
///
/// Exit status: 0 the client has disconnected; 1 it does not speak the protocol; 2 the command line
/// or the configuration is wrong; 129 after SIGHUP; 130 after Ctrl-C; 143 after SIGTERM.
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
  TOKEN=$(uuidgen) toolgate mcp --http 127.0.0.1:8717 --token-env TOKEN")]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpServerCommand>,
    /// Serve over HTTP at this address, under /mcp, e.g. 127.0.0.1:8717; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Read the token of clients from this environment variable, instead of a file that Toolgate
    /// creates
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Option<String>,
    /// Serve other machines too, to clients that use this host name or address (repeatable); put
    /// TLS in front of it
    #[arg(long, value_name = "NAME", requires = "http", value_parser = parse_remote_name)]
    pub(crate) allow_remote: Vec<String>,
    /// Let clients work below this directory too, not only below the working directory (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

/// Answer the approval questions of running `toolgate mcp` servers
///
/// Shows the questions of all your servers one after another, also of servers that start later. A
/// question that is answered elsewhere disappears. Ctrl-C ends the command when no question is
/// open.
///
/// Exit status: 2 there is no terminal; 129 after SIGHUP; 130 after Ctrl-C; 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate approve")]
pub(crate) struct ApproveArgs {}

/// Parses the name that clients send in their `Host` header.
pub(super) fn parse_remote_name(text: &str) -> Result<String, String> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok(format!("[{text}]"));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.split_once(']')).map_or(text, |(inner, _)| inner);
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-._:".contains(letter);
    let is_address = bare.parse::<IpAddr>().is_ok();
    if text.is_empty() || !(is_address || text.chars().all(is_of_name)) {
        return Err(
            "it takes the name or address by which clients reach this server, e.g. build.example.org; \
                    no https:// before it and nothing behind it"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_names_are_read_as_people_write_them() {
        for (text, expected) in [
            ("build.example.org", Some("build.example.org")),
            ("build:8443", Some("build:8443")),
            ("2001:db8::1", Some("[2001:db8::1]")),
            ("[2001:db8::1]:80", Some("[2001:db8::1]:80")),
            ("", None),
            (" ", None),
            ("https://build.example.org", None),
            ("build/mcp", None),
        ] {
            assert_eq!(parse_remote_name(text).ok().as_deref(), expected, "{text}");
        }
    }
}
