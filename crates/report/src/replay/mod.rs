//! Repeats the calls of a session on a copy of its workspace, and compares the answers.

mod compare_answers;
mod diff_reversal;
mod recorded_session;
mod replay_boundary;
mod workspace_copy;

pub use compare_answers::AnswerDifference;
pub use diff_reversal::{describe_undoing, reverse_diff, split_undoable};
pub use recorded_session::{RecordedSession, ReplayOutcome, ReplayedCall, undo_turns};
pub use replay_boundary::ReplayBoundary;
pub use workspace_copy::WorkspaceCopy;
