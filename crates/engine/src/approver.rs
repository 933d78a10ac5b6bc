//! Whoever can be asked, and where a rule is saved that they want to keep.

use policy::rules::{NewRule, Rules};
use policy::{Question, ReviewDecision};
use tool::{BoxFuture, CallId};

/// Somebody who answers questions: a person at a terminal, a program, a script.
pub trait Approver: Send + Sync {
    /// Asks about `call`. One question is asked at a time. The future is dropped when the call is given up.
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a Question) -> BoxFuture<'a, ReviewDecision>;
}

/// Where rules are kept that somebody wants to count from now on.
pub trait Rulebook: Send + Sync {
    /// Saves `rule`, and gives it back as it was read again; or says in one sentence why it was not saved. May block.
    fn save(&self, rule: &NewRule) -> Result<Rules, String>;
}
