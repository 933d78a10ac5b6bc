//! Command-line arguments of `toolgate mcp` and `toolgate approve`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::{McpServerCommand, WorkspaceArgs};
use crate::listen_address::parse_listen_address;

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
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpServerCommand>,
    /// Serve over HTTP at this address, below /mcp; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Take the token that clients must bring from this variable, instead of from a file of ours
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Option<String>,
    /// Serve beyond this machine, to clients that call it by this name or address (repeatable); put TLS before it
    #[arg(long, value_name = "NAME", requires = "http", value_parser = remote)]
    pub(crate) allow_remote: Vec<String>,
    /// Let clients choose to work below this directory too, not only below the working directory (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
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
pub(crate) struct ApproveArgs {}

/// Parses the name that clients send in their `Host` header.
fn remote(text: &str) -> Result<String, String> {
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
            assert_eq!(remote(text).ok().as_deref(), expected, "{text}");
        }
    }
}
