//! Process supervision: programs are started from a small spawner, never from the host itself, and never left behind.
//!
//! ```text
//! host ── a socket ── spawner                 one small process of one thread, this binary with no environment
//!   │                   └── cell               a fork of it with the mounts and filters of a sandbox
//!   └──── a socket each ── supervisor          a fork of the cell, or of the spawner; subreaper; reused
//!                            └── program and all of its descendants
//! ```
//!
//! A supervisor that loses its host kills its processes. The spawner kills the processes that a killed supervisor
//! leaves. So a host leaves no process behind, even if it ends by `kill -9`.

pub(crate) mod codec;
mod current_user;
mod descendants;
pub(crate) mod fd_passing;
mod launch;
mod memfd;
mod messages;
mod program_image;
mod pty;
mod resource_guard;
mod running_process;
mod spawn_fault;
mod spawner;
mod spawner_entry;
mod spawner_process;
mod supervised_run;
mod supervisor;
mod sys;
mod unlinked_files;

/// The items that a cell needs.
pub(crate) mod confined {
    pub(crate) use super::launch::LaunchLimits;
    pub(crate) use super::supervisor::supervise;
    pub(crate) use super::sys::{
        ForkSide, child_signals, close_from, drain_signals, exit, fork, reap_all, wait_for,
    };
}

pub use current_user::{account_home, is_own_user};
pub(crate) use launch::PRELUDE_FD;
pub(crate) use memfd::sealed_memfd;
pub(crate) use messages::SupervisorReport;
pub use messages::{KilledProcess, LaunchStep, ResourceUsage};
pub use pty::PtySize;
pub(crate) use pty::resize;
pub(crate) use running_process::{ProcessPipes, RunningProcess};
pub use spawn_fault::SpawnFault;
pub use spawner::{CellPermit, ConfinementReport, ProcessCommand, Spawner, Stdio};
pub use spawner_entry::raise_open_files;
pub(crate) use spawner_process::STAGE_HOLDER_ORDER;
