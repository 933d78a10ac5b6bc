//! `toolgate serve`: serves sessions to programs over JSON-RPC.

mod client_approver;
mod client_processes;
mod client_tools;
pub(crate) mod content_conversion;
mod delta_sender;
mod event_stream;
mod file_requests;
mod hosted_session;
mod idempotent_calls;
mod open_session;
mod session_server;
mod subscribers;
mod transports;
mod turn_driver;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use crate::args::ServeArgs;
use crate::commands::mcp::stop_signals;
use config::OperationFault;
use config::UserDirs;
use session_server::SessionServer;

pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, OperationFault> {
    if args.socket.is_none() && args.websocket.is_none() && std::io::stdin().is_terminal() {
        terminal::print_hint(
            "programs start this command and talk to it; docs/serve.md says how. Ctrl-D ends",
        );
    }
    super::block_on(async {
        let server = Arc::new(SessionServer::new(args.place.clone(), UserDirs::from_env()?));
        let serving = async {
            match (&args.socket, args.websocket) {
                (Some(path), _) => transports::serve_socket(&server, path).await,
                (None, Some(address)) => {
                    transports::serve_websocket(&server, address, args.token_env.as_deref()).await
                }
                (None, None) => transports::serve_stdio(&server).await,
            }
        };
        let ended = tokio::select! {
            served = serving => served.map(|()| ExitCode::SUCCESS),
            signalled = stop_signals::wait_for_signal() => Ok(ExitCode::from(signalled?)),
        };
        server.close().await;
        ended
    })
}
