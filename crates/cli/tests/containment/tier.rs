//! The tiers of the sandbox under test.

use crate::suite::case::{AttackCase, ExpectedOutcome};
use crate::suite::case_host::CaseUser;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CaseTier {
    Namespaces,
    Landlock,
    Seccomp,
}

impl CaseTier {
    pub(crate) const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::Seccomp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }

    /// Returns the expected result of `case`.
    pub(crate) fn expected_outcome(self, case: &AttackCase, user: CaseUser) -> ExpectedOutcome {
        let all = case.as_root.filter(|_| user == CaseUser::Root).unwrap_or(case.expect);
        match self {
            Self::Namespaces => all[0],
            Self::Landlock => all[1],
            Self::Seccomp => all[2],
        }
    }
}
