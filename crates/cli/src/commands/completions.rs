//! `toolgate completions`: generates shell completion scripts from the command-line definition.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::fault::Fault;
use crate::screen;

pub(crate) fn run(args: &Completions) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolgate", &mut script);
    screen::text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
