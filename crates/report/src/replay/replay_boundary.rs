//! The boundary of a replay: repeats recorded decisions, and lets no call act outside of the copy of the workspace.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use runtime::{
    ApprovalQuestion, Approver, BoxFuture, CallId, Effect, Escalation, Hook, HookDecision, HookResponse,
    PlannedCall, ReviewDecision, SandboxPolicy, ToolOutput,
};

/// The message of a call that is stopped at the boundary.
const STOPPED: &str = "a replay stays in its copy of the workspace";

/// Approves calls that stay in the copy as they were approved then, and stops all others.
pub struct ReplayBoundary {
    /// The recorded decisions, by call id.
    decisions: HashMap<String, String>,
    /// The ids of calls that were stopped.
    stopped: Mutex<HashSet<String>>,
}

impl ReplayBoundary {
    /// Creates the boundary for a session with these decisions, by call id.
    pub fn new(decisions: HashMap<String, String>) -> Self {
        Self { decisions, stopped: Mutex::default() }
    }

    /// Returns true if the call would have acted outside of the copy.
    pub(super) fn has_stopped(&self, call: &CallId) -> bool {
        self.stopped.lock().contains(call.as_str())
    }

    fn stop(&self, call: &CallId) {
        self.stopped.lock().insert(call.as_str().to_owned());
    }
}

impl Approver for ReplayBoundary {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        let leaves = match question.sandbox() {
            SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite => !question.grants.is_empty(),
            SandboxPolicy::External | SandboxPolicy::FullAccess => true,
        };
        let was_denied = matches!(
            self.decisions.get(call.as_str()).map(String::as_str),
            Some("denied" | "unanswered" | "abort")
        );
        let decision = if leaves || was_denied {
            if leaves {
                self.stop(call);
            }
            ReviewDecision::Denied { note: Some(STOPPED.to_owned()) }
        } else {
            // A rule may have allowed it then. It cannot leave the copy.
            ReviewDecision::Approved
        };
        Box::pin(std::future::ready(decision))
    }
}

impl Hook for ReplayBoundary {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn before<'a>(&'a self, planned: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        let acts_outside = planned.intent.effects.iter().any(|effect| match effect {
            Effect::Network(_) | Effect::Foreign(_) | Effect::Remember(_) => true,
            Effect::Read(_) | Effect::Write(_) | Effect::Exec(_) | Effect::SendInput(_) => false,
        });
        let response = if acts_outside || planned.intent.escalation == Escalation::Required {
            self.stop(&planned.call.id);
            HookResponse { decision: HookDecision::Deny(STOPPED.to_owned()), ..HookResponse::default() }
        } else {
            HookResponse::default()
        };
        Box::pin(std::future::ready(response))
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}
