//! What our tests share. Never a dependency of anything that is shipped.

pub mod python;
mod session;
mod workspace;

pub use session::Session;
pub use workspace::Workspace;
