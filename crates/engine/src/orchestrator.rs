//! Runs one call under the policy: verdict, question, permit, attempt.
//!
//! A refusal by the sandbox may lead to another question and another attempt.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use policy::{
    ApprovalQuestion, ApprovalReason, Gate, NotAskedReason, Permit, ReviewDecision, ReviewOutcome, Verdict,
};
use tool::{CallAttempt, Cx, HALT_GRACE, HaltReason, OutputItem, ToolError, ToolErrorKind, ToolOutput};

use crate::call_stop::CallStop;
use crate::observer::ObserverSet;
use crate::stopwatch::CallStopwatch;
use crate::{Approver, CallEvent, Rulebook};

/// Asks the gate about an intent, asks the user where required, and runs what is allowed.
#[derive(Clone)]
pub struct ToolOrchestrator {
    pub(crate) gate: Gate,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) rulebook: Option<Arc<dyn Rulebook>>,
    /// Serializes questions. Holds the time at which the user last said stop.
    question_lock: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

/// One call with everything needed to run it.
pub(crate) struct CallRun<'a> {
    pub(crate) tool: &'a str,
    pub(crate) attempt: &'a dyn CallAttempt,
    /// A hook's reason to ask the user.
    pub(crate) hook_reason: Option<ApprovalReason>,
    pub(crate) cx: &'a Cx,
    /// The time limit of one attempt. Time spent on questions does not count.
    pub(crate) limit: Duration,
    pub(crate) stop: &'a CallStop,
    pub(crate) stopwatch: &'a CallStopwatch,
    pub(crate) observers: &'a ObserverSet,
}

impl CallRun<'_> {
    /// Notifies the observers, if there are any.
    fn notify(&self, event: impl FnOnce() -> CallEvent) {
        if !self.observers.is_empty() {
            self.observers.notify(self.cx.call_id(), &event());
        }
    }

    /// Runs the attempt until it finishes, its time limit passes or the call is cancelled.
    ///
    /// A tool that waits for its halt signal receives it and has [`HALT_GRACE`] to answer with partial output. Every
    /// other tool is dropped immediately.
    async fn run_until_deadline(&self, permit: &Permit) -> Result<ToolOutput, ToolError> {
        let limit = self.limit;
        let mut work = std::pin::pin!(self.attempt.run(permit, self.cx));
        let (why, ended) = tokio::select! {
            biased; // a result that is ready when the call is cancelled is the better answer
            // `timeout` instead of a separate branch: it checks the clock even if the work is always ready.
            done = tokio::time::timeout(limit, &mut work) => match done {
                Ok(done) => return done,
                Err(_) => (HaltReason::TimedOut { after: limit }, ToolError::TimedOut { after: limit }),
            },
            () = self.stop.cancelled() => (HaltReason::Cancelled { cause: self.stop.cause() }, self.stop.error()),
        };
        if !self.cx.halt(why) {
            return Err(ended);
        }
        match tokio::time::timeout(HALT_GRACE, work).await {
            Ok(done) => done.map(|output| mark_failed(output, ended.kind())),
            Err(_) => Err(ended),
        }
    }

    /// Returns true if a failed `output` may be due to missing rights, not to the call being halted.
    fn may_need_more_rights(&self, output: &ToolOutput) -> bool {
        let own = matches!(output.facts.error, None | Some(ToolErrorKind::TimedOut));
        !output.success && own && !self.cx.is_halted()
    }
}

impl ToolOrchestrator {
    /// Creates an orchestrator that uses `gate` and has no approver.
    pub fn new(gate: Gate) -> Self {
        Self { gate, approver: None, rulebook: None, question_lock: Arc::default() }
    }

    /// Returns a copy whose questions do not wait for the questions of this one.
    pub(crate) fn with_own_questions(&self) -> Self {
        Self { question_lock: Arc::default(), ..self.clone() }
    }

    /// Runs the attempt with the permit that its intent gets, or returns the reason for the refusal.
    pub(crate) async fn run(&self, call_run: CallRun<'_>) -> Result<ToolOutput, ToolError> {
        let intent = call_run.attempt.intent();
        let verdict = self.gate.decide_with_hook(call_run.tool, intent, call_run.hook_reason.clone());
        tracing::debug!(verdict = verdict_name(&verdict), "the gate decided");
        call_run.notify(|| self.verdict_event(&verdict));
        let mut permit = match verdict {
            Verdict::Allow(permit) => permit,
            Verdict::Forbid(denial) => return Err(ToolError::Forbidden(denial)),
            Verdict::Ask(question) => self.ask_user(*question, &call_run).await?,
        };
        let (mut granted, mut number) = (Vec::new(), 0);
        // ends: each round gives something that was not given before, and the gate counts the rounds
        loop {
            number += 1;
            let sandbox = permit.sandbox().as_str();
            tracing::debug!(number, sandbox, "runs the tool with its permit");
            call_run.notify(|| CallEvent::Attempted { number, sandbox });
            let outcome = call_run.run_until_deadline(&permit).await;
            let (denials, suspected) = match &outcome {
                Ok(output) if call_run.may_need_more_rights(output) => {
                    (output.facts.denials.as_slice(), output.facts.suspected_denial.as_ref())
                }
                Err(ToolError::Blocked(denial)) => (std::slice::from_ref(denial), None),
                Ok(_) | Err(_) => return outcome.map(|output| with_grant_note(output, &granted)),
            };
            let question = self.gate.widen(call_run.tool, intent, &permit, denials, suspected);
            let Some(question) = question.filter(|_| self.approver.is_some()) else {
                return outcome.map(|output| with_grant_note(output, &granted));
            };
            let requested: Vec<String> =
                question.grants.difference(permit.grants()).map(ToString::to_string).collect();
            match self.ask_user(*question, &call_run).await {
                Ok(wider) => {
                    permit = wider;
                    granted.extend(requested);
                }
                Err(refused) => {
                    let note = refusal_note(&refused, &requested).ok_or(refused)?;
                    return outcome.map(|output| with_grant_note(prepend_note(output, note), &granted));
                }
            }
        }
    }

    /// Describes a verdict as an event for observers.
    fn verdict_event(&self, verdict: &Verdict) -> CallEvent {
        let policy = || format!("approval {}", self.gate.approval().as_str());
        let name = verdict_name(verdict);
        let (why, by) = match verdict {
            Verdict::Allow(permit) if permit.is_from_earlier_yes() => {
                (Vec::new(), "an earlier yes in this session".to_owned())
            }
            Verdict::Allow(_) => (Vec::new(), policy()),
            Verdict::Forbid(denial) => (vec![denial.to_string()], policy()),
            Verdict::Ask(question) => {
                let by = question.reasons.iter().find_map(|cause| match cause {
                    ApprovalReason::Rule { rule, .. } => {
                        Some(format!("rule {}:{}", rule.file.display(), rule.line))
                    }
                    ApprovalReason::Hook { hook, .. } => Some(format!("hook {hook}")),
                    _ => None,
                });
                let why = question.reasons.iter().map(ToString::to_string).collect();
                (why, by.unwrap_or_else(policy))
            }
        };
        CallEvent::Judged { verdict: name, why, by }
    }

    /// Asks the user and turns the decision into a permit or an error.
    async fn ask_user(
        &self,
        mut question: ApprovalQuestion,
        call_run: &CallRun<'_>,
    ) -> Result<Permit, ToolError> {
        let Some(approver) = &self.approver else {
            return Err(ToolError::Forbidden(Gate::not_asked_denial(&question, NotAskedReason::NoReviewer)));
        };
        let CallRun { stop, stopwatch, observers, .. } = call_run;
        let arrived = stopwatch.arrived;
        let call = call_run.cx.call_id();
        let answering = async {
            let mut stopped = self.question_lock.lock().await;
            // The user's stop covers every question that was already waiting.
            if stopped.is_some_and(|at| arrived <= at) {
                return Err(stop.error());
            }
            // The answer to an earlier question may cover this one too.
            if let Some(permit) = self.gate.approved_while_waiting(&question) {
                return Ok(permit);
            }
            let preview_permit = self.gate.preview_permit(&question.intent);
            question.intent.diff =
                call_run.attempt.preview(&preview_permit, call_run.cx).await.or(question.intent.diff);
            let reasons: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
            observers.notify(call, &CallEvent::Asked { why: reasons.clone() });
            let is_retry = question.is_retry;
            let asked = AssertUnwindSafe(approver.ask(call, &question)).catch_unwind().await;
            let decision = asked.unwrap_or_else(|_| ReviewDecision::Unanswered {
                why: "the program that asks the user crashed".to_owned(),
            });
            observers.notify(call, &CallEvent::Decided { decision: decision.as_str() });
            if let ReviewDecision::ApprovedWithRule(rule) = &decision {
                self.save_rule(rule.clone(), call_run.cx).await;
            }
            match self.gate.settle(question, &decision) {
                ReviewOutcome::Allow(permit) => Ok(permit),
                ReviewOutcome::Denied { note } => Err(ToolError::Denied { note }),
                ReviewOutcome::Unanswered { why } => {
                    // What a repeated call was refused stands in its own answer.
                    let because = match is_retry {
                        true => String::new(),
                        false => format!(" (it needed a yes, because {})", reasons.join("; ")),
                    };
                    Err(ToolError::Unanswered { why: format!("{why}{because}") })
                }
                ReviewOutcome::Stop => {
                    *stopped = Some(Instant::now());
                    Err(ToolError::Stopped)
                }
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(stop.error()),
            settled = stopwatch.time_wait(answering) => settled,
        }
    }

    /// Saves a rule. If saving fails, the approval still holds for the session, and observers get a warning.
    async fn save_rule(&self, rule: policy::rules::NewRule, cx: &Cx) {
        let saved = match self.rulebook.clone() {
            Some(book) => {
                let saving = cx.run_blocking(move |_| book.save(&rule).map_err(ToolError::io)).await;
                saving.map_err(|error| error.to_string())
            }
            None => Err("there is no file for rules here".to_owned()),
        };
        match saved {
            Ok(rules) => self.gate.add_rules(rules),
            Err(why) => {
                cx.notify(tool::ToolNotice::Warning { text: format!("the rule was not saved: {why}") });
            }
        }
    }
}

/// Returns the name of a verdict for logs and observers.
fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow(_) => "allow",
        Verdict::Forbid(_) => "forbid",
        Verdict::Ask(_) => "ask",
    }
}

/// Prepends a note about the rights that the user granted on the way.
fn with_grant_note(output: ToolOutput, granted: &[String]) -> ToolOutput {
    if granted.is_empty() {
        return output;
    }
    let text = format!(
        "It was refused something at first; the user let it {}, and it was run again from the beginning.",
        granted.join(", ")
    );
    prepend_note(output, text)
}

/// Returns a note about the rights that were refused. `None` if the refusal is about more than these rights.
fn refusal_note(refused: &ToolError, requested: &[String]) -> Option<String> {
    let asked = format!("The user was asked to let it {}", requested.join(", "));
    match refused {
        ToolError::Denied { note: None } => Some(format!("{asked}, and said no.")),
        ToolError::Denied { note: Some(note) } => Some(format!("{asked}, and said no: {note}.")),
        ToolError::Unanswered { why } => Some(format!("{asked}, but no person answered: {why}.")),
        _ => None,
    }
}

/// Prepends `note`: after the output it would look like text that the program printed.
fn prepend_note(mut output: ToolOutput, note: String) -> ToolOutput {
    output.items.insert(0, OutputItem::Text(note));
    output
}

/// Marks a partial output as failed with `by`, for programs; the tool's own text explains it to the model.
fn mark_failed(mut output: ToolOutput, by: ToolErrorKind) -> ToolOutput {
    if output.facts.error.is_none() {
        output.facts.error = Some(by);
        output.success = false;
    }
    output
}
