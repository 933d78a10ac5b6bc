//! `toolgate try`: runs one command whose changes are kept aside, and asks what happens to them.

use std::process::ExitCode;

use parking_lot::MutexGuard;
use runtime::StagedWorkspace;
use staging::{ChangeList, Selection, Stage};

use crate::args::TryArgs;
use crate::confined_command::{self, SandboxRun};
use crate::exit_status::UNCONFINED;
use crate::staged_review::{self, AfterTry, ask_after_try};
use config::OperationFault;
use journal::SessionId;
use session::staged_changes::stage_fault;

pub(crate) fn run(args: &TryArgs) -> Result<ExitCode, OperationFault> {
    let title = args.argv.join(" ");
    let composed = confined_command::compose_for_command(&args.place, &args.env)?;
    let id = SessionId::new();
    let composed = composed.record_refusals(false).with_stage(id.as_str(), &title)?;
    let sandbox = composed.build_sandbox()?;
    let Some(staged) = sandbox.staged().cloned() else {
        return Err(OperationFault::failed("the changes are not staged; this is a bug"));
    };
    let fault = |fault: runtime::StagedFault| OperationFault::unconfined(fault.to_string());
    staged.begin_command(&title).map_err(fault)?;
    let run = SandboxRun { argv: args.argv.clone(), explain: false };
    let code = confined_command::run_in(&sandbox, run)?;
    staged.end_command(&title).map_err(fault)?;
    let stage = staged.stage();
    let list = stage.changes().map_err(|fault| stage_fault(&fault))?;
    if list.is_empty() {
        if args.json {
            terminal::print_text(&staged_review::changes_json(&stage, &list).to_string())?;
        } else {
            terminal::print_hint("the command changed nothing");
        }
        drop(stage);
        remove_stage(&staged);
        return Ok(code);
    }
    if args.json {
        terminal::print_text(&staged_review::changes_json(&stage, &list).to_string())?;
    } else {
        staged_review::show_changes(&stage, &list);
    }
    let choice = choose(args, code == ExitCode::SUCCESS, &stage, &list)?;
    finish(choice, &staged, stage, &list)?.map_or(Ok(code), Ok)
}

/// Returns the choice of the flags, or of the person.
fn choose(
    args: &TryArgs,
    was_successful: bool,
    stage: &Stage,
    list: &ChangeList,
) -> Result<AfterTry, OperationFault> {
    if args.yes || (args.apply_if_ok && was_successful) {
        return Ok(AfterTry::Apply);
    }
    if args.apply_if_ok || args.keep || args.json {
        return Ok(AfterTry::Keep);
    }
    // ends: with an answer other than the diff
    loop {
        match ask_after_try()? {
            AfterTry::Diff => staged_review::print_diff(stage, list)?,
            other => return Ok(other),
        }
    }
}

/// Carries out the choice. Returns the exit status if it is not that of the command.
fn finish(
    choice: AfterTry,
    staged: &StagedWorkspace,
    mut stage: MutexGuard<'_, Stage>,
    list: &ChangeList,
) -> Result<Option<ExitCode>, OperationFault> {
    let selection = match choice {
        AfterTry::Apply => Some(Selection::All),
        AfterTry::Pick => staged_review::pick(&mut stage, list)?,
        AfterTry::Discard => {
            drop(stage);
            remove_stage(staged);
            terminal::print_stderr("discarded; your files are as they were");
            return Ok(None);
        }
        AfterTry::Keep | AfterTry::Diff => None,
    };
    let Some(selection) = selection else {
        let id = stage.id();
        terminal::print_stderr(&format!(
            "kept as {id}; `toolgate changes` shows them, `toolgate apply` applies them"
        ));
        return Ok(None);
    };
    match staged_review::apply_selection(&mut stage, &selection, staged.records()) {
        Ok(report) => {
            staged_review::print_apply(&report);
            Ok(None)
        }
        Err(fault) => {
            crate::exit_status::report_fault(&fault);
            Ok(Some(ExitCode::from(UNCONFINED)))
        }
    }
}

/// Removes a stage whose changes are not needed.
fn remove_stage(staged: &StagedWorkspace) {
    let directory = staged.stage().directory().to_owned();
    let id = staged.stage().id();
    if let Some(all) = directory.parent() {
        let _left = staging::StageStore::new(all).remove(&id);
    }
}
