//! `toolgate serve`: serves sessions to programs over JSON-RPC.

mod asks;
mod calls;
mod company;
pub(crate) mod content;
mod deltas;
mod doors;
mod dynamic;
mod files;
mod hall;
mod live;
mod open;
mod processes;
mod tail;
mod turns;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use crate::args::ServeArgs;
use crate::commands::mcp::ended;
use crate::config::UserDirs;
use crate::fault::CliFault;
use crate::screen;
use hall::SessionServer;

pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, CliFault> {
    if args.socket.is_none() && args.websocket.is_none() && std::io::stdin().is_terminal() {
        screen::print_hint("programs start this command and talk to it; docs/serve.md says how. Ctrl-D ends");
    }
    super::block_on(async {
        let hall = Arc::new(SessionServer::new(args.place.clone(), UserDirs::from_env()?));
        let serving = async {
            match (&args.socket, args.websocket) {
                (Some(path), _) => doors::serve_socket(&hall, path).await,
                (None, Some(address)) => doors::serve_websocket(&hall, address, args.token_env.as_deref()).await,
                (None, None) => doors::serve_stdio(&hall).await,
            }
        };
        let ended = tokio::select! {
            served = serving => served.map(|()| ExitCode::SUCCESS),
            signalled = ended::wait_for_signal() => Ok(ExitCode::from(signalled?)),
        };
        hall.close().await;
        ended
    })
}
