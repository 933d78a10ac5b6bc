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

pub(crate) mod bytes;
mod entry;
mod fault;
mod guard;
mod host;
mod keeper;
mod launch;
pub(crate) mod link;
mod memory;
mod message;
mod nameless;
mod pty;
mod running;
mod spawner;
mod sys;
mod tree;
mod user;

/// What a cell needs of this.
pub(crate) mod confined {
    pub(crate) use super::keeper::keep_inside as keep;
    pub(crate) use super::launch::Limits;
    pub(crate) use super::sys::{Fork, child_signals, close_from, drain, exit, fork, reap_all, wait_for};
}

pub use entry::{init, raise_open_files};
pub use fault::SpawnFault;
pub use host::{Command, Explained, Spawner, Stdio};
pub(crate) use launch::PRELUDE_FD;
pub(crate) use memory::memory;
pub(crate) use message::Report;
pub use message::{Ended, Step, Used};
pub use pty::Size;
pub(crate) use pty::resize;
pub(crate) use running::{Pipes, Process};
pub use user::{account_home, is_own_user};
