//! `toolgate diff`: shows the changes of the last turn in a directory.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::args::DiffArgs;
use config::OperationFault;
use config::UserDirs;
use report::{diff_origin, resolve_session};
use session::turn_diff_store;
use terminal::FAINT;

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
        Some(diff) => {
            // For a person only: what a program reads stays a diff.
            if std::io::stdout().is_terminal()
                && let Some(origin) = find_origin(&directory, &diff)
            {
                let origin = terminal::to_one_line(&origin);
                terminal::print_styled(&format!("{FAINT}{origin}{FAINT:#}\n"))?;
            }
            terminal::print_diff(&diff)?;
        }
        None => terminal::print_hint("no turn has changed anything in this directory yet"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes the session that made the changes. It is only an addition: a fault leaves it out.
fn find_origin(directory: &Path, diff: &str) -> Option<String> {
    let sessions = resolve_session::sessions_directory().ok()?;
    diff_origin::describe_origin(&sessions, directory, diff).ok()?
}
