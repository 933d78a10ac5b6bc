//! `toolgate run`: runs a model session with live output and optional user input.

use std::process::ExitCode;
use std::sync::Arc;

use config::{OperationFault, UserDirs};
use runtime::Approver;

use crate::args::RunArgs;
use crate::run_session::{RunInputs, run_session};
use crate::terminal_approver::TerminalApprover;

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, OperationFault> {
    let terminal = if args.json { None } else { TerminalApprover::detect() };
    let approver = terminal.clone().map(|person| person as Arc<dyn Approver>);
    run_session(args, RunInputs { dirs: UserDirs::from_env()?, chosen: None, terminal, approver })
}
