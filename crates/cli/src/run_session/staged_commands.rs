//! Slash commands about staged changes: review, apply, discard, undo and redo in the session that made them.

use std::path::{Path, PathBuf};

use runtime::{StagedWorkspace, Toolgate};
use staging::{HistoryMove, Selection};

use crate::staged_review::{apply_selection, print_apply, print_changes, print_diff};
use config::OperationFault;
use session::staged_changes::{SandboxGitRules, stage_fault};

/// The commands that need staged changes.
pub(super) const STAGED_COMMANDS: &[&str] = &["apply", "changes", "discard", "redo"];

/// Executes a command about the staged changes of `toolgate`. Returns the note for the model, if something changed
/// that it should know. `None` if changes are not staged.
pub(super) fn execute(
    toolgate: &Toolgate,
    command: &str,
    argument: &str,
) -> Option<Result<Option<String>, OperationFault>> {
    let staged = toolgate.staged()?;
    Some(match command {
        "changes" => show(staged, argument),
        "diff" => show(staged, "--diff"),
        "apply" => apply(staged, &selection(toolgate, argument)),
        "discard" => discard(staged, &selection(toolgate, argument)),
        "undo" | "redo" => step(staged, command, argument),
        _ => Ok(None),
    })
}

/// Returns a line about the pending changes, after a turn.
pub(super) fn pending_line(toolgate: &Toolgate) -> Option<String> {
    let list = toolgate.staged()?.stage().changes().ok()?;
    let (files, verb) = match list.count() {
        0 => return None,
        1 => ("1 staged change".to_owned(), "is"),
        count => (format!("{count} staged changes"), "are"),
    };
    Some(format!("{files} {verb} pending: /changes, /apply, /discard, /undo"))
}

fn show(staged: &StagedWorkspace, argument: &str) -> Result<Option<String>, OperationFault> {
    let stage = staged.stage();
    let list = stage.changes().map_err(|fault| stage_fault(&fault))?;
    match argument {
        "--diff" => print_diff(&stage, &list)?,
        _ => print_changes(&stage, &list)?,
    }
    Ok(None)
}

fn selection(toolgate: &Toolgate, argument: &str) -> Selection {
    let cwd = &toolgate.router().working_dir().cwd;
    let paths: Vec<PathBuf> = argument.split_whitespace().map(|path| cwd.join(path)).collect();
    if paths.is_empty() { Selection::All } else { Selection::Paths(paths) }
}

fn apply(staged: &StagedWorkspace, selection: &Selection) -> Result<Option<String>, OperationFault> {
    let report = apply_selection(&mut staged.stage(), selection, staged.records())?;
    remount(staged)?;
    print_apply(&report);
    let held: Vec<String> = report.held_back.iter().map(|one| quoted(staged, &one.path)).collect();
    Ok(Some(match held.is_empty() {
        true => format!("(I have applied {} of your changes to my files.)", report.applied.len()),
        false => format!("(I have applied your changes to my files, except for {}.)", held.join(", ")),
    }))
}

fn discard(staged: &StagedWorkspace, selection: &Selection) -> Result<Option<String>, OperationFault> {
    let discarded =
        staged.stage().discard(selection, staged.records()).map_err(|fault| stage_fault(&fault))?;
    remount(staged)?;
    let names: Vec<String> = discarded.iter().map(|path| quoted(staged, path)).collect();
    let what = match selection {
        Selection::All => "all staged changes".to_owned(),
        Selection::Paths(_) => names.join(", "),
    };
    terminal::print_wrapped(&format!("discarded: {what}; /undo brings them back"))?;
    Ok(Some(format!("(I have discarded your changes: {what}.)")))
}

fn step(staged: &StagedWorkspace, command: &str, argument: &str) -> Result<Option<String>, OperationFault> {
    let steps = match argument {
        "" => 1,
        number => number
            .parse()
            .ok()
            .filter(|steps| *steps > 0)
            .ok_or_else(|| OperationFault::usage(format!("/{command} takes a number of steps")))?,
    };
    let (mut stage, records) = (staged.stage(), staged.records());
    let moved = match command {
        "undo" => stage.undo(steps, records, &mut SandboxGitRules),
        _ => stage.redo(steps, records, &mut SandboxGitRules),
    };
    let moved = moved.map_err(|fault| stage_fault(&fault))?;
    drop(stage);
    remount(staged)?;
    let word = if command == "undo" { "undone" } else { "redone" };
    let lines = describe(&moved, word);
    terminal::print_wrapped(&lines)?;
    Ok(Some(format!("(I have {word} {} of your steps: {}.)", moved.moved.len(), labels(&moved))))
}

fn describe(moved: &HistoryMove, word: &str) -> String {
    let steps = moved.moved.iter().map(|one| format!("{word}: {} {}", one.number, one.label));
    let left = moved.left.iter().map(|one| format!("`{}` stays: you changed it since", one.path.display()));
    steps.chain(left).collect::<Vec<_>>().join("\n")
}

fn labels(moved: &HistoryMove) -> String {
    moved.moved.iter().map(|one| one.label.clone()).collect::<Vec<_>>().join("; ")
}

/// Returns the path below the directory of the session, in backticks.
fn quoted(staged: &StagedWorkspace, path: &Path) -> String {
    let directory = staged.stage().working_directory();
    format!(
        "`{}`",
        terminal::to_one_line(&path.strip_prefix(directory).unwrap_or(path).display().to_string())
    )
}

fn remount(staged: &StagedWorkspace) -> Result<(), OperationFault> {
    staged.remount().map_err(|fault| OperationFault::failed(fault.to_string()))
}
