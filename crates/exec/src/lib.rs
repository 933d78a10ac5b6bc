//! Access to the machine: confined files, processes, sandboxes, kept output and rule files.
//!
//! [`fs`] confines file access. [`process`] and [`session`] run processes and leave none behind; [`sandbox`] confines
//! them as a policy says. [`capture`] and [`spill`] keep output, [`rules`] reads and saves rule files.

pub mod capture;
pub mod fs;
#[cfg(target_os = "linux")]
mod openat2;
pub mod process;
pub mod rules;
pub mod run_to_end;
pub mod sandbox;
pub mod session;
pub mod shell;
pub mod spill;
pub mod this_machine;
