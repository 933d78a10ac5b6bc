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

pub use approver::Scripted;
pub use bless::assert_committed;
pub use not_run::not_run;
pub use places::{EverybodysProgram, is_replaced, seen_file, seen_place, seen_tempdir};
pub use session::Session;
pub use signals::restore_signals;
pub use trials::{Case, SkipReason, run as run_trials, run_cases, run_cases_then};
pub use workspace::Workspace;
