//! Process supervision: programs are started from a small spawner, never from the host itself, and never left behind.
//!
//! ```text
//! host ── a socket ── spawner            one small process of one thread, this binary with no environment
//!   └──── a socket each ── supervisor    a fork of it for each run; subreaper of its programs; reused
//!                            └── program and all of its descendants
//! ```
//!
//! A supervisor that loses its host kills its processes. The spawner kills the processes that a killed supervisor
//! leaves. So a host leaves no process behind, even if it ends by `kill -9`.

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

/// The items that a cell needs.
pub(crate) mod confined {
    pub(crate) use super::keeper::supervise_in_cell as keep;
    pub(crate) use super::launch::LaunchLimits;
    pub(crate) use super::sys::{ForkSide, child_signals, close_from, drain_signals, exit, fork, reap_all, wait_for};
}

pub use entry::{init, raise_open_files};
pub use fault::SpawnFault;
pub use host::{ProcessCommand, ConfinementReport, Spawner, Stdio};
pub(crate) use launch::PRELUDE_FD;
pub(crate) use memory::sealed_memfd;
pub(crate) use message::SupervisorReport;
pub use message::{KilledProcess, LaunchStep, ResourceUsage};
pub use pty::PtySize;
pub(crate) use pty::resize;
pub(crate) use running::{ProcessPipes, RunningProcess};
pub use user::{account_home, is_own_user};
