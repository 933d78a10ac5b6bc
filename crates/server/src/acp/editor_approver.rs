//! Asks for approval of tool calls in the editor, with `session/request_permission`.

use std::sync::Arc;

use rpc::{Peer, parse_params};
use runtime::rules::NewRule;
use runtime::{ApprovalQuestion, Approver, BoxFuture, CallId, Effect, ReviewDecision};
use serde_json::{Value, json};

use super::editor_updates::EditorUpdates;
use super::protocol::{
    ContentBlock, PermissionOption, PermissionOutcome, PermissionResponse, ToolCallContent, ToolCallKind,
    ToolCallStatus, ToolCallUpdate, fenced_block,
};
use session::approval::{self, approval_choices, confinement_summary};
use terminal::to_one_line;

/// Maximum number of characters of a rule on a button.
const MAX_BUTTON_CHARS: usize = 120;

/// The approver of one editor session.
pub(super) struct EditorApprover {
    pub(super) peer: Peer,
    pub(super) session: String,
    pub(super) updates: Arc<EditorUpdates>,
}

impl Approver for EditorApprover {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            let params = json!({
                "sessionId": self.session,
                "toolCall": self.question_view(call, question),
                "options": permission_options(question),
            });
            match self.peer.request("session/request_permission", &params).await {
                Ok(answer) => parse_decision(answer, question),
                // The editor closed its side of the connection, so the user did not refuse the call: abort
                // it.
                Err(_) if self.peer.is_half_closed() => ReviewDecision::Abort,
                Err(fault) => unanswered(&format!("the editor could not be asked: {fault}")),
            }
        })
    }
}

impl EditorApprover {
    /// Builds the view of the call, with everything the user has to know to decide.
    fn question_view(&self, call: &CallId, question: &ApprovalQuestion) -> ToolCallUpdate {
        let mut content = Vec::new();
        let mut text = |block: ContentBlock| content.push(ToolCallContent::Content { content: block });
        text(ContentBlock::text(list_reasons(question)));
        let command = proposed_command(question);
        if let Some(command) = &command {
            text(fenced_block("sh", command));
        }
        let diffs = self.updates.patch_diffs(call);
        match &question.intent.diff {
            Some(diff) if diffs.is_empty() => text(fenced_block("diff", diff)),
            Some(_) | None => content.extend(diffs.into_iter().map(ToolCallContent::Diff)),
        }
        let editor_id = self.updates.editor_call_id(call);
        // The editor does not know calls of a subagent, so the view needs its own title and kind.
        let title =
            editor_id.is_none().then(|| to_one_line(&command.unwrap_or_else(|| question.tool.clone())));
        let kind = editor_id.is_none().then_some(ToolCallKind::Other);
        ToolCallUpdate {
            tool_call_id: editor_id.unwrap_or_else(|| call.to_string()),
            title,
            kind,
            status: Some(ToolCallStatus::Pending),
            content: Some(content),
            ..ToolCallUpdate::default()
        }
    }
}

/// Lists the reasons for the question and the consequences of a yes, in Markdown.
fn list_reasons(question: &ApprovalQuestion) -> String {
    let mut lines: Vec<String> =
        question.reasons.iter().map(|why| format!("- {}", to_one_line(&why.to_string()))).collect();
    if let Some(why) = &question.intent.justification {
        lines.push(format!("- the model says: {}", to_one_line(why)));
    }
    if let Some(words) = &question.intent.prefix_rule {
        let words = to_one_line(&words.join(" "));
        lines.push(format!("- the model proposes to always allow commands that begin with: {words}"));
    }
    if let Some(proposal) =
        question.proposal.as_ref().filter(|proposal| !proposal.allowed_examples.is_empty())
    {
        let examples: Vec<String> =
            proposal.allowed_examples.iter().map(|line| format!("`{}`", to_one_line(line))).collect();
        lines.push(format!("- the rule would also allow, for example: {}", examples.join(", ")));
    }
    lines.push(format!("- confined to: {}", to_one_line(&confinement_summary(question))));
    lines.extend(
        question.grants.iter().map(|grant| format!("- a yes lets it {}", to_one_line(&grant.to_string()))),
    );
    if question.is_retry {
        lines.push("- it was tried, and would be run again from its beginning".to_owned());
    }
    lines.extend(
        question.agent_path.last().map(|agent| format!("- asked by the agent {}", to_one_line(agent))),
    );
    lines.join("\n")
}

/// Formats a rule for a button: without its heading, on one line.
fn rule_on_one_line(rule: &NewRule) -> String {
    let text = rule.to_string();
    let lines: Vec<String> = text.lines().skip(1).filter(|line| !line.is_empty()).map(to_one_line).collect();
    lines.join(", ")
}

/// Returns the command that would run, or the text that would be typed into a process.
fn proposed_command(question: &ApprovalQuestion) -> Option<String> {
    question.intent.effects.iter().find_map(|effect| match effect {
        Effect::Exec(exec) => Some(exec.line().to_string()),
        Effect::SendInput(typing) => Some(typing.text.clone()),
        Effect::Read(_)
        | Effect::Write(_)
        | Effect::Network(_)
        | Effect::Foreign(_)
        | Effect::Remember(_) => None,
    })
}

/// Returns the answers as buttons. `Stop` and `Note` have none: editors have their own stop button, and the
/// user types a note as the next prompt.
fn permission_options(question: &ApprovalQuestion) -> Vec<PermissionOption> {
    let option = |choice: approval::ApprovalChoice| {
        let (name, kind) = match choice {
            approval::ApprovalChoice::Once => ("Allow".to_owned(), "allow_once"),
            approval::ApprovalChoice::Session => {
                ("Allow exactly this for the session".to_owned(), "allow_always")
            }
            approval::ApprovalChoice::Always => {
                let rule = question.proposal.as_ref().map(|proposal| rule_on_one_line(&proposal.rule));
                let short: String = rule.unwrap_or_default().chars().take(MAX_BUTTON_CHARS).collect();
                (format!("Always allow, by the rule: {short}"), "allow_always")
            }
            approval::ApprovalChoice::No => ("Reject".to_owned(), "reject_once"),
            approval::ApprovalChoice::Note | approval::ApprovalChoice::Stop => return None,
        };
        Some(PermissionOption { option_id: choice.decision_name(), name, kind })
    };
    approval_choices(question).into_iter().filter_map(option).collect()
}

/// Converts the editor's answer into a decision. An invalid answer is a denial.
fn parse_decision(answer: Value, question: &ApprovalQuestion) -> ReviewDecision {
    let PermissionResponse { outcome } = match parse_params(answer) {
        Ok(permission) => permission,
        Err(fault) => return unanswered(&format!("the editor's answer was none: {fault}")),
    };
    let rule = question.proposal.as_ref().map(|proposal| &proposal.rule);
    match outcome {
        PermissionOutcome::Cancelled => ReviewDecision::Abort,
        PermissionOutcome::Selected { option_id } => {
            let offered =
                permission_options(question).into_iter().any(|choice| choice.option_id == option_id);
            let said = json!({ "decision": option_id });
            match crate::pipe::parse_decision(&said, rule) {
                Ok(decision) if offered => decision,
                Ok(_) | Err(_) => unanswered("the editor's answer was none that it was offered"),
            }
        }
    }
}

fn unanswered(why: &str) -> ReviewDecision {
    ReviewDecision::Unanswered { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use runtime::ApprovalPolicy;

    use super::*;
    use testkit::{question_for, script_intent as shell_script};

    #[test]
    fn a_rule_is_on_one_line_and_shown_with_examples() {
        let question = question_for(ApprovalPolicy::Untrusted, &shell_script("cargo test"));
        let names: Vec<String> =
            permission_options(&question).into_iter().map(|choice| choice.name).collect();
        let always = r#"Always allow, by the rule: pattern = ["cargo", "test"], decision = "allow", match = [["cargo", "test"]]"#;
        assert!(names.iter().any(|name| name == always), "{names:?}");
        assert!(list_reasons(&question).contains("would also allow, for example: `cargo test --any-option`"));
    }
}
