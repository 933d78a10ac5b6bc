//! Confinement on Linux: the kernel enforces a policy for commands, in as many layers as it supports.
//!
//! The host turns a policy into a `plan::Plan` (`survey`); a `cell` carries it out once. Its supervisors apply the
//! remaining layers to each program they start. The `broker` decides about calls that mounts and filters cannot
//! judge.

mod bound;
pub(crate) mod bpf;
pub(crate) mod broker;
pub(crate) mod cell;
pub(crate) mod cgroup;
mod changed;
pub(crate) mod configured;
pub(crate) mod filter;
pub(crate) mod git;
mod guarded;
pub(crate) mod host;
pub(crate) mod landlock;
pub(crate) mod layers;
mod look;
mod loopback;
pub(crate) mod mounts;
mod named_files;
pub(crate) mod names;
pub(crate) mod outside;
mod overlap;
mod places;
pub(crate) mod plan;
mod refusal;
mod relay;
mod remedy;
pub(crate) mod remount;
pub(crate) mod scratch;
mod set_aside;
mod stamp;
pub(crate) mod survey;
pub(crate) mod sys;
pub(crate) mod watch;
mod writes;

pub use host::{MachineSupport, probe};
pub use refusal::KernelRefusal;
pub use scratch::Scratch;
pub(crate) use stamp::FileStamp;
