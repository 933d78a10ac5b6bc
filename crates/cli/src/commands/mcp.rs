//! `toolgate mcp`: serves our tools to other agents as an MCP server.

use std::io::IsTerminal;
use std::process::ExitCode;

use config::OperationFault;
use server::mcp::{self, McpSettings};

use crate::args::McpArgs;
use crate::exit_status;

pub(crate) fn run(args: McpArgs) -> Result<ExitCode, OperationFault> {
    let McpArgs { http, token_env, allow_remote, root, place, .. } = args;
    if http.is_none() && std::io::stdin().is_terminal() {
        terminal::print_hint(
            "agents start this command and talk to it; docs/mcp-server.md says how. Ctrl-D ends",
        );
    }
    let settings = McpSettings { http, token_env, allow_remote, roots: root, flags: place };
    super::block_on(mcp::run(settings)).map(exit_status::of_server)
}
