//! `toolgate acp`: serves as the agent of an editor over the Agent Client Protocol (ACP).

mod call_view;
mod editor_approver;
mod editor_session;
mod editor_updates;
mod history;
mod live_output;
mod mcp_servers;
mod open_session;
mod patch_preview;
mod prompt_blocks;
mod protocol;
mod server;
mod session_mode;
mod update_sender;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use rpc::{ConnectionLimits, LineTransport};

use crate::args::AcpArgs;
use crate::commands::mcp::stop_signals;
use config::OperationFault;
use config::UserDirs;
use server::AcpServer;

pub(crate) fn run(args: AcpArgs) -> Result<ExitCode, OperationFault> {
    if std::io::stdin().is_terminal() {
        terminal::print_hint("editors start this command and talk to it; docs/acp.md says how. Ctrl-D ends");
    }
    super::block_on(async {
        let server = Arc::new(AcpServer::new(args, UserDirs::from_env()?));
        let host = Arc::clone(&server) as Arc<dyn rpc::RpcHost>;
        let serving = rpc::serve_connection(
            host,
            LineTransport(tokio::io::stdin(), tokio::io::stdout()),
            ConnectionLimits::default(),
        );
        let ended = tokio::select! {
            () = serving => Ok(ExitCode::SUCCESS),
            signalled = stop_signals::wait_for_signal() => Ok(ExitCode::from(signalled?)),
        };
        server.close().await;
        ended
    })
}
