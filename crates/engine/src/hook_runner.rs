//! Runs all hooks around a call, in order; the strictest decision wins.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use policy::{ApprovalReason, Denial};
use tool::{BoxFuture, ErrorHints, HALT_GRACE, OutputItem, ToolError, ToolErrorKind, ToolNotice, ToolOutput};

use crate::call_stop::CallStop;
use crate::finalize_output::error_output;
use crate::observer::ObserverSet;
use crate::{CallEvent, Hook, HookDecision, HookResponse, PlannedCall};

/// The registered hooks, in the order in which they run.
#[derive(Clone, Default)]
pub(crate) struct HookList(Vec<Arc<dyn Hook>>);

/// The combined result of all hooks before a call.
#[derive(Debug, Default)]
pub(crate) struct HookOutcome {
    /// The reason to ask the user, if a hook wants it.
    pub(crate) approval_reason: Option<ApprovalReason>,
    /// Notes for the model, added to the output.
    notes: Vec<OutputItem>,
}

/// One call and the context that its hooks run in.
pub(crate) struct HookRun<'a> {
    pub(crate) hooks: &'a HookList,
    pub(crate) call: PlannedCall<'a>,
    pub(crate) stop: &'a CallStop,
    pub(crate) observers: &'a ObserverSet,
    pub(crate) hints: &'a ErrorHints,
}

impl HookList {
    pub(crate) fn push(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }
}

impl HookRun<'_> {
    /// Runs every hook before the call; a denial stops the run.
    pub(crate) async fn run_before(&self) -> Result<HookOutcome, ToolError> {
        let hook_run = async {
            let mut outcome = HookOutcome::default();
            for hook in &self.hooks.0 {
                let response = self.call_hook(hook.as_ref(), || hook.before(self.call)).await;
                match response.decision {
                    HookDecision::NoObjection => {}
                    HookDecision::Ask(reason) => {
                        let hook = hook.name().to_owned();
                        outcome.approval_reason.get_or_insert(ApprovalReason::Hook { hook, reason });
                    }
                    HookDecision::Deny(reason) => {
                        // The note helps the model to understand the denial.
                        let reason = response.note.map_or(reason.clone(), |note| format!("{reason}; {note}"));
                        return Err(denial_error(hook.as_ref(), reason));
                    }
                }
                outcome.notes.extend(response.note.map(|note| label_note(hook.as_ref(), &note)));
            }
            Ok(outcome)
        };
        self.unless_cancelled(hook_run).await
    }

    /// Runs every hook on the outcome, after adding the notes from `before`. A denial withholds the output.
    pub(crate) async fn run_after(
        &self,
        before: HookOutcome,
        outcome: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        if self.hooks.0.is_empty() {
            return outcome;
        }
        let mut output = outcome.unwrap_or_else(|error| error_output(&error, self.hints));
        // Notes go first: after the output they would look like text that a program printed.
        let mut notes = before.notes.len();
        output.items.splice(0..0, before.notes);
        let ended_by = output.facts.error;
        let hook_run = async {
            for hook in &self.hooks.0 {
                let response = self.call_hook(hook.as_ref(), || hook.after(self.call, &output)).await;
                match response.decision {
                    HookDecision::NoObjection => {}
                    // Asking is no longer possible, so it counts as a denial.
                    HookDecision::Ask(reason) | HookDecision::Deny(reason) => {
                        let reason = format!("the call was done, and its answer is withheld: {reason}");
                        return Err(denial_error(hook.as_ref(), reason));
                    }
                }
                if let Some(note) = response.note {
                    output.items.insert(notes, label_note(hook.as_ref(), &note));
                    notes += 1;
                }
            }
            Ok(output)
        };
        let checked = if self.stop.is_cancelled() {
            // Partial output of a cancelled tool reaches the model only after the hooks have seen it.
            tokio::time::timeout(HALT_GRACE, hook_run).await.unwrap_or_else(|_| Err(self.stop.error()))
        } else {
            self.unless_cancelled(hook_run).await
        };
        checked.or_else(|error| withhold_output(error, ended_by, self.hints))
    }

    async fn call_hook<'a>(
        &self,
        hook: &dyn Hook,
        start: impl FnOnce() -> BoxFuture<'a, HookResponse>,
    ) -> HookResponse {
        // A hook that panics, at any point, counts as a denial.
        let response = AssertUnwindSafe(async { start().await }).catch_unwind().await.unwrap_or_else(|_| {
            HookResponse { decision: HookDecision::Deny("it crashed".to_owned()), ..HookResponse::default() }
        });
        if let Some(warning) = &response.warning {
            let text = format!("the hook `{}` was ignored: {warning}", hook.name());
            tracing::warn!(?text);
            self.observers.notify(&self.call.call.id, &CallEvent::Notice(ToolNotice::Warning { text }));
        }
        response
    }

    async fn unless_cancelled<T>(
        &self,
        hook_run: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(self.stop.error()),
            heard = hook_run => heard,
        }
    }
}

/// Replaces the withheld output, but keeps the error kind if the user cancelled the call or stopped the session.
fn withhold_output(
    error: ToolError,
    ended_by: Option<ToolErrorKind>,
    hints: &ErrorHints,
) -> Result<ToolOutput, ToolError> {
    match ended_by {
        Some(ToolErrorKind::Cancelled | ToolErrorKind::Stopped) => {
            let mut output = error_output(&error, hints);
            output.facts.error = ended_by;
            Ok(output)
        }
        Some(_) | None => Err(error),
    }
}

fn denial_error(hook: &dyn Hook, reason: String) -> ToolError {
    ToolError::Forbidden(Denial::ByHook { hook: hook.name().to_owned(), reason })
}

fn label_note(hook: &dyn Hook, note: &str) -> OutputItem {
    OutputItem::Text(format!("Note of the hook `{}`: {note}", hook.name()))
}
