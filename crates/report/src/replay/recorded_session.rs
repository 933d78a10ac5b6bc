//! The calls of a recorded session, and the comparison of their answers when they are replayed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent::call_from_entry;
use config::{ApprovalMode, OperationFault, SandboxMode};
use journal::{JournalEntry, JournalRecord};
use serde_json::{Value, json};
use session::call_title::title;
use terminal::{FAINT, NAME, to_one_line};
use toolgate::{
    ApprovalQuestion, Approver, BoxFuture, CallId, CancellationToken, ReviewDecision, ToolCall,
    ToolErrorKind, ToolPayload, Toolgate,
};

use super::compare_answers::{AnswerDifference, first_difference};
use super::diff_reversal::reverse_diff;

/// The recorded session, as far as it can be replayed.
pub struct RecordedSession {
    /// The directory in which the session worked.
    pub cwd: PathBuf,
    /// The sandbox mode.
    pub sandbox: SandboxMode,
    /// The approval mode.
    pub approval: ApprovalMode,
    /// The name of the model.
    pub model: Option<String>,
    /// The calls, in order.
    pub calls: Vec<RecordedCall>,
    /// The recorded decisions, by call id.
    pub decisions: HashMap<String, String>,
    /// The diff of each turn.
    pub diffs: Vec<String>,
}

/// A recorded call with its answer.
pub struct RecordedCall {
    call: ToolCall,
    success: bool,
    /// The error kind of the answer.
    error: Option<String>,
    /// The text of the answer, if the call was answered.
    text: Option<String>,
}

impl RecordedSession {
    /// Reads what can be replayed from the records of a journal.
    pub fn from_records(records: &[JournalRecord]) -> Result<Self, OperationFault> {
        let session = records.iter().find_map(|record| match &record.entry {
            JournalEntry::Session { cwd, model, sandbox, approval, .. } => {
                Some((cwd, model, sandbox, approval))
            }
            _ => None,
        });
        let (cwd, model, sandbox, approval) = session
            .ok_or_else(|| OperationFault::failed("the journal does not say where the session worked"))?;
        let word = |word: &str| <SandboxMode as clap::ValueEnum>::from_str(word, false);
        let sandbox = word(sandbox).map_err(OperationFault::failed)?;
        let approval =
            <ApprovalMode as clap::ValueEnum>::from_str(approval, false).map_err(OperationFault::failed)?;
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
pub async fn undo_turns(toolgate: &Toolgate, diffs: &[String]) -> bool {
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
pub struct RecordedApprover(pub HashMap<String, String>);

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
pub enum ReplayOutcome {
    /// Equal answers.
    Same,
    /// Different answers, with the first differing line.
    Differs(AnswerDifference),
    /// The reason why it was not replayed.
    Skipped(&'static str),
}

impl RecordedCall {
    /// Repeats the call in `copy` instead of `cwd`.
    pub async fn replay(&self, toolgate: &Toolgate, (cwd, copy): (&Path, &Path)) -> ReplayOutcome {
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
    /// Returns the result as styled lines.
    pub fn to_text(&self, recorded_call: &RecordedCall) -> String {
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

    /// Returns the result as a JSON object.
    pub fn to_json(&self, recorded_call: &RecordedCall) -> Value {
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
