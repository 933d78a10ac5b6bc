//! `toolgate try`: runs one command whose changes are kept aside, and asks what happens to them.

use std::process::ExitCode;

use staging::Selection;

use super::changes::{self, AfterCommand, ask_after_command};
use super::sandbox::{self, SandboxRun};
use crate::args::TryArgs;
use crate::exit_status::UNCONFINED;
use config::OperationFault;
use journal::SessionId;
use session::staged_changes::stage_fault;

pub(crate) fn run(args: TryArgs) -> Result<ExitCode, OperationFault> {
    let title = args.argv.join(" ");
    let composed = sandbox::compose_for_command(&args.place, &args.env)?;
    let id = SessionId::new();
    let composed = composed.record_refusals(false).with_stage(id.as_str(), &title)?;
    let sandbox = composed.build_sandbox()?;
    let Some(staged) = sandbox.staged().cloned() else {
        return Err(OperationFault::failed("the changes are not staged; this is a bug"));
    };
    let fault = |fault: runtime::StagedFault| OperationFault::unconfined(fault.to_string());
    staged.begin_command(&title).map_err(fault)?;
    let run = SandboxRun { argv: args.argv.clone(), explain: false };
    let code = sandbox::run_in(&sandbox, run)?;
    staged.end_command(&title).map_err(fault)?;
    let was_successful = code == ExitCode::SUCCESS;
    let mut stage = staged.stage();
    let list = stage.changes().map_err(|fault| stage_fault(&fault))?;
    if list.is_empty() {
        if args.json {
            terminal::print_text(&changes::changes_json(&stage, &list).to_string())?;
        } else {
            terminal::print_hint("the command changed nothing");
        }
        drop(stage);
        remove_stage(&staged, id.as_str());
        return Ok(code);
    }
    if args.json {
        terminal::print_text(&changes::changes_json(&stage, &list).to_string())?;
    } else {
        changes::show_changes(&stage, &list);
    }
    let mut choice = match () {
        () if args.yes => AfterCommand::Apply,
        () if args.apply_if_ok && was_successful => AfterCommand::Apply,
        () if args.apply_if_ok || args.keep || args.json => AfterCommand::Keep,
        () => ask_after_command()?,
    };
    // ends: with an answer other than the diff
    while choice == AfterCommand::Diff {
        changes::print_diff(&stage, &list)?;
        choice = ask_after_command()?;
    }
    let records = staged.records().to_owned();
    let selection = match choice {
        AfterCommand::Apply => Some(Selection::All),
        AfterCommand::Pick => changes::pick(&mut stage, &list)?,
        AfterCommand::Discard => {
            drop(stage);
            remove_stage(&staged, id.as_str());
            terminal::print_stderr("discarded; your files are as they were");
            return Ok(code);
        }
        AfterCommand::Keep | AfterCommand::Diff => None,
    };
    match selection {
        Some(selection) => match changes::apply_selection(&mut stage, &selection, &records) {
            Ok(report) => changes::print_apply(&report),
            Err(fault) => {
                crate::exit_status::report_fault(&fault);
                return Ok(ExitCode::from(UNCONFINED));
            }
        },
        None => terminal::print_stderr(&format!(
            "kept as {id}; `toolgate changes` shows them, `toolgate apply` applies them"
        )),
    }
    Ok(code)
}

/// Removes a stage that nobody needs.
fn remove_stage(staged: &runtime::StagedWorkspace, id: &str) {
    let directory = staged.stage().directory().to_owned();
    if let Some(all) = directory.parent() {
        let _left = staging::StageStore::new(all).remove(id);
    }
}
