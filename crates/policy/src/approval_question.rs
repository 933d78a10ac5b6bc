//! Defines approval questions: the call, the reasons for asking, the proposed rule, and the possible answers.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::approval_store::ApprovalKey;
use crate::rules::{NewRule, PolicyRule};
use crate::{
    CommandAnalysis, Confinement, Denial, Effect, Grants, Intent, Permit, SandboxPolicy, host_file_by_name,
};

/// A question about one call. It shows everything that the call would do. Only a [`Gate`](crate::Gate) creates
/// questions.
#[derive(Debug, Clone)]
pub struct ApprovalQuestion {
    /// The called tool.
    pub tool: String,
    /// The effects of the call.
    pub intent: Intent,
    /// The analysis of its command, if it has one.
    pub analysis: Option<CommandAnalysis>,
    /// The reasons for the question; never empty.
    pub reasons: Vec<ApprovalReason>,
    /// The grants beyond the policy that an approval gives.
    pub grants: Grants,
    /// The confinement of the call; `None` if it is not confined.
    pub confinement: Option<Arc<Confinement>>,
    /// The agent that asks, as a path from the session's own agent, which is empty.
    pub agent_path: Vec<String>,
    /// The call was already tried, and would be run again from the start.
    pub is_retry: bool,
    /// The rule that could be saved to avoid this question in future.
    pub proposal: Option<RuleProposal>,
    pub(crate) keys: Vec<ApprovalKey>,
    pub(crate) permit: Permit,
}

impl ApprovalQuestion {
    /// Returns sentences about files that the call would change and that take effect on the user's machine. For a
    /// command they are derived from its words, like [`effect_summary`](Self::effect_summary).
    pub fn host_file_warnings(&self) -> Vec<String> {
        let by_name = |path: &String| Some((host_file_by_name(Path::new(path))?, path.clone()));
        let written = self.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Write(path) => Some((self.permit.host_file(path)?, path.display().to_string())),
            _ => None,
        });
        let stated = written.collect::<Vec<_>>();
        let touched = if stated.is_empty() { self.effect_summary().writes } else { Vec::new() };
        let named = touched.iter().filter_map(by_name);
        stated.iter().cloned().chain(named).map(|(file, path)| file.describe_change(&path)).collect()
    }

    /// Returns the sandbox policy that applies after an approval.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.permit.sandbox()
    }
}

/// A rule that the user could save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProposal {
    /// The rule.
    pub rule: NewRule,
    /// Examples of what else the rule would allow.
    pub allowed_examples: Vec<String>,
    /// The model chose the words.
    pub chosen_by_model: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Approves this call.
    Approved,
    /// Approves this call, and identical calls for the rest of the session.
    ApprovedForSession,
    /// Approves this call, and everything that this rule allows from now on.
    ApprovedWithRule(NewRule),
    /// Denies this call.
    Denied {
        /// A message for the model.
        note: Option<String>,
    },
    /// Denies this call, because no person answered.
    Unanswered {
        /// The reason, and what would help, for the model.
        why: String,
    },
    /// Denies this call and stops all running work.
    Abort,
}

impl ReviewDecision {
    /// Returns the name used in protocols.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ApprovedForSession => "approved_for_session",
            Self::ApprovedWithRule(_) => "approved_with_rule",
            Self::Denied { .. } => "denied",
            Self::Unanswered { .. } => "unanswered",
            Self::Abort => "abort",
        }
    }
}

/// The reason for a question.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalReason {
    /// The policy asks before every action that does more than read.
    Untrusted {
        /// The command or the effect.
        what: String,
    },
    /// The command or the effect is dangerous.
    Dangerous {
        /// The command or the effect.
        what: String,
        /// The danger.
        why: String,
    },
    /// A part of the script could not be analysed.
    NotUnderstood {
        /// The part.
        what: String,
        /// The reason.
        why: String,
    },
    /// A rule asks.
    Rule {
        /// The command or the effect.
        what: String,
        /// The rule.
        rule: Box<PolicyRule>,
        /// The rule certainly matches.
        certain: bool,
    },
    /// A hook asks.
    Hook {
        /// The name of the hook.
        hook: String,
        /// The reason that the hook gives.
        reason: String,
    },
    /// The call needs a permission that the sandbox does not give.
    NeedsGrant(Denial),
    /// The call requests to leave the sandbox.
    LeavesSandbox,
    /// The call was tried and denied an operation.
    DeniedInSandbox {
        /// The denial.
        denial: Denial,
        /// The denial is only inferred from the program's output.
        guessed: bool,
    },
    /// A tool of another program would run, with unknown effects.
    Foreign {
        /// The name of the provider.
        server: String,
        /// The provider's name for the tool.
        tool: String,
    },
    /// Later sessions would read a text.
    Remembers {
        /// The name of the text.
        name: String,
        /// The sessions that read it.
        scope: String,
    },
    /// The definition of a tool of another program has changed since it was last used.
    Redefined {
        /// The name of the provider.
        server: String,
        /// The provider's name for the tool.
        tool: String,
    },
}

impl fmt::Display for ApprovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { what } => {
                write!(f, "{what} may change something, and the approval policy is untrusted")
            }
            Self::Dangerous { what, why } => write!(f, "{what} {why}"),
            Self::NotUnderstood { what, why } => write!(f, "{what} cannot be understood: {why}"),
            Self::Rule { what, rule, certain } => {
                let position = format!("{}:{}", rule.file.display(), rule.line);
                let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let (is, says) = match (rule.decision, certain) {
                    (crate::rules::RuleDecision::Forbid, _) => ("may be", "forbids"),
                    (_, true) => ("is", "asks about"),
                    (_, false) => ("may be", "asks about"),
                };
                write!(f, "{what} {is} what the rule at {position} {says}{reason}")
            }
            Self::Hook { hook, reason } => write!(f, "the hook `{hook}` asks: {reason}"),
            Self::NeedsGrant(denial) => write!(f, "{denial}"),
            Self::LeavesSandbox => f.write_str("it asks to run without the sandbox"),
            Self::DeniedInSandbox { denial, guessed: false } => write!(f, "it was refused: {denial}"),
            Self::DeniedInSandbox { denial, guessed: true } => {
                write!(f, "it failed, and its output suggests that it was refused: {denial}")
            }
            Self::Foreign { server, tool } => {
                write!(f, "`{tool}` is a tool of `{server}`, and its effects are unknown")
            }
            Self::Remembers { name, scope } => {
                write!(f, "every later session in {scope} would read what is remembered as `{name}`")
            }
            Self::Redefined { server, tool } => {
                write!(
                    f,
                    "`{server}` has changed what it says about its tool `{tool}` since it was last used"
                )
            }
        }
    }
}

impl ApprovalReason {
    /// Returns the denial that caused the question, if one did.
    pub fn denial(&self) -> Option<&Denial> {
        match self {
            Self::NeedsGrant(denial) | Self::DeniedInSandbox { denial, .. } => Some(denial),
            Self::Untrusted { .. }
            | Self::Dangerous { .. }
            | Self::NotUnderstood { .. }
            | Self::Rule { .. }
            | Self::Hook { .. }
            | Self::LeavesSandbox
            | Self::Foreign { .. }
            | Self::Remembers { .. }
            | Self::Redefined { .. } => None,
        }
    }
}
