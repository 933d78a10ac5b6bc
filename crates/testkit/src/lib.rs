//! What our tests share. Never a dependency of anything that is shipped.

mod approver;
mod bless;
mod install;
pub mod node;
pub mod python;
mod session;
mod trials;
mod workspace;

pub use approver::Scripted;
pub use bless::assert_committed;
pub use session::Session;
pub use trials::{Case, run as run_trials, run_cases};
pub use workspace::Workspace;
