//! Decides which calls need a yes, and who says it: approver, question, rules, and the analysis of commands.
//!
//! Every call states its effects. The [`Gate`] allows it, forbids it, or asks. [`ApprovalPolicy`] says when it asks;
//! by default before a dangerous command, before leaving the sandbox, and after the sandbox refused something.
//! An [`Approver`] answers the question. Without one, each question is a no.
//!
//! ```
//! use std::sync::Arc;
//!
//! use toolgate::approval::{ApprovalQuestion, Approver, ReviewDecision};
//! use toolgate::call::CallId;
//! use toolgate::{BoxFuture, Toolgate};
//!
//! struct AlwaysNo;
//!
//! impl Approver for AlwaysNo {
//!     fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
//!         let why: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
//!         let note = Some(format!("not today: {}", why.join(", ")));
//!         Box::pin(async { ReviewDecision::Denied { note } })
//!     }
//! }
//!
//! # fn main() -> Result<(), toolgate::BuildFault> {
//! let toolgate = Toolgate::at(".").with_tools().approver(Arc::new(AlwaysNo)).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! The example `approver` shows a question in full. [`rules`] has rules that allow, ask or forbid without a person.

pub use runtime::{
    ApprovalPolicy, ApprovalQuestion, ApprovalReason, Approver, ClassifiedCommand, CommandAnalysis,
    CommandLine, CommandRisk, Denial, EffectSummary, Gate, Grant, Grants, MachineLookup, NotAskedReason,
    ReviewDecision, RuleProposal, Rulebook, Verdict, host_file_by_name, is_invisible, is_secret_name, rules,
    shell,
};
