//! `toolgate replay`: repeats the calls of a session on a copy of its workspace, and compares the answers.

use std::process::ExitCode;
use std::sync::Arc;

use config::OperationFault;
use journal::SessionTimeline;
use report::replay::{RecordedSession, ReplayBoundary, ReplayOutcome, WorkspaceCopy, undo_turns};
use report::resolve_session;
use runtime::{Approver, Hook, Toolgate};
use session::compose_bounded;
use terminal::FAINT;

use crate::args::{ReplayArgs, WorkspaceArgs};

pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode, OperationFault> {
    let session = resolve_session::resolve(&resolve_session::sessions_directory()?, &args.session)?;
    let records = journal::read_journal(&session.path)
        .map_err(|fault| OperationFault::failed(fault.to_string()))?
        .records;
    let recorded = RecordedSession::from_timeline(&SessionTimeline::from_records(records))?;
    let from = args.cwd.clone().unwrap_or_else(|| recorded.cwd.clone());
    let copy = WorkspaceCopy::create(&from).map_err(|fault| {
        OperationFault::failed(format!("the workspace `{}` cannot be copied: {fault}", from.display()))
            .with_hint("--cwd names another one")
    })?;
    let place = WorkspaceArgs {
        cwd: Some(copy.root()),
        sandbox: Some(recorded.sandbox),
        approval: Some(recorded.approval),
        // The model decides which tools are available.
        model: recorded.model.clone(),
        ..WorkspaceArgs::default()
    };
    let boundary = Arc::new(ReplayBoundary::new(recorded.decisions.clone()));
    let approver = Arc::clone(&boundary) as Arc<dyn Approver>;
    let hook = Arc::clone(&boundary) as Arc<dyn Hook>;
    let composed = compose_bounded(&place)?.with_approver(approver).with_hook(hook);
    super::block_on(async {
        let toolgate = composed.build()?;
        let taken_back = undo_turns(&toolgate, &recorded.diffs).await;
        if !args.json {
            let state = if taken_back {
                "as it was before the session"
            } else {
                "as it is now, since its changes cannot be taken back"
            };
            terminal::print_stderr(&format!(
                "{FAINT}{} calls on a copy of {} ({} files), {state}{FAINT:#}",
                recorded.calls.len(),
                from.display(),
                copy.file_count()
            ));
        }
        let differ = replay_calls(&toolgate, &boundary, &recorded, &copy, args.json).await?;
        toolgate.close().await;
        if !args.json {
            let same = recorded.calls.len() - differ;
            terminal::print_stderr(&format!("{same} the same or not replayed, {differ} different"));
        }
        Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Repeats all calls in the copy, and prints each outcome. Returns the number of calls that differ.
async fn replay_calls(
    toolgate: &Toolgate,
    boundary: &ReplayBoundary,
    recorded: &RecordedSession,
    copy: &WorkspaceCopy,
    json: bool,
) -> Result<usize, OperationFault> {
    let mut differ = 0;
    for call in &recorded.calls {
        let outcome = call.replay(toolgate, boundary, (&recorded.cwd, &copy.root())).await;
        differ += usize::from(matches!(outcome, ReplayOutcome::Differs(_)));
        if json {
            terminal::print_text(&outcome.to_json(call).to_string())?;
        } else {
            terminal::print_styled(&format!("{}\n", outcome.to_text(call)))?;
        }
    }
    Ok(differ)
}
