//! The tiers of the sandbox under test.

use crate::suite::case::{Case, Expect};
use crate::suite::world::User;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    Namespaces,
    Landlock,
    Seccomp,
}

impl Tier {
    pub(crate) const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::Seccomp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }

    /// Returns the expected result of `case`.
    pub(crate) fn expects(self, case: &Case, user: User) -> Expect {
        let all = case.as_root.filter(|_| user == User::Root).unwrap_or(case.expect);
        match self {
            Self::Namespaces => all[0],
            Self::Landlock => all[1],
            Self::Seccomp => all[2],
        }
    }
}
