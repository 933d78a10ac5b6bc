//! What others run before and after every call. A hook may tighten, and never loosen.

use policy::Intent;
use tool::{BoxFuture, Place, ToolCall, ToolOutput};

/// Sees every call that its tool understood: before it is judged, and after it was answered.
///
/// Calling off the call drops what either of these returns.
pub trait Hook: Send + Sync {
    /// Its name, for whoever is told what it says.
    fn name(&self) -> &str;

    /// What it says before `call` is judged. It knows no verdict, and can change none.
    fn before<'a>(&'a self, call: Planned<'a>) -> BoxFuture<'a, HookSays>;

    /// What it says about `output`, before anybody reads it. It cannot ask any more.
    fn after<'a>(&'a self, call: Planned<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookSays>;
}

/// A call whose arguments are right, and what it would do.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// The tool's own name, whichever of its names the model wrote.
    pub tool: &'a str,
    /// What the model sent; a patch in a shell is a call of the tool for patches.
    pub call: &'a ToolCall,
    /// What it would touch.
    pub intent: &'a Intent,
    /// Where the session works.
    pub place: &'a Place,
}

/// What a hook says; the strictest of several counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookSays {
    /// What it wants.
    pub wants: HookWants,
    /// What the model should read beside the answer.
    pub note: Option<String>,
    /// What whoever watches should know: it did not work, and that is to be ignored.
    pub warning: Option<String>,
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
