//! The session modes that an editor can select.
//!
//! A mode only tightens the configuration, and applies from the next call on.

use parking_lot::Mutex;
use runtime::{BoxFuture, Effect, Hook, HookDecision, HookResponse, Intent, PlannedCall, ToolOutput};
use serde_json::{Value, json};

/// A session mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionMode {
    Configured,
    Ask,
    ReadOnly,
}

impl SessionMode {
    const ALL: [Self; 3] = [Self::Configured, Self::Ask, Self::ReadOnly];

    fn id(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Ask => "ask",
            Self::ReadOnly => "read-only",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Configured => "As configured",
            Self::Ask => "Ask first",
            Self::ReadOnly => "Read only",
        }
    }

    /// Returns the hook's verdict on a call that does more than read.
    fn decision(self) -> HookDecision {
        match self {
            Self::Configured => HookDecision::NoObjection,
            Self::Ask => HookDecision::Ask("the mode is `Ask first`".to_owned()),
            Self::ReadOnly => HookDecision::Deny(
                "the user has set the mode to `Read only`: say what you would do instead of doing it"
                    .to_owned(),
            ),
        }
    }
}

/// The current mode of one session, enforced as a hook.
pub(super) struct SessionModeHook {
    sandbox: &'static str,
    approval: &'static str,
    current: Mutex<SessionMode>,
}

impl SessionModeHook {
    /// Creates the hook in the mode `Configured`.
    pub(super) fn new(sandbox: &'static str, approval: &'static str) -> Self {
        Self { sandbox, approval, current: Mutex::new(SessionMode::Configured) }
    }

    fn current(&self) -> SessionMode {
        *self.current.lock()
    }

    /// Switches the mode. An unknown id is an error that lists the modes.
    pub(super) fn switch_to(&self, id: &str) -> Result<(), String> {
        let Some(mode) = SessionMode::ALL.into_iter().find(|mode| mode.id() == id) else {
            return Err(format!(
                "there are {}",
                SessionMode::ALL.map(|mode| format!("`{}`", mode.id())).join(", ")
            ));
        };
        *self.current.lock() = mode;
        Ok(())
    }

    /// Returns all modes and the current one as JSON.
    pub(super) fn to_json(&self) -> Value {
        let describe = |mode: SessionMode| {
            let about = match mode {
                SessionMode::Configured => {
                    format!("The sandbox is {}, the approval policy {}", self.sandbox, self.approval)
                }
                SessionMode::Ask => "Asks before every change and every command".to_owned(),
                SessionMode::ReadOnly => "Changes nothing and runs no command".to_owned(),
            };
            json!({ "id": mode.id(), "name": mode.name(), "description": about })
        };
        json!({ "currentModeId": self.current().id(), "availableModes": SessionMode::ALL.map(describe) })
    }
}

/// Returns true if a call has an effect other than reading.
fn has_side_effects(intent: &Intent) -> bool {
    intent.effects.iter().any(|effect| match effect {
        Effect::Read(_) => false,
        Effect::Write(_)
        | Effect::Exec(_)
        | Effect::SendInput(_)
        | Effect::Network(_)
        | Effect::Foreign(_)
        | Effect::Remember(_) => true,
    })
}

impl Hook for SessionModeHook {
    fn name(&self) -> &str {
        "mode"
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        let wants =
            if has_side_effects(call.intent) { self.current().decision() } else { HookDecision::NoObjection };
        Box::pin(std::future::ready(HookResponse { decision: wants, ..HookResponse::default() }))
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}
