//! Commands about staged changes: `toolgate changes`, `apply`, `discard`, `undo`, `redo`, `checkpoints`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use staging::{ApplyReport, HistoryMove, Selection, Stage};

use crate::args::{ApplyArgs, ChangesArgs, CheckpointsArgs, DiscardArgs, RedoArgs, StageArgs, UndoArgs};
use crate::staged_review::{
    apply_selection, changes_json, confirm, is_interactive, pick, print_apply, print_changes, print_diff,
    print_next, show_changes,
};
use config::{OperationFault, UserDirs};
use session::staged_changes::{SandboxGitRules, find_stage, stage_fault};

/// A stage, the directory of the records of its commits, and the directory to which given paths are relative.
struct FoundStage {
    stage: Stage,
    records: PathBuf,
    directory: PathBuf,
}

impl FoundStage {
    fn find(args: &StageArgs) -> Result<Self, OperationFault> {
        let directory = args.cwd.clone().unwrap_or_else(|| ".".into());
        let directory = exec::fs::canonicalize(&directory).map_err(|fault| {
            OperationFault::usage(format!("`{}` cannot be opened: {fault}", directory.display()))
        })?;
        let (stage, records) = find_stage(&UserDirs::from_env()?, args.session.as_deref(), &directory)?;
        Ok(Self { stage, records, directory })
    }

    /// Returns the selection of `paths`; all changes if there are none.
    fn selection(&self, paths: &[PathBuf]) -> Selection {
        match paths {
            [] => Selection::All,
            paths => Selection::Paths(paths.iter().map(|path| absolute(&self.directory, path)).collect()),
        }
    }
}

fn absolute(directory: &Path, path: &Path) -> PathBuf {
    // The entry may exist in the staged changes alone, and a link means itself.
    let joined = directory.join(path);
    let mut normal = PathBuf::new();
    for part in joined.components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

pub(crate) fn run(args: &ChangesArgs) -> Result<ExitCode, OperationFault> {
    let found = FoundStage::find(&args.stage)?;
    let mut list = found.stage.changes().map_err(|fault| stage_fault(&fault))?;
    if let Selection::Paths(paths) = found.selection(&args.paths) {
        let is_shown = |path: &Path| paths.iter().any(|chosen| path.starts_with(chosen));
        list.changes.retain(|change| is_shown(&change.path));
        list.folded.retain(|folded| is_shown(&folded.path));
        list.git.retain(|(path, _)| is_shown(path));
        list.conflicts.retain(|conflict| is_shown(&conflict.path));
    }
    if args.stage.json {
        terminal::print_text(&changes_json(&found.stage, &list).to_string())?;
    } else if args.diff {
        print_diff(&found.stage, &list)?;
    } else {
        print_changes(&found.stage, &list)?;
        print_next(&list);
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn apply(args: &ApplyArgs) -> Result<ExitCode, OperationFault> {
    let mut found = FoundStage::find(&args.stage)?;
    let list = found.stage.changes().map_err(|fault| stage_fault(&fault))?;
    if list.is_empty() {
        terminal::print_hint("there is nothing to apply");
        return Ok(ExitCode::SUCCESS);
    }
    let mut selection = found.selection(&args.paths);
    if args.pick {
        let Some(picked) = pick(&mut found.stage, &list)? else { return Ok(ExitCode::SUCCESS) };
        selection = picked;
    } else if !args.yes && !args.stage.json && is_interactive() {
        show_changes(&found.stage, &list);
        if !confirm("Apply?")? {
            terminal::print_hint("nothing was applied");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let report = apply_selection(&mut found.stage, &selection, &found.records)?;
    if args.stage.json {
        terminal::print_text(&apply_json(&found.stage, &report).to_string())?;
    } else {
        print_apply(&report);
    }
    Ok(ExitCode::SUCCESS)
}

fn apply_json(stage: &Stage, report: &ApplyReport) -> Value {
    let paths = |paths: Vec<&Path>| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    json!({
        "session": stage.id(),
        "applied": paths(report.applied.iter().map(PathBuf::as_path).collect()),
        "merged": paths(report.merged.iter().map(|one| one.path.as_path()).collect()),
        "held_back": paths(report.held_back.iter().map(|one| one.path.as_path()).collect()),
        "unsupported": paths(report.unsupported.iter().map(PathBuf::as_path).collect()),
        "git_notes": report.git_notes,
    })
}

pub(crate) fn discard(args: &DiscardArgs) -> Result<ExitCode, OperationFault> {
    let mut found = FoundStage::find(&args.stage)?;
    let selection = found.selection(&args.paths);
    if !args.yes && !args.stage.json && is_interactive() {
        let list = found.stage.changes().map_err(|fault| stage_fault(&fault))?;
        show_changes(&found.stage, &list);
        if !confirm("Discard?")? {
            terminal::print_hint("nothing was discarded");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let discarded = found.stage.discard(&selection, &found.records).map_err(|fault| stage_fault(&fault))?;
    if args.stage.json {
        let paths: Vec<String> = discarded.iter().map(|path| path.display().to_string()).collect();
        terminal::print_text(&json!({"session": found.stage.id(), "discarded": paths}).to_string())?;
    } else {
        let what = match &selection {
            Selection::All => "all staged changes".to_owned(),
            Selection::Paths(_) => format!("{} paths", discarded.len()),
        };
        terminal::print_stderr(&format!("discarded {what}; `toolgate undo` brings them back"));
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn undo(args: &UndoArgs) -> Result<ExitCode, OperationFault> {
    let mut found = FoundStage::find(&args.stage)?;
    let steps = match args.steps.parse::<usize>() {
        Ok(0) => return Err(OperationFault::usage("the number of steps is at least 1")),
        Ok(steps) => steps,
        Err(_) => found.stage.steps_back_to(&args.steps).map_err(|fault| stage_fault(&fault))?,
    };
    let done =
        found.stage.undo(steps, &found.records, &mut SandboxGitRules).map_err(|fault| stage_fault(&fault))?;
    report_move(&found.stage, &done, "undone", args.stage.json)
}

pub(crate) fn redo(args: &RedoArgs) -> Result<ExitCode, OperationFault> {
    let mut found = FoundStage::find(&args.stage)?;
    let done = found
        .stage
        .redo(args.steps.max(1), &found.records, &mut SandboxGitRules)
        .map_err(|fault| stage_fault(&fault))?;
    report_move(&found.stage, &done, "redone", args.stage.json)
}

fn report_move(
    stage: &Stage,
    done: &HistoryMove,
    word: &str,
    as_json: bool,
) -> Result<ExitCode, OperationFault> {
    if as_json {
        let moved: Vec<Value> = done.moved.iter().map(checkpoint_json).collect();
        let changed: Vec<String> = done.changed.iter().map(|path| path.display().to_string()).collect();
        let left: Vec<String> = done.left.iter().map(|one| one.path.display().to_string()).collect();
        let all = json!({"session": stage.id(), word: moved, "changed": changed, "left": left});
        terminal::print_text(&all.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    for one in &done.moved {
        terminal::print_stderr(&format!("{word}: {} {}", one.number, terminal::to_one_line(&one.label)));
    }
    for left in &done.left {
        terminal::print_warning(&format!(
            "`{}` stays as it is: you changed it since",
            terminal::to_one_line(&left.path.display().to_string())
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn checkpoint_json(one: &staging::Checkpoint) -> Value {
    json!({
        "number": one.number,
        "kind": one.kind.as_str(),
        "label": one.label,
        "calls": one.calls,
        "at": one.at,
        "undone": one.is_undone,
    })
}

pub(crate) fn checkpoints(args: &CheckpointsArgs) -> Result<ExitCode, OperationFault> {
    let found = FoundStage::find(&args.stage)?;
    let all = found.stage.checkpoints();
    if args.stage.json {
        let list: Vec<Value> = all.iter().map(checkpoint_json).collect();
        terminal::print_text(&json!({"session": found.stage.id(), "checkpoints": list}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        terminal::print_hint("nothing was changed yet");
    }
    for one in &all {
        let undone = if one.is_undone { "  (undone)" } else { "" };
        let label = terminal::to_one_line(&one.label);
        terminal::print_text(&format!("{:>4}  {:8} {label}{undone}", one.number, one.kind.as_str()))?;
    }
    Ok(ExitCode::SUCCESS)
}
