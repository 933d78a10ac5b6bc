//! `toolgate completions`: prints the script that lets a shell ask `toolgate` for completions.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use crate::args::{Cli, CompletionsArgs};
use config::OperationFault;

/// The variable in which the script names the shell that asks.
const VARIABLE: &str = "TOOLGATE_COMPLETE";

/// Answers a shell that asks for completions, and exits. Returns if no shell asks.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, OperationFault> {
    let name = args.shell.to_string();
    let shell = Shells::builtins();
    let shell = shell
        .completer(&name)
        .ok_or_else(|| OperationFault::usage(format!("there are no completions for {name}")))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "toolgate", "toolgate", "toolgate", &mut script)?;
    terminal::print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
