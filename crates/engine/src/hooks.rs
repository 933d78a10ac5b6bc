//! Several hooks as one: each is heard in its turn, and the strictest counts.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use policy::{Cause, Denial};
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, ErrorKind, GRACE, Item, Notice, ToolError, ToolOutput};

use crate::answer::sentence;
use crate::observer::Observers;
use crate::{Event, Hook, HookSays, HookWants, Planned};

#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

/// What all of them say before a call.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// One of them wants it to be asked.
    pub(crate) asks: Option<Cause>,
    /// What the model should read beside the answer.
    notes: Vec<Item>,
}

/// One call on its way past the hooks.
pub(crate) struct Hearing<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) call: Planned<'a>,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) arrived: Instant,
    pub(crate) observers: &'a Observers,
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }
}

impl Hearing<'_> {
    /// Hears all of them; one that denies ends it.
    pub(crate) async fn before(&self) -> Result<Heard, ToolError> {
        let hearing = async {
            let mut heard = Heard::default();
            for hook in &self.hooks.0 {
                let says = self.said(hook.as_ref(), || hook.before(self.call)).await;
                match says.wants {
                    HookWants::Nothing => {}
                    HookWants::Ask(reason) => {
                        let hook = hook.name().to_owned();
                        heard.asks.get_or_insert(Cause::Hook { hook, reason });
                    }
                    HookWants::Deny(reason) => {
                        // A note is all the better with a no.
                        let reason = says.note.map_or(reason.clone(), |note| format!("{reason}; {note}"));
                        return Err(denied(hook.as_ref(), reason));
                    }
                }
                heard.notes.extend(says.note.map(|note| labelled(hook.as_ref(), &note)));
            }
            Ok(heard)
        };
        self.unless_cancelled(hearing).await
    }

    /// Lets each of them read what came of the call, with what was said `before`; one that denies withholds it.
    pub(crate) async fn after(
        &self,
        before: Heard,
        outcome: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        if self.hooks.0.is_empty() {
            return outcome;
        }
        let mut output = outcome.unwrap_or_else(|error| sentence(&error));
        // Behind the answer they would look like something that a program printed.
        let mut notes = before.notes.len();
        output.items.splice(0..0, before.notes);
        let ended_by = output.facts.error;
        let hearing = async {
            for hook in &self.hooks.0 {
                let says = self.said(hook.as_ref(), || hook.after(self.call, &output)).await;
                match says.wants {
                    HookWants::Nothing => {}
                    // It is too late to ask.
                    HookWants::Ask(reason) | HookWants::Deny(reason) => {
                        let reason = format!("the call was done, and its answer is withheld: {reason}");
                        return Err(denied(hook.as_ref(), reason));
                    }
                }
                if let Some(note) = says.note {
                    output.items.insert(notes, labelled(hook.as_ref(), &note));
                    notes += 1;
                }
            }
            Ok(output)
        };
        let heard = if self.cancel.is_cancelled() {
            // What the tool had until then is not shown to the model unheard.
            tokio::time::timeout(GRACE, hearing).await.unwrap_or_else(|_| Err(self.cancelled()))
        } else {
            self.unless_cancelled(hearing).await
        };
        heard.or_else(|error| withheld(error, ended_by))
    }

    async fn said<'a>(&self, hook: &dyn Hook, says: impl FnOnce() -> BoxFuture<'a, HookSays>) -> HookSays {
        // A hook that crashes says no, wherever it does.
        let says = AssertUnwindSafe(async { says().await }).catch_unwind().await.unwrap_or_else(|_| {
            HookSays { wants: HookWants::Deny("it crashed".to_owned()), ..HookSays::default() }
        });
        if let Some(warning) = &says.warning {
            let text = format!("the hook `{}` was ignored: {warning}", hook.name());
            tracing::warn!(?text);
            self.observers.saw(&self.call.call.id, &Event::Notice(Notice::Warning { text }));
        }
        says
    }

    async fn unless_cancelled<T>(
        &self,
        hearing: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(self.cancelled()),
            heard = hearing => heard,
        }
    }

    fn cancelled(&self) -> ToolError {
        ToolError::Cancelled { after: self.arrived.elapsed() }
    }
}

/// Nothing of the answer is left; but that a person stopped the call or all that goes on is still to be known.
fn withheld(error: ToolError, ended_by: Option<ErrorKind>) -> Result<ToolOutput, ToolError> {
    match ended_by {
        Some(ErrorKind::Cancelled | ErrorKind::Stopped) => {
            let mut output = sentence(&error);
            output.facts.error = ended_by;
            Ok(output)
        }
        Some(_) | None => Err(error),
    }
}

fn denied(hook: &dyn Hook, reason: String) -> ToolError {
    ToolError::Forbidden(Denial::ByHook { hook: hook.name().to_owned(), reason })
}

fn labelled(hook: &dyn Hook, note: &str) -> Item {
    Item::Text(format!("Note of the hook `{}`: {note}", hook.name()))
}
