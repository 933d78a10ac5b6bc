//! `toolgate completions`: generates shell completion scripts from the command-line definition.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use config::OperationFault;

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, OperationFault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolgate", &mut script);
    terminal::print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
