//! `toolgate run`: runs a model session with live output and optional user input.

use std::process::ExitCode;
use std::sync::Arc;

use config::{OperationFault, UserDirs};
use runtime::Approver;
use session::approval::PromptScope;

use crate::args::RunArgs;
use crate::run_session::{RunInputs, run_session};
use crate::terminal_approver::TerminalApprover;

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, OperationFault> {
    let terminal = if args.json { None } else { TerminalApprover::detect(PromptScope::Session) };
    let approver = terminal.clone().map(|person| person as Arc<dyn Approver>);
    let dirs = UserDirs::from_env()?;
    run_session(args, &RunInputs { dirs, chosen: None, terminal, approver, can_go_on: true })
}
