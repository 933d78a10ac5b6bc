//! `toolgate diff`: shows the changes of the last turn in a directory.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::args::DiffArgs;
use config::OperationFault;
use config::UserDirs;
use report::{diff_origin, resolve_session};
use session::open_turn_mark::{UnstoredTurn, UnstoredTurnState, unstored_turns};
use session::turn_diff_store;
use terminal::FAINT;

pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, OperationFault> {
    let directory = args.cwd.clone().unwrap_or_else(|| ".".into());
    let directory = exec::fs::canonicalize(&directory).map_err(|fault| {
        OperationFault::usage(format!("`{}` cannot be opened: {fault}", directory.display()))
    })?;
    let state = UserDirs::from_env()?.state;
    let state = state.as_deref();
    // Before the diff is read: a turn that ends meanwhile stores its diff first.
    let unstored = state.map(|state| unstored_turns(state, &directory)).unwrap_or_default();
    let last = state.map(|state| turn_diff_store::last_diff(state, &directory)).transpose()?.flatten();
    if args.json {
        let cut_off = unstored.iter().filter(|turn| turn.state == UnstoredTurnState::CutOff);
        let cut_off: Vec<&str> = cut_off.map(|turn| turn.session.as_str()).collect();
        let cwd = directory.display().to_string();
        let all = json!({ "cwd": cwd, "unified_diff": last, "cut_off_sessions": cut_off });
        terminal::print_text(&all.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    unstored.iter().for_each(warn_about);
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

/// Says that the changes of a newer turn are not in the diff.
fn warn_about(UnstoredTurn { session, state }: &UnstoredTurn) {
    let session = terminal::to_one_line(session);
    match state {
        UnstoredTurnState::Running => {
            terminal::print_hint(&format!(
                "session {session} may be changing files: its call is not over yet"
            ));
        }
        UnstoredTurnState::CutOff => terminal::print_warning(&format!(
            "session {session} was killed while a call ran, so the changes of that call are not known; \
             what is shown was stored before it"
        )),
    }
}

/// Describes the session that made the changes. It is only an addition: a fault leaves it out.
fn find_origin(directory: &Path, diff: &str) -> Option<String> {
    let sessions = resolve_session::sessions_directory().ok()?;
    diff_origin::describe_origin(&sessions, directory, diff).ok()?
}
