//! Replays the calls of a recorded session, undoes its turns and formats each outcome.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent::recorded_tool_call;
use config::{ApprovalMode, OperationFault, SandboxMode};
use journal::{JournalEntry, SessionTimeline, TimelineAttempt};
use runtime::{CancellationToken, SandboxPolicy, ToolCall, ToolErrorKind, ToolPayload, Toolgate};
use serde_json::{Value, json};
use session::call_title::title;
use terminal::{FAINT, NAME, to_one_line};

use super::compare_answers::{AnswerDifference, first_difference};
use super::diff_reversal::{added_files, reverse_diff};
use super::replay_boundary::ReplayBoundary;

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
    pub calls: Vec<ReplayedCall>,
    /// The recorded decisions, by call id.
    pub decisions: HashMap<String, String>,
    /// The diff of each turn.
    pub diffs: Vec<String>,
}

/// A recorded call with its answer.
pub struct ReplayedCall {
    call: ToolCall,
    success: bool,
    /// The error kind of the answer.
    error: Option<String>,
    /// The text of the answer, if the call was answered.
    text: Option<String>,
    /// True if the call ran with more rights than the sandbox of the session gives.
    left_sandbox: bool,
}

impl RecordedSession {
    /// Returns what can be replayed of a session.
    pub fn from_timeline(timeline: &SessionTimeline) -> Result<Self, OperationFault> {
        let settings = timeline.entries().find_map(|entry| match entry {
            JournalEntry::Session(settings) => Some(settings),
            _ => None,
        });
        let settings = settings
            .ok_or_else(|| OperationFault::failed("the journal does not say where the session worked"))?;
        let sandbox = <SandboxMode as clap::ValueEnum>::from_str(&settings.sandbox, false)
            .map_err(OperationFault::failed)?;
        let approval = <ApprovalMode as clap::ValueEnum>::from_str(&settings.approval, false)
            .map_err(OperationFault::failed)?;
        let leaves = |attempt: &TimelineAttempt| {
            attempt.enforcement == SandboxPolicy::FullAccess.as_str()
                && attempt.enforcement != settings.sandbox
        };
        let calls = timeline.calls().map(|(_, call)| {
            let answer = call.answer.as_ref().map(|answer| &answer.answer);
            ReplayedCall {
                call: recorded_tool_call(&call.call),
                success: answer.is_some_and(|answer| answer.success),
                error: answer.and_then(|answer| answer.error.clone()),
                text: answer.map(|answer| answer.text.clone()),
                left_sandbox: call.attempts.iter().any(leaves),
            }
        });
        let decisions = timeline.calls().filter_map(|(_, call)| {
            let decision = call.questions.iter().rev().find_map(|question| question.decision.as_ref())?;
            Some((call.call.id.clone(), decision.decision.clone()))
        });
        let diffs = timeline.entries().filter_map(|entry| match entry {
            JournalEntry::Diff { text } => Some(text.clone()),
            _ => None,
        });
        Ok(Self {
            cwd: settings.cwd.as_str().into(),
            sandbox,
            approval,
            model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
            calls: calls.collect(),
            decisions: decisions.collect(),
            diffs: diffs.collect(),
        })
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
        remove_empty_parents(&toolgate.router().working_dir().cwd, diff);
    }
    true
}

/// Removes the directories below `root` that are empty without the files that `diff` adds.
fn remove_empty_parents(root: &Path, diff: &str) {
    for file in added_files(diff) {
        let parents = Path::new(file).ancestors().skip(1).take_while(|parent| !parent.as_os_str().is_empty());
        for parent in parents {
            if std::fs::remove_dir(root.join(parent)).is_err() {
                break;
            }
        }
    }
}

/// Returns true for the kinds of a call that was not made because it was not allowed.
fn is_refusal(kind: &str) -> bool {
    [ToolErrorKind::Denied, ToolErrorKind::Forbidden, ToolErrorKind::Stopped]
        .iter()
        .any(|refusal| refusal.as_str() == kind)
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

impl ReplayedCall {
    /// Repeats the call in `copy` instead of `cwd`.
    pub async fn replay(
        &self,
        toolgate: &Toolgate,
        boundary: &ReplayBoundary,
        (cwd, copy): (&Path, &Path),
    ) -> ReplayOutcome {
        let Some(was) = &self.text else { return ReplayOutcome::Skipped("it was interrupted then") };
        if self.error.as_deref().is_some_and(is_refusal) {
            return ReplayOutcome::Skipped("it was refused then");
        }
        if self.left_sandbox {
            return ReplayOutcome::Skipped("it ran outside the sandbox");
        }
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
        if boundary.has_stopped(&self.call.id) {
            return ReplayOutcome::Skipped("it would act outside of the copy");
        }
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
    pub fn to_text(&self, recorded_call: &ReplayedCall) -> String {
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
    pub fn to_json(&self, recorded_call: &ReplayedCall) -> Value {
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
