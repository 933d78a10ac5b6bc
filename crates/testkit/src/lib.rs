//! Offers test helpers: workspaces, tool sessions, approvers, a harness, and Node and Python installations.

mod committed_file;
mod install;
pub mod node;
mod not_run;
pub mod python;
mod sample_questions;
mod signals;
mod test_approver;
mod test_dirs;
mod test_harness;
mod tool_session;
mod workspace;

pub use committed_file::assert_committed;
pub use not_run::not_run;
pub use sample_questions::{approval_gate, question_for, script_intent};
pub use signals::restore_signals;
pub use test_approver::TestApprover;
pub use test_dirs::{
    WorldExecutableCopy, is_hidden_by_sandbox, visible_base_dir, visible_file, visible_tempdir,
};
pub use test_harness::{HarnessCase, SkipReason, run as run_trials, run_cases, run_cases_then};
pub use tool_session::ToolTestSession;
pub use workspace::TestWorkspace;
