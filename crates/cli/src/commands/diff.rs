//! `toolgate diff`: shows the changes of the last turn in a directory.

use std::process::ExitCode;

use serde_json::json;

use crate::args::DiffArgs;
use config::OperationFault;
use config::UserDirs;
use session::turn_diff_store;

pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, OperationFault> {
    let directory = args.cwd.clone().unwrap_or_else(|| ".".into());
    let directory = exec::fs::canonicalize(&directory).map_err(|fault| {
        OperationFault::usage(format!("`{}` cannot be opened: {fault}", directory.display()))
    })?;
    let state = UserDirs::from_env()?.state;
    let last = state.map(|state| turn_diff_store::last_diff(&state, &directory)).transpose()?.flatten();
    if args.json {
        let all = json!({"cwd": directory.display().to_string(), "unified_diff": last});
        terminal::print_text(&all.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    match last {
        Some(diff) if diff.is_empty() => {
            terminal::print_hint("the last turn in this directory changed nothing");
        }
        Some(diff) => terminal::print_diff(&diff)?,
        None => terminal::print_hint("no turn has changed anything in this directory yet"),
    }
    Ok(ExitCode::SUCCESS)
}
