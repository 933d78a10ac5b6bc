//! The cause of a cancellation, which the answers of cancelled calls name.

use std::fmt;

/// The cause for which calls are cancelled. It displays as a clause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CancelCause {
    /// The user, or the client that sent the call.
    #[default]
    User,
    /// A signal told the program to end.
    Signal(&'static str),
    /// The time limit of the run was reached.
    TimeLimit,
}

impl CancelCause {
    /// Returns the start of the answer of a call that was cancelled `after` this time.
    pub fn describe_abort(self, after: &str) -> String {
        match self {
            Self::User => format!("aborted by the user after {after}"),
            Self::Signal(_) | Self::TimeLimit => format!("aborted after {after}: {self}"),
        }
    }
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("the user stopped it"),
            Self::Signal(name) => write!(f, "the program was told to end ({name})"),
            Self::TimeLimit => f.write_str("the time limit of the run was reached"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_sentence() {
        let told = [CancelCause::User, CancelCause::Signal("SIGTERM"), CancelCause::TimeLimit]
            .map(|cause| cause.describe_abort("3.0 seconds"));
        assert_eq!(
            told,
            [
                "aborted by the user after 3.0 seconds",
                "aborted after 3.0 seconds: the program was told to end (SIGTERM)",
                "aborted after 3.0 seconds: the time limit of the run was reached",
            ]
        );
    }
}
