//! Shared test helpers. No shipped crate depends on this one.

mod approver;
mod bless;
mod install;
pub mod node;
mod not_run;
mod places;
pub mod python;
mod session;
mod signals;
mod trials;
mod workspace;

pub use approver::TestApprover;
pub use bless::assert_committed;
pub use not_run::not_run;
pub use places::{WorldExecutableCopy, is_hidden_by_sandbox, visible_file, visible_base_dir, visible_tempdir};
pub use session::ToolTestSession;
pub use signals::restore_signals;
pub use trials::{HarnessCase, SkipReason, run as run_trials, run_cases, run_cases_then};
pub use workspace::TestWorkspace;
