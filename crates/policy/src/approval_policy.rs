//! The approval table: decides by approval policy and kind of action when a call needs a user's approval.

use std::fmt;

/// Selects when the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ApprovalPolicy {
    /// Before every action that does more than read.
    Untrusted,
    /// After a denial: the call is first tried in the sandbox.
    OnFailure,
    /// Before a dangerous command, before leaving the sandbox, and after a denial.
    #[default]
    OnRequest,
    /// Never: a call that needs approval is denied.
    Never,
    /// Like [`OnFailure`](Self::OnFailure), and dangerous commands run without a question as long as they are
    /// sandboxed.
    Auto,
    /// Tool calls are switched off.
    Disabled,
}

impl ApprovalPolicy {
    /// Every policy, in the order of the table columns.
    pub const ALL: [Self; 6] =
        [Self::Untrusted, Self::OnFailure, Self::OnRequest, Self::Never, Self::Auto, Self::Disabled];

    /// Returns the policy for a sub-agent that requests `theirs`. It never asks less or permits more than this policy.
    pub(crate) fn for_subagent(self, theirs: Self) -> Self {
        match (self, theirs) {
            (Self::Disabled, _) | (_, Self::Disabled) => Self::Disabled,
            // Neither policy is looser than the other, so the parent's stays.
            (Self::Untrusted | Self::Never, _) => self,
            (Self::OnRequest, Self::OnFailure | Self::Auto) | (Self::OnFailure, Self::Auto) => self,
            (Self::OnFailure | Self::OnRequest | Self::Auto, theirs) => theirs,
        }
    }

    /// Returns the name used in configurations and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::OnFailure => "on-failure",
            Self::OnRequest => "on-request",
            Self::Never => "never",
            Self::Auto => "auto",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind of action in the approval table, one per row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalCase {
    /// Only reads, in the sandbox.
    Reads,
    /// Only reads, without a sandbox that hides secrets.
    ReadsUnconfined,
    /// Has unknown effects, in the sandbox.
    Runs,
    /// Has unknown effects, without a sandbox.
    RunsUnconfined,
    /// Is allowed by a user's rule.
    Allowed,
    /// Is dangerous or cannot be analysed, in the sandbox.
    Dangerous,
    /// Is dangerous or cannot be analysed, without a sandbox.
    DangerousUnconfined,
    /// A rule or a hook asks for approval.
    MustAsk,
    /// Needs one permission that the sandbox does not give.
    NeedsGrant,
    /// Requests to run without the sandbox.
    LeavesSandbox,
    /// Was tried, and the sandbox denied an operation.
    DeniedInSandbox,
    /// A rule or a hook forbids it.
    Forbidden,
}

impl ApprovalCase {
    /// Every case, in the order of the table rows.
    pub const ALL: [Self; 12] = [
        Self::Reads,
        Self::ReadsUnconfined,
        Self::Runs,
        Self::RunsUnconfined,
        Self::Allowed,
        Self::Dangerous,
        Self::DangerousUnconfined,
        Self::MustAsk,
        Self::NeedsGrant,
        Self::LeavesSandbox,
        Self::DeniedInSandbox,
        Self::Forbidden,
    ];

    /// Returns the text in the first column of the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "only reads, confined",
            Self::ReadsUnconfined => "only reads, not confined",
            Self::Runs => "runs anything else, confined",
            Self::RunsUnconfined => "runs anything else, not confined",
            Self::Allowed => "a rule allows it",
            Self::Dangerous => "is dangerous or cannot be understood, confined",
            Self::DangerousUnconfined => "is dangerous or cannot be understood, not confined",
            Self::MustAsk => "a rule or a hook asks",
            Self::NeedsGrant => "needs a path or a host that the sandbox does not give",
            Self::LeavesSandbox => "asks to leave the sandbox",
            Self::DeniedInSandbox => "was tried, and refused something",
            Self::Forbidden => "a rule or a hook forbids it",
        }
    }
}

/// The approval that a call requires before it may run; the strictest comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalRequirement {
    /// No approval is needed.
    Skip,
    /// A person must approve.
    NeedsApproval,
    /// Approval is not possible.
    Forbidden,
}

impl ApprovalRequirement {
    /// Returns the text of a table cell.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "allow",
            Self::NeedsApproval => "ask",
            Self::Forbidden => "forbid",
        }
    }
}

/// Looks up the approval table.
///
/// ```
/// use toolgate_policy::{ApprovalPolicy, ApprovalCase, ApprovalRequirement, approval_requirement};
/// assert_eq!(approval_requirement(ApprovalPolicy::OnRequest, ApprovalCase::Runs), ApprovalRequirement::Skip);
/// assert_eq!(approval_requirement(ApprovalPolicy::Untrusted, ApprovalCase::Runs), ApprovalRequirement::NeedsApproval);
/// assert_eq!(approval_requirement(ApprovalPolicy::Never, ApprovalCase::LeavesSandbox), ApprovalRequirement::Forbidden);
/// ```
pub fn approval_requirement(policy: ApprovalPolicy, case: ApprovalCase) -> ApprovalRequirement {
    use ApprovalPolicy::{Auto, Disabled, Never, OnFailure, OnRequest, Untrusted};
    use ApprovalRequirement::{Forbidden, NeedsApproval, Skip};
    match (case, policy) {
        (ApprovalCase::Forbidden, _) | (_, Disabled) => Forbidden,
        (ApprovalCase::Reads | ApprovalCase::Allowed, _) => Skip,
        (ApprovalCase::ReadsUnconfined | ApprovalCase::Runs | ApprovalCase::RunsUnconfined, Untrusted) => {
            NeedsApproval
        }
        (
            ApprovalCase::ReadsUnconfined | ApprovalCase::Runs | ApprovalCase::RunsUnconfined,
            OnFailure | OnRequest | Never | Auto,
        ) => Skip,
        // The sandbox contains the danger.
        (ApprovalCase::Dangerous, Auto) => Skip,
        // The call is tried in the sandbox first; a denial there may raise a question.
        (ApprovalCase::LeavesSandbox, OnFailure | Auto) => Skip,
        (
            ApprovalCase::Dangerous
            | ApprovalCase::DangerousUnconfined
            | ApprovalCase::MustAsk
            | ApprovalCase::NeedsGrant
            | ApprovalCase::LeavesSandbox
            | ApprovalCase::DeniedInSandbox,
            Never,
        ) => Forbidden,
        (
            ApprovalCase::Dangerous
            | ApprovalCase::DangerousUnconfined
            | ApprovalCase::MustAsk
            | ApprovalCase::NeedsGrant
            | ApprovalCase::LeavesSandbox
            | ApprovalCase::DeniedInSandbox,
            Untrusted | OnFailure | OnRequest | Auto,
        ) => NeedsApproval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_table_matches_its_documentation() {
        #[rustfmt::skip]
        let table = [
            // untrusted, on-failure, on-request, never, auto, disabled
            (ApprovalCase::Reads,               ["allow", "allow", "allow", "allow", "allow", "forbid"]),
            (ApprovalCase::ReadsUnconfined,     ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (ApprovalCase::Runs,                ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (ApprovalCase::RunsUnconfined,      ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (ApprovalCase::Allowed,             ["allow", "allow", "allow", "allow", "allow", "forbid"]),
            (ApprovalCase::Dangerous,           ["ask"  , "ask"  , "ask"  , "forbid", "allow", "forbid"]),
            (ApprovalCase::DangerousUnconfined, ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (ApprovalCase::MustAsk,             ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (ApprovalCase::NeedsGrant,              ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (ApprovalCase::LeavesSandbox,              ["ask"  , "allow", "ask"  , "forbid", "allow", "forbid"]),
            (ApprovalCase::DeniedInSandbox,             ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (ApprovalCase::Forbidden,           ["forbid", "forbid", "forbid", "forbid", "forbid", "forbid"]),
        ];
        assert_eq!(table.map(|(matter, _)| matter), ApprovalCase::ALL);
        let page = include_str!("../../../docs/approval.md");
        for (matter, cells) in table {
            for (policy, cell) in ApprovalPolicy::ALL.into_iter().zip(cells) {
                assert_eq!(approval_requirement(policy, matter).as_str(), cell, "{policy} {matter:?}");
            }
            // The user documentation must contain the same row.
            let row = format!("| {} | {} |", matter.as_str(), cells.join(" | "));
            assert!(page.contains(&row), "docs/approval.md has no row\n{row}");
        }
    }
}
