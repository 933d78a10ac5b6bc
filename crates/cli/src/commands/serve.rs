//! `toolgate serve`: serves sessions to programs over JSON-RPC.

use std::io::IsTerminal;
use std::process::ExitCode;

use config::OperationFault;
use server::serve::{self, ServeSettings};

use crate::args::ServeArgs;
use crate::exit_status;

pub(crate) fn run(args: ServeArgs) -> Result<ExitCode, OperationFault> {
    let ServeArgs { socket, websocket, token_env, metrics, allow_remote, place } = args;
    if socket.is_none() && websocket.is_none() && std::io::stdin().is_terminal() {
        terminal::print_hint(
            "programs start this command and talk to it; docs/serve.md says how. Ctrl-D ends",
        );
    }
    let settings = ServeSettings { socket, websocket, token_env, metrics, allow_remote, flags: place };
    super::block_on(serve::run(settings)).map(exit_status::of_server)
}
