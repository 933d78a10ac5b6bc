//! `toolgate acp`: serves as the agent of an editor over the Agent Client Protocol (ACP).

mod asks;
mod calls;
mod edits;
mod house;
mod line;
mod live;
mod modes;
mod open;
mod outputs;
mod prompt;
mod protocol;
mod replay;
mod servers;
mod updates;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use rpc::{ConnectionLimits, LineTransport};

use crate::args::AcpArgs;
use crate::commands::mcp::ended;
use crate::config::UserDirs;
use crate::fault::CliFault;
use crate::screen;
use house::AcpServer;

pub(crate) fn run(args: AcpArgs) -> Result<ExitCode, CliFault> {
    if std::io::stdin().is_terminal() {
        screen::print_hint("editors start this command and talk to it; docs/acp.md says how. Ctrl-D ends");
    }
    super::block_on(async {
        let house = Arc::new(AcpServer::new(args, UserDirs::from_env()?));
        let host = Arc::clone(&house) as Arc<dyn rpc::RpcHost>;
        let serving = rpc::serve_connection(host, LineTransport(tokio::io::stdin(), tokio::io::stdout()), ConnectionLimits::default());
        let ended = tokio::select! {
            () = serving => Ok(ExitCode::SUCCESS),
            signalled = ended::wait_for_signal() => Ok(ExitCode::from(signalled?)),
        };
        house.close().await;
        ended
    })
}
