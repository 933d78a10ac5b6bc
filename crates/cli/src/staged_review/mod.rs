//! The review of staged changes on a terminal: list, diff, questions, and the result of an apply.

mod change_diff;
mod change_table;
mod pick;
mod questions;

use std::path::Path;

use serde_json::{Value, json};
use staging::{ApplyReport, Change, ChangeList, Selection, Stage};

pub(crate) use self::change_diff::print_diff;
pub(crate) use self::change_table::{print_changes, print_next, show_changes};
pub(crate) use self::pick::pick;
pub(crate) use self::questions::{AfterTry, ask_after_try, confirm, is_interactive};
use config::OperationFault;
use session::staged_changes::{SandboxGitRules, stage_fault};

/// Returns the pending changes as JSON.
pub(crate) fn changes_json(stage: &Stage, list: &ChangeList) -> Value {
    let change = |change: &Change| {
        json!({
            "path": change.path.display().to_string(),
            "kind": change.kind.as_str(),
            "entry": change.entry,
            "old_bytes": change.old_size,
            "new_bytes": change.new_size,
            "becomes_executable": change.becomes_executable,
            "binary": change.is_binary,
            "takes_effect": change.takes_effect,
            "looks_secret": change_table::looks_secret(&change.path),
        })
    };
    let folded = list.folded.iter().map(|one| {
        json!({
            "path": one.path.display().to_string(),
            "added": one.added,
            "modified": one.modified,
            "removed": one.removed,
            "new_bytes": one.bytes,
        })
    });
    let git =
        list.git.iter().map(|(path, files)| json!({"path": path.display().to_string(), "files": files}));
    let conflicts =
        list.conflicts.iter().map(|one| json!({"path": one.path.display().to_string(), "why": one.why}));
    json!({
        "session": stage.id(),
        "directory": stage.working_directory().display().to_string(),
        "title": stage.title(),
        "changes": list.changes.iter().map(change).collect::<Vec<_>>(),
        "folded": folded.collect::<Vec<_>>(),
        "git": git.collect::<Vec<_>>(),
        "conflicts": conflicts.collect::<Vec<_>>(),
    })
}

/// Applies the selected changes to the user's files.
pub(crate) fn apply_selection(
    stage: &mut Stage,
    selection: &Selection,
    records: &Path,
) -> Result<ApplyReport, OperationFault> {
    stage.apply(selection, records, &mut SandboxGitRules).map_err(|fault| {
        if let staging::StageFault::Conflicts { conflicts } = &fault {
            for conflict in conflicts {
                terminal::print_stderr(&format!(
                    "  {}: {}",
                    terminal::to_one_line(&conflict.path.display().to_string()),
                    conflict.why
                ));
            }
        }
        stage_fault(&fault)
    })
}

/// Prints the result of an apply.
pub(crate) fn print_apply(report: &ApplyReport) {
    let names = match report.applied.len() {
        0 => "only git's own files were changed".to_owned(),
        1 => "1 path was changed".to_owned(),
        count => format!("{count} paths were changed"),
    };
    terminal::print_stderr(&format!("applied: {names}; `toolgate undo` takes it back"));
    let line = |path: &Path| terminal::to_one_line(&path.display().to_string());
    for merged in &report.merged {
        terminal::print_stderr(&format!("  merged with your changes: {}", line(&merged.path)));
    }
    for held in &report.held_back {
        terminal::print_warning(&format!(
            "`{}` was not applied: it takes effect when you {}; `toolgate apply {}` applies it",
            line(&held.path),
            held.when,
            line(&held.path)
        ));
    }
    for path in &report.unsupported {
        terminal::print_warning(&format!("`{}` was not applied: it is a socket or a device", line(path)));
    }
    for note in &report.git_notes {
        terminal::print_hint(&terminal::to_one_line(note));
    }
}
