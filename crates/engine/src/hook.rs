//! The hook interface: code that runs before and after every call and can only restrict it.

use policy::Intent;
use tool::{BoxFuture, ToolCall, ToolOutput, WorkingDir};

/// Observes every call whose arguments are valid: before the policy decides, and after the tool has answered.
///
/// Cancelling the call drops the futures that both methods return.
pub trait Hook: Send + Sync {
    /// The name shown with its messages.
    fn name(&self) -> &str;

    /// Runs before the policy decides about `call`. The hook does not see the verdict and cannot change it.
    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse>;

    /// Runs after the call and checks `output` before it is passed on. Asking is no longer possible at this point.
    fn after<'a>(&'a self, call: PlannedCall<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookResponse>;
}

/// A call with valid arguments, and its intent.
#[derive(Debug, Clone, Copy)]
pub struct PlannedCall<'a> {
    /// The tool's own name, even if the model used an alias.
    pub tool: &'a str,
    /// The call as the model sent it. A call that another tool takes over appears as a call of that tool.
    pub call: &'a ToolCall,
    /// The effects that the call would have.
    pub intent: &'a Intent,
    /// The working directory of the session.
    pub working_dir: &'a WorkingDir,
}

/// The response of one hook. The strictest response of several hooks wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookResponse {
    /// The decision.
    pub decision: HookDecision,
    /// A note for the model, added to the output.
    pub note: Option<String>,
    /// A warning for observers: the hook failed and is ignored.
    pub warning: Option<String>,
}

/// The decision of a hook, ordered from lenient to strict.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDecision {
    /// No objection.
    #[default]
    NoObjection,
    /// The user must approve the call, for this reason.
    Ask(String),
    /// The call is forbidden, for this reason. After the call, its output is withheld.
    Deny(String),
}
