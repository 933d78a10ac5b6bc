//! `toolgate man`: writes the manual pages, one for each subcommand, from the command-line definition.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, ManArgs};
use config::OperationFault;

pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, OperationFault> {
    let failed =
        |error: std::io::Error| OperationFault::failed(format!("{}: {error}", args.directory.display()));
    std::fs::create_dir_all(&args.directory).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
