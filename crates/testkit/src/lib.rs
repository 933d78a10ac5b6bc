//! What our tests share. Never a dependency of anything that is shipped.

mod bless;
pub mod python;
mod session;
mod trials;
mod workspace;

pub use bless::assert_committed;
pub use session::Session;
pub use trials::run as run_trials;
pub use workspace::Workspace;
