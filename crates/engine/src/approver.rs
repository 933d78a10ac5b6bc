//! The interfaces for asking about a call and for saving a rule.

use policy::rules::{NewRule, RuleSet};
use policy::{ApprovalQuestion, ReviewDecision};
use tool::{BoxFuture, CallId};

/// Answers approval questions: a user at a terminal, a program or a script.
pub trait Approver: Send + Sync {
    /// Asks about `call`. One question is asked at a time. The future is dropped when the call is cancelled.
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision>;
}

/// Stores rules that the user wants to keep.
pub trait Rulebook: Send + Sync {
    /// Saves `rule` and returns the rules as re-read from storage. The error is one sentence saying why saving failed.
    /// May block.
    fn save(&self, rule: &NewRule) -> Result<RuleSet, String>;
}
