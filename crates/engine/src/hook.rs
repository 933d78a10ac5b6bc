//! What others run before and after every call. A hook may tighten, and never loosen.

use policy::Intent;
use tool::{BoxFuture, ToolCall, ToolOutput};

/// Sees every call before it is judged and after it was answered.
pub trait Hook: Send + Sync {
    /// Its name, for whoever is told what it says.
    fn name(&self) -> &str;

    /// What it says before `call`, which would do `intent`, is judged.
    fn before<'a>(&'a self, call: &'a ToolCall, intent: &'a Intent) -> BoxFuture<'a, HookSays>;

    /// What it says about `output`, before anybody reads it. It cannot ask any more.
    fn after<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> BoxFuture<'a, HookSays>;
}

/// What a hook says; the strictest of several counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookSays {
    /// What it wants.
    pub wants: HookWants,
    /// What the model should read beside the answer.
    pub note: Option<String>,
}

/// What a hook wants; the strictest comes last.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookWants {
    /// Nothing.
    #[default]
    Nothing,
    /// That somebody has a look at it, for this reason.
    Ask(String),
    /// That it is not done, for this reason; afterwards, that nobody reads it.
    Deny(String),
}
