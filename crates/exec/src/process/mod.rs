//! Processes: started from a small spawner, never from the host itself, and never left behind.
//!
//! ```text
//! host ── a socket ── spawner          one small process of one thread, this binary with no environment
//!   └──── a socket each ── keeper      a copy of it for each run; subreaper of what it starts; used again
//!                            └── program and all that comes of it
//! ```
//!
//! A keeper that loses its host kills what it keeps; the spawner kills what a killed keeper leaves. So a host that
//! ends in whatever way, `kill -9` included, leaves nothing.

mod entry;
mod host;
mod keeper;
mod launch;
mod link;
mod message;
mod pty;
mod spawner;
mod sys;
mod tree;

pub use entry::{init, raise_open_files};
pub use host::{Command, SpawnFault, Spawner, Stdio};
pub(crate) use host::{Pipes, Process};
pub(crate) use launch::PRELUDE_FD;
pub(crate) use message::Report;
pub use message::{Ended, Step, Used};
pub use pty::Size;
pub(crate) use pty::resize;
