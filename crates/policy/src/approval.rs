//! When somebody is asked: one table of approval policies and of what a call would do.

use std::fmt;

/// When the user wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ApprovalPolicy {
    /// Before anything that does more than read.
    Untrusted,
    /// When something was refused: it is tried in the sandbox first.
    OnFailure,
    /// When a command is dangerous, asks to leave the sandbox or was refused something.
    #[default]
    OnRequest,
    /// Never: what would be asked is refused.
    Never,
    /// As [`OnFailure`](Self::OnFailure), and what is dangerous runs without a question too, as long as the sandbox holds it.
    Auto,
    /// No tool is run at all.
    Disabled,
}

impl ApprovalPolicy {
    /// Each of them, as the columns of the table stand.
    pub const ALL: [Self; 6] =
        [Self::Untrusted, Self::OnFailure, Self::OnRequest, Self::Never, Self::Auto, Self::Disabled];

    /// What holds for a sub-agent that is to ask as `theirs` says: never is there less to ask, or more to be had.
    pub(crate) fn inherited(self, theirs: Self) -> Self {
        match (self, theirs) {
            (Self::Disabled, _) | (_, Self::Disabled) => Self::Disabled,
            // Neither of these is looser than the other, so they stay.
            (Self::Untrusted | Self::Never, _) => self,
            (Self::OnRequest, Self::OnFailure | Self::Auto) | (Self::OnFailure, Self::Auto) => self,
            (Self::OnFailure | Self::OnRequest | Self::Auto, theirs) => theirs,
        }
    }

    /// Its name, as configurations and flags spell it.
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

/// What a call does that somebody might want to be asked about: the rows of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matter {
    /// It only reads, and is confined.
    Reads,
    /// It only reads, but nothing keeps it from reading secrets.
    ReadsUnconfined,
    /// Nobody knows what it does, and it is confined.
    Runs,
    /// Nobody knows what it does, and it is not confined.
    RunsUnconfined,
    /// A rule of the user's allows it.
    Allowed,
    /// It is known to do harm if it is a mistake, or cannot be understood, and is confined.
    Dangerous,
    /// The same, and it is not confined.
    DangerousUnconfined,
    /// A rule or a hook asks for a look at it.
    MustAsk,
    /// It needs something that the sandbox does not give, and nothing more.
    Beyond,
    /// It asks to run without the sandbox.
    Leaves,
    /// It was tried, and the sandbox refused something.
    Refused,
    /// A rule or a hook forbids it.
    Forbidden,
}

impl Matter {
    /// Each of them, as the rows of the table stand.
    pub const ALL: [Self; 12] = [
        Self::Reads,
        Self::ReadsUnconfined,
        Self::Runs,
        Self::RunsUnconfined,
        Self::Allowed,
        Self::Dangerous,
        Self::DangerousUnconfined,
        Self::MustAsk,
        Self::Beyond,
        Self::Leaves,
        Self::Refused,
        Self::Forbidden,
    ];

    /// The first cell of its row.
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
            Self::Beyond => "needs a path or a host that the sandbox does not give",
            Self::Leaves => "asks to leave the sandbox",
            Self::Refused => "was tried, and refused something",
            Self::Forbidden => "a rule or a hook forbids it",
        }
    }
}

/// What has to happen before a call may be tried; the strictest comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// Nothing.
    Skip,
    /// Somebody has to say yes.
    NeedsApproval,
    /// Nobody can allow it.
    Forbidden,
}

impl Requirement {
    /// A cell of the table, in the words of a decision.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "allow",
            Self::NeedsApproval => "ask",
            Self::Forbidden => "forbid",
        }
    }
}

/// The whole table.
///
/// ```
/// use toolgate_policy::{ApprovalPolicy, Matter, Requirement, requirement};
/// assert_eq!(requirement(ApprovalPolicy::OnRequest, Matter::Runs), Requirement::Skip);
/// assert_eq!(requirement(ApprovalPolicy::Untrusted, Matter::Runs), Requirement::NeedsApproval);
/// assert_eq!(requirement(ApprovalPolicy::Never, Matter::Leaves), Requirement::Forbidden);
/// ```
pub fn requirement(policy: ApprovalPolicy, matter: Matter) -> Requirement {
    use ApprovalPolicy::{Auto, Disabled, Never, OnFailure, OnRequest, Untrusted};
    use Requirement::{Forbidden, NeedsApproval, Skip};
    match (matter, policy) {
        (Matter::Forbidden, _) | (_, Disabled) => Forbidden,
        (Matter::Reads | Matter::Allowed, _) => Skip,
        (Matter::ReadsUnconfined | Matter::Runs | Matter::RunsUnconfined, Untrusted) => NeedsApproval,
        (
            Matter::ReadsUnconfined | Matter::Runs | Matter::RunsUnconfined,
            OnFailure | OnRequest | Never | Auto,
        ) => Skip,
        // The sandbox holds it.
        (Matter::Dangerous, Auto) => Skip,
        // It is tried in the sandbox first; what comes of that may be asked.
        (Matter::Leaves, OnFailure | Auto) => Skip,
        (
            Matter::Dangerous
            | Matter::DangerousUnconfined
            | Matter::MustAsk
            | Matter::Beyond
            | Matter::Leaves
            | Matter::Refused,
            Never,
        ) => Forbidden,
        (
            Matter::Dangerous
            | Matter::DangerousUnconfined
            | Matter::MustAsk
            | Matter::Beyond
            | Matter::Leaves
            | Matter::Refused,
            Untrusted | OnFailure | OnRequest | Auto,
        ) => NeedsApproval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        #[rustfmt::skip]
        let table = [
            // untrusted, on-failure, on-request, never, auto, disabled
            (Matter::Reads,               ["allow", "allow", "allow", "allow", "allow", "forbid"]),
            (Matter::ReadsUnconfined,     ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (Matter::Runs,                ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (Matter::RunsUnconfined,      ["ask"  , "allow", "allow", "allow", "allow", "forbid"]),
            (Matter::Allowed,             ["allow", "allow", "allow", "allow", "allow", "forbid"]),
            (Matter::Dangerous,           ["ask"  , "ask"  , "ask"  , "forbid", "allow", "forbid"]),
            (Matter::DangerousUnconfined, ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (Matter::MustAsk,             ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (Matter::Beyond,              ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (Matter::Leaves,              ["ask"  , "allow", "ask"  , "forbid", "allow", "forbid"]),
            (Matter::Refused,             ["ask"  , "ask"  , "ask"  , "forbid", "ask"  , "forbid"]),
            (Matter::Forbidden,           ["forbid", "forbid", "forbid", "forbid", "forbid", "forbid"]),
        ];
        assert_eq!(table.map(|(matter, _)| matter), Matter::ALL);
        let page = include_str!("../../../docs/approval.md");
        for (matter, cells) in table {
            for (policy, cell) in ApprovalPolicy::ALL.into_iter().zip(cells) {
                assert_eq!(requirement(policy, matter).as_str(), cell, "{policy} {matter:?}");
            }
            // The page that users read says the same.
            let row = format!("| {} | {} |", matter.as_str(), cells.join(" | "));
            assert!(page.contains(&row), "docs/approval.md has no row\n{row}");
        }
    }
}
