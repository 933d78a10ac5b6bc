//! Approval questions as JSON lines, and the lines that answer them.

use std::collections::HashMap;

use runtime::rules::NewRule;
use runtime::{ApprovalQuestion, Approver, BoxFuture, CallId, Effect, ReviewDecision};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use session::approval::{approval_choices, command_classes, confinement_summary};

/// The reason why no person answered, after the end of the input.
pub(super) const INPUT_ENDED: &str = "the input of the pipe has ended";
/// The reason why no person answered, when so many calls wait that no input line is read.
pub(super) const NO_ROOM: &str =
    "no answer can come: too many calls wait, and no line is read before this one is done";

/// Creates the approver, and the receiver of its questions.
pub(super) fn channel() -> (PipeApprover, mpsc::UnboundedReceiver<PipedQuestion>) {
    // Unbounded is safe: the engine asks one question at a time.
    let (questions, asked) = mpsc::unbounded_channel();
    (PipeApprover { questions }, asked)
}

/// The approver that sends questions to the session.
pub(super) struct PipeApprover {
    questions: mpsc::UnboundedSender<PipedQuestion>,
}

/// A question on its way to the session.
pub(super) struct PipedQuestion {
    call: String,
    line: Value,
    waiting: WaitingApproval,
}

/// A question that waits for its answer.
struct WaitingApproval {
    rule: Option<NewRule>,
    answer: oneshot::Sender<ReviewDecision>,
}

impl Approver for PipeApprover {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        let (answer, answered) = oneshot::channel();
        let rule = question.proposal.as_ref().map(|proposal| proposal.rule.clone());
        let (call, line) = (call.as_str().to_owned(), question_json(call, question));
        let _over =
            self.questions.send(PipedQuestion { call, line, waiting: WaitingApproval { rule, answer } });
        Box::pin(async move { answered.await.unwrap_or_else(|_| unanswered(INPUT_ENDED)) })
    }
}

/// The questions that were written and not yet answered.
#[derive(Default)]
pub(super) struct UnansweredQuestions(HashMap<String, WaitingApproval>);

impl UnansweredQuestions {
    /// Stores a question and returns its line.
    pub(super) fn insert(&mut self, question: PipedQuestion) -> Value {
        // Drops questions whose call was abandoned meanwhile.
        self.0.retain(|_, open| !open.answer.is_closed());
        self.0.insert(question.call, question.waiting);
        question.line
    }

    /// Denies all questions.
    pub(super) fn deny_all(&mut self, note: &str) {
        for (_, open) in self.0.drain() {
            let _given_up = open.answer.send(unanswered(note));
        }
    }

    /// Answers one question as a line says. An invalid line is an error and changes nothing.
    pub(super) fn decide(&mut self, line: &Value) -> Result<(), String> {
        let Some(id) = line["call_id"].as_str() else {
            return Err("the call_id of a toolgate.decision must be a string".to_owned());
        };
        let Some(open) = self.0.get(id).filter(|open| !open.answer.is_closed()) else {
            return Err("there is no question about such a call; nothing was decided".to_owned());
        };
        let decision = parse_decision(line, open.rule.as_ref())?;
        if let Some(open) = self.0.remove(id) {
            let _given_up = open.answer.send(decision);
        }
        Ok(())
    }
}

fn unanswered(why: &str) -> ReviewDecision {
    ReviewDecision::Unanswered { why: why.to_owned() }
}

/// Parses the answer to a question. `rule` is the rule that the question proposes.
pub(crate) fn parse_decision(line: &Value, rule: Option<&NewRule>) -> Result<ReviewDecision, String> {
    let note = match &line["note"] {
        Value::Null => None,
        Value::String(note) => Some(note.trim().to_owned()).filter(|note| !note.is_empty()),
        _ => return Err("the note of a toolgate.decision must be a string; nothing was decided".to_owned()),
    };
    Ok(match (line["decision"].as_str().unwrap_or_default(), rule) {
        ("approved", _) => ReviewDecision::Approved,
        ("approved_for_session", _) => ReviewDecision::ApprovedForSession,
        ("approved_with_rule", Some(rule)) => ReviewDecision::ApprovedWithRule(rule.clone()),
        ("approved_with_rule", None) => {
            return Err("there is no rule in the question to approve; nothing was decided".to_owned());
        }
        ("denied", _) => ReviewDecision::Denied { note },
        ("abort", _) => ReviewDecision::Abort,
        (other, _) => {
            return Err(format!(
                "`{other}` is not a decision; there are approved, approved_for_session, approved_with_rule, denied and abort; nothing was decided"
            ));
        }
    })
}

/// Formats a question as JSON. Texts are unescaped: a program that displays them must make invisible
/// characters visible.
pub(crate) fn question_json(call: &CallId, question: &ApprovalQuestion) -> Value {
    let mut line = describe_question(call, question);
    if let Some(words) = &question.intent.prefix_rule {
        line["prefix_rule"] = json!(words);
        line["rule_is_of_model"] =
            json!(question.proposal.as_ref().is_some_and(|proposal| proposal.chosen_by_model));
    }
    line
}

fn describe_question(call: &CallId, question: &ApprovalQuestion) -> Value {
    let run = question.intent.command();
    let command = run.map(|exec| exec.line().to_string());
    let typed = question.intent.effects.iter().find_map(|effect| match effect {
        Effect::SendInput(typing) => Some(json!({ "into": typing.command_line, "text": typing.text })),
        _ => None,
    });
    let patch = run.and_then(|exec| exec.analysis().patch.as_ref()).map(|patch| patch.text.clone());
    let parts: Vec<Value> = command_classes(question)
        .into_iter()
        .map(|(command, class, why)| json!({ "command": command, "class": class, "why": why }))
        .collect();
    let analysis = question.analysis.as_ref();
    let unclear = analysis.map(|analysis| {
        analysis
            .undecided
            .iter()
            .map(|doubt| json!({ "text": doubt.text, "why": doubt.why }))
            .collect::<Vec<_>>()
    });
    let touches = question.effect_summary();
    let mut answers: Vec<&str> =
        approval_choices(question).into_iter().map(|choice| choice.decision_name()).collect();
    answers.dedup();
    let proposal = question.proposal.as_ref();
    json!({
        "type": "toolgate.question",
        "call_id": call.as_str(),
        "tool": question.tool,
        "why": question.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "command": command,
        "argv": run.map(|exec| exec.line().argv()),
        "cwd": run.map(|exec| exec.cwd().display().to_string()),
        "types": typed,
        "parts": parts,
        "unclear": unclear.unwrap_or_default(),
        "touches": {
            "reads": touches.reads,
            "writes": touches.writes,
            "starts": touches.programs,
            "reaches": touches.hosts,
        },
        "confinement": confinement_summary(question),
        "grants": question.grants.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "again": question.is_retry,
        "justification": question.intent.justification,
        "diff": question.intent.diff.clone().or(patch),
        "takes_effect": question.host_file_warnings(),
        "rule": proposal.map(|proposal| proposal.rule.to_string()),
        "rule_allows": proposal.map(|proposal| proposal.allowed_examples.clone()).unwrap_or_default(),
        "choices": answers,
    })
}

#[cfg(test)]
mod tests {
    use runtime::ApprovalPolicy;

    use super::*;
    use testkit::{question_for, script_intent};

    /// Returns the decision after these lines, and the result of each line.
    async fn decide_with_lines(
        question: &ApprovalQuestion,
        lines: &[Value],
    ) -> (ReviewDecision, Vec<Result<(), String>>) {
        let (approver, mut questions) = channel();
        let (call, mut open) = (CallId::from("1"), UnansweredQuestions::default());
        let asking = approver.ask(&call, question);
        open.insert(questions.recv().await.unwrap());
        let heard = lines.iter().map(|line| open.decide(line)).collect();
        open.deny_all("over");
        (asking.await, heard)
    }

    fn decision(decision: &str) -> Value {
        json!({ "call_id": "1", "decision": decision, "note": "why" })
    }

    #[tokio::test]
    async fn a_line_answers_as_it_says() {
        let question = question_for(ApprovalPolicy::Untrusted, &script_intent("cargo test"));
        let rule = question.proposal.clone().unwrap().rule;
        let note = |note: &str| ReviewDecision::Denied { note: Some(note.to_owned()) };
        for (line, answer) in [
            (decision("approved"), ReviewDecision::Approved),
            (decision("approved_for_session"), ReviewDecision::ApprovedForSession),
            (decision("approved_with_rule"), ReviewDecision::ApprovedWithRule(rule)),
            (decision("denied"), note("why")),
            (decision("abort"), ReviewDecision::Abort),
        ] {
            let (told, heard) = decide_with_lines(&question, std::slice::from_ref(&line)).await;
            assert_eq!((told, &heard[..]), (answer, &[Ok(())][..]), "{line}");
        }
        for line in [
            json!({ "call_id": "2", "decision": "approved" }),
            json!({ "decision": "approved" }),
            json!({ "call_id": "1" }),
            json!({ "call_id": "1", "decision": true }),
            json!({ "call_id": "1", "decision": "approved", "note": 1 }),
        ] {
            let (told, heard) = decide_with_lines(&question, std::slice::from_ref(&line)).await;
            assert_eq!((told, heard[0].is_err()), (unanswered("over"), true), "{line}");
        }
    }

    #[tokio::test]
    async fn only_the_first_answer_counts_and_none_to_a_cancelled_question() {
        let question = question_for(ApprovalPolicy::OnRequest, &script_intent("rm -rf x"));
        let (told, heard) = decide_with_lines(&question, &[decision("denied"), decision("approved")]).await;
        assert_eq!(told.as_str(), "denied");
        assert!(heard[0].is_ok() && heard[1].is_err());
        let (approver, mut questions) = channel();
        let (call, mut open) = (CallId::from("1"), UnansweredQuestions::default());
        drop(approver.ask(&call, &question));
        open.insert(questions.recv().await.unwrap());
        assert!(open.decide(&decision("approved")).is_err());
    }
}
