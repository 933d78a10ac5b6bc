//! `toolgate acp`: serves as the agent of an editor over the Agent Client Protocol (ACP).

use std::io::IsTerminal;
use std::process::ExitCode;

use config::OperationFault;
use server::acp::{self, AcpSettings};

use crate::args::AcpArgs;
use crate::exit_status;

pub(crate) fn run(args: AcpArgs) -> Result<ExitCode, OperationFault> {
    if std::io::stdin().is_terminal() {
        terminal::print_hint("editors start this command and talk to it; docs/acp.md says how. Ctrl-D ends");
    }
    let (model, limits) = (args.model.location(), args.model.limits());
    super::block_on(acp::run(AcpSettings { model, limits, flags: args.place })).map(exit_status::of_server)
}
