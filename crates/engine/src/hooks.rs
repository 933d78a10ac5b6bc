//! Several hooks as one: each is heard, and the strictest counts.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use policy::{Cause, Denial, Intent};
use tool::{Item, ToolCall, ToolError, ToolOutput};

use crate::{Hook, HookSays, HookWants};

#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

/// What all of them say before a call.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// One of them wants it to be asked.
    pub(crate) asks: Option<Cause>,
    /// What the model should read beside the answer.
    pub(crate) notes: Vec<String>,
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// Hears all of them; one that denies ends it.
    pub(crate) async fn before(&self, call: &ToolCall, intent: &Intent) -> Result<Heard, ToolError> {
        let mut heard = Heard::default();
        for hook in &self.0 {
            let says = said(AssertUnwindSafe(hook.before(call, intent)).catch_unwind().await);
            heard.notes.extend(says.note.map(|note| labelled(hook.as_ref(), &note)));
            match says.wants {
                HookWants::Nothing => {}
                HookWants::Ask(reason) => {
                    let hook = hook.name().to_owned();
                    heard.asks.get_or_insert(Cause::Hook { hook, reason });
                }
                HookWants::Deny(reason) => return Err(denied(hook.as_ref(), reason)),
            }
        }
        Ok(heard)
    }

    /// Lets each of them read the answer; one that denies withholds it.
    pub(crate) async fn after(
        &self,
        call: &ToolCall,
        mut output: ToolOutput,
    ) -> Result<ToolOutput, ToolError> {
        for hook in &self.0 {
            let says = said(AssertUnwindSafe(hook.after(call, &output)).catch_unwind().await);
            match says.wants {
                HookWants::Nothing => {}
                // It is too late to ask.
                HookWants::Ask(reason) | HookWants::Deny(reason) => {
                    return Err(denied(hook.as_ref(), reason));
                }
            }
            output.items.extend(says.note.map(|note| Item::Text(labelled(hook.as_ref(), &note))));
        }
        Ok(output)
    }
}

/// A hook that crashes says no.
fn said(says: Result<HookSays, impl Sized>) -> HookSays {
    says.unwrap_or_else(|_| HookSays { wants: HookWants::Deny("it crashed".to_owned()), note: None })
}

fn denied(hook: &dyn Hook, reason: String) -> ToolError {
    ToolError::Forbidden(Denial::ByHook { hook: hook.name().to_owned(), reason })
}

fn labelled(hook: &dyn Hook, note: &str) -> String {
    format!("Note of the hook `{}`: {note}", hook.name())
}
