//! `toolgate replay`: repeats the calls of a session on a copy of its workspace, and compares the answers.

mod compare_answers;
mod diff_reversal;
mod workspace_copy;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agent::call_from_entry;
use journal::{JournalEntry, JournalRecord};
use serde_json::{Value, json};
use toolgate::{
    ApprovalQuestion, Approver, BoxFuture, CallId, CancellationToken, ReviewDecision, ToolCall,
    ToolErrorKind, ToolPayload, Toolgate,
};

use crate::args::{ReplayArgs, WorkspaceArgs};
use crate::cli_fault::CliFault;
use crate::commands::run::call_title::title;
use crate::compose::compose;
use crate::config::{ApprovalMode, SandboxMode};
use crate::journals::resolve_session;
use crate::terminal_output::{self, FAINT, NAME, to_one_line};
use compare_answers::{AnswerDifference, first_difference};
pub(crate) use diff_reversal::{reverse_diff, split_undoable};
use workspace_copy::WorkspaceCopy;

pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode, CliFault> {
    let session = resolve_session::resolve(&resolve_session::sessions_directory()?, &args.session)?;
    let records =
        journal::read_journal(&session.path).map_err(|fault| CliFault::failed(fault.to_string()))?.records;
    let recorded = RecordedSession::from_records(&records)?;
    let from = args.cwd.clone().unwrap_or_else(|| recorded.cwd.clone());
    let copy = WorkspaceCopy::create(&from).map_err(|fault| {
        CliFault::failed(format!("the workspace `{}` cannot be copied: {fault}", from.display()))
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
    let composed = compose(&place)?.with_approver(Arc::new(RecordedApprover(recorded.decisions.clone())));
    super::block_on(async {
        let toolgate = composed.build()?;
        let taken_back = undo_turns(&toolgate, &recorded.diffs).await;
        if !args.json {
            let state = if taken_back {
                "as it was before the session"
            } else {
                "as it is now, since its changes cannot be taken back"
            };
            terminal_output::print_stderr(&format!(
                "{FAINT}{} calls on a copy of {} ({} files), {state}{FAINT:#}",
                recorded.calls.len(),
                from.display(),
                copy.file_count()
            ));
        }
        let mut differ = 0;
        for recorded_call in &recorded.calls {
            let outcome = recorded_call.replay(&toolgate, (&recorded.cwd, &copy.root())).await;
            differ += usize::from(matches!(outcome, ReplayOutcome::Differs(_)));
            let shown = if args.json {
                outcome.to_json(recorded_call).to_string()
            } else {
                outcome.to_text(recorded_call)
            };
            if args.json {
                terminal_output::print_text(&shown)?;
            } else {
                terminal_output::print_styled(&format!("{shown}\n"))?;
            }
        }
        toolgate.close().await;
        if !args.json {
            let same = recorded.calls.len() - differ;
            terminal_output::print_stderr(&format!("{same} the same or not replayed, {differ} different"));
        }
        Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// The recorded session, as far as it can be replayed.
struct RecordedSession {
    cwd: PathBuf,
    sandbox: SandboxMode,
    approval: ApprovalMode,
    model: Option<String>,
    calls: Vec<RecordedCall>,
    decisions: HashMap<String, String>,
    /// The diff of each turn.
    diffs: Vec<String>,
}

/// A recorded call with its answer.
struct RecordedCall {
    call: ToolCall,
    success: bool,
    /// The error kind of the answer.
    error: Option<String>,
    /// The text of the answer, if the call was answered.
    text: Option<String>,
}

impl RecordedSession {
    fn from_records(records: &[JournalRecord]) -> Result<Self, CliFault> {
        let session = records.iter().find_map(|record| match &record.entry {
            JournalEntry::Session { cwd, model, sandbox, approval, .. } => {
                Some((cwd, model, sandbox, approval))
            }
            _ => None,
        });
        let (cwd, model, sandbox, approval) =
            session.ok_or_else(|| CliFault::failed("the journal does not say where the session worked"))?;
        let word = |word: &str| <SandboxMode as clap::ValueEnum>::from_str(word, false);
        let sandbox = word(sandbox).map_err(CliFault::failed)?;
        let approval =
            <ApprovalMode as clap::ValueEnum>::from_str(approval, false).map_err(CliFault::failed)?;
        let mut recorded = Self {
            cwd: cwd.into(),
            sandbox,
            approval,
            model: Some(model.clone()).filter(|model| !model.is_empty()),
            calls: Vec::new(),
            decisions: HashMap::new(),
            diffs: Vec::new(),
        };
        for record in records {
            recorded.add_entry(&record.entry);
        }
        Ok(recorded)
    }

    fn add_entry(&mut self, entry: &JournalEntry) {
        if let Some(call) = call_from_entry(entry) {
            self.calls.push(RecordedCall { call, success: false, error: None, text: None });
        }
        match entry {
            JournalEntry::Answered { call, success, error, text, .. } => {
                let open = |recorded_call: &&mut RecordedCall| {
                    recorded_call.call.id.as_str() == call && recorded_call.text.is_none()
                };
                if let Some(recorded_call) = self.calls.iter_mut().find(open) {
                    (recorded_call.success, recorded_call.error, recorded_call.text) =
                        (*success, error.clone(), Some(text.clone()));
                }
            }
            JournalEntry::Decided { call, decision, .. } => {
                self.decisions.insert(call.clone(), decision.clone());
            }
            JournalEntry::Diff { text } => self.diffs.push(text.clone()),
            _ => {}
        }
    }
}

/// Undoes the changes of all turns, the last first. Returns false if a diff cannot be undone.
async fn undo_turns(toolgate: &Toolgate, diffs: &[String]) -> bool {
    for diff in diffs.iter().rev() {
        let back = toolgate.call("apply_patch", json!({ "input": reverse_diff(diff) })).await;
        if !back.success {
            tracing::warn!("{}", back.joined_text());
            return false;
        }
    }
    true
}

/// The approver that repeats the recorded decisions.
struct RecordedApprover(HashMap<String, String>);

impl Approver for RecordedApprover {
    fn ask<'a>(&'a self, call: &'a CallId, _: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        let decision = match self.0.get(call.as_str()).map(String::as_str) {
            Some(yes) if yes.starts_with("approved") => ReviewDecision::Approved,
            Some("abort") => ReviewDecision::Abort,
            _ => ReviewDecision::Denied {
                note: Some("this was not approved in the recorded session".to_owned()),
            },
        };
        Box::pin(std::future::ready(decision))
    }
}

/// The result of replaying one call.
enum ReplayOutcome {
    Same,
    Differs(AnswerDifference),
    /// The reason why it was not replayed.
    Skipped(&'static str),
}

impl RecordedCall {
    /// Repeats the call in `copy` instead of `cwd`.
    async fn replay(&self, toolgate: &Toolgate, (cwd, copy): (&Path, &Path)) -> ReplayOutcome {
        let Some(was) = &self.text else { return ReplayOutcome::Skipped("it was interrupted then") };
        if self.call.name.starts_with("mcp__") {
            return ReplayOutcome::Skipped("it is a server's");
        }
        let known = toolgate.router().registry().find(&self.call.name).is_ok();
        let was_unknown = self.error.as_deref() == Some(ToolErrorKind::UnknownTool.as_str());
        if !known && !was_unknown {
            return ReplayOutcome::Skipped("it needs the session");
        }
        let (cwd, copy) = (cwd.display().to_string(), copy.display().to_string());
        let mut call = self.call.clone();
        match &mut call.payload {
            ToolPayload::Function { arguments } => *arguments = arguments.replace(&cwd, &copy),
            ToolPayload::Custom { input } => *input = input.replace(&cwd, &copy),
            ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => {
                return ReplayOutcome::Skipped("it has a form of its own");
            }
        }
        let output = toolgate.router().dispatch(call, CancellationToken::new()).await;
        // The answer lists the available tools, and a replay lacks the tools that need a session.
        if was_unknown && output.facts.error == Some(ToolErrorKind::UnknownTool) {
            return ReplayOutcome::Same;
        }
        let is = output.joined_text().replace(&copy, &cwd);
        match first_difference(was, &is) {
            Some(difference) => ReplayOutcome::Differs(difference),
            None if output.success != self.success => {
                let word = |success: bool| if success { "it worked" } else { "it did not work" }.to_owned();
                ReplayOutcome::Differs(AnswerDifference { was: word(self.success), is: word(output.success) })
            }
            None => ReplayOutcome::Same,
        }
    }
}

impl ReplayOutcome {
    fn to_text(&self, recorded_call: &RecordedCall) -> String {
        let title = title(&recorded_call.call);
        match self {
            Self::Same => format!("{FAINT}={FAINT:#} {title}"),
            Self::Skipped(why) => format!("{FAINT}· {title}: not replayed, {why}{FAINT:#}"),
            Self::Differs(AnswerDifference { was, is }) => {
                let cut = |line: &str| to_one_line(&line.chars().take(200).collect::<String>());
                format!("{NAME}≠{NAME:#} {title}\n    was {}\n    is  {}", cut(was), cut(is))
            }
        }
    }

    fn to_json(&self, recorded_call: &RecordedCall) -> Value {
        let mut line = json!({ "call_id": recorded_call.call.id.as_str(), "tool": recorded_call.call.name });
        match self {
            Self::Same => line["outcome"] = json!("same"),
            Self::Skipped(why) => {
                line["outcome"] = json!("not_replayed");
                line["why"] = json!(why);
            }
            Self::Differs(AnswerDifference { was, is }) => {
                line["outcome"] = json!("different");
                line["was"] = json!(was);
                line["is"] = json!(is);
            }
        }
        line
    }
}
