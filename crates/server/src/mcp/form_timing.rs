//! Decides by its speed whether an answer to a form counts: a person must have been able to read the question.

use std::time::Duration;

use runtime::ReviewDecision;

/// A yes that comes faster is a key of a person who was typing something else when the form opened.
const MIN_YES_TIME: Duration = Duration::from_millis(300);

/// A decline that comes faster is the client's own.
const MIN_DECLINE_TIME: Duration = Duration::from_secs(1);

/// The rounds of a question at one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormRound {
    First,
    /// After a yes that came too fast.
    Second,
}

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormAnswer {
    /// An approval.
    Yes,
    /// A choice of the form that is no approval, or an answer that makes no sense.
    No,
    /// The form was declined or put away.
    Declined,
}

/// The meaning of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerReading {
    Counts,
    AskAgain,
    /// The client has not shown the question.
    NotShown,
}

impl FormAnswer {
    /// Returns the kind of an answer that was not declined.
    pub(super) fn from_decision(decision: &ReviewDecision) -> Self {
        match decision {
            ReviewDecision::Approved
            | ReviewDecision::ApprovedForSession
            | ReviewDecision::ApprovedWithRule(_) => Self::Yes,
            ReviewDecision::Denied { .. } | ReviewDecision::Unanswered { .. } | ReviewDecision::Abort => {
                Self::No
            }
        }
    }

    /// Decides whether the answer counts, `took` after the question was sent.
    ///
    /// A no counts at any speed: a mistaken one costs a repetition, and a person who wants to stop something is not
    /// asked twice. The second answer counts too, because a program that answers for its user is always fast.
    pub(super) fn reading(self, took: Duration, round: FormRound) -> AnswerReading {
        match (self, round) {
            (Self::Declined, _) if took < MIN_DECLINE_TIME => AnswerReading::NotShown,
            (Self::Yes, FormRound::First) if took < MIN_YES_TIME => AnswerReading::AskAgain,
            (Self::Yes | Self::No | Self::Declined, FormRound::First | FormRound::Second) => {
                AnswerReading::Counts
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_nobody_can_have_read_does_not_count() {
        use {AnswerReading::*, FormAnswer::*, FormRound::*};
        for (answer, milliseconds, round, expected) in [
            (Yes, 0, First, AskAgain),
            (Yes, 299, First, AskAgain),
            (Yes, 300, First, Counts),
            (Yes, 0, Second, Counts),
            (No, 0, First, Counts),
            (No, 0, Second, Counts),
            (Declined, 0, First, NotShown),
            (Declined, 999, Second, NotShown),
            (Declined, 1000, First, Counts),
        ] {
            let took = Duration::from_millis(milliseconds);
            assert_eq!(answer.reading(took, round), expected, "{answer:?} after {took:?}, {round:?}");
        }
    }
}
