//! Confinement on Linux: the kernel enforces a policy for commands, in as many layers as it supports.
//!
//! The host turns a policy into a `CellPlan` (`planner`); a `cell` carries it out once. Its supervisors
//! apply the remaining layers to each program they start. The `broker` decides about calls that mounts and filters
//! cannot judge.

pub(crate) mod bpf;
pub(crate) mod broker;
pub(crate) mod cell;
pub(crate) mod cell_plan;
pub(crate) mod cgroup;
mod changed_files;
mod create_cell;
mod denied_writes;
pub(crate) mod dns_stub;
pub(crate) mod egress;
mod file_stamp;
pub(crate) mod git;
mod guarded_config;
pub(crate) mod host_watch;
pub(crate) mod landlock;
mod loopback;
mod mount_table;
pub(crate) mod mounted_layers;
pub(crate) mod mounts;
mod named_files;
mod overlay_mount;
mod placeholder;
pub(crate) mod planner;
pub(crate) mod pool;
mod refusal;
mod relay;
pub(crate) mod remount;
pub(crate) mod root_configuration;
mod root_scan;
mod run_overlap;
pub(crate) mod scratch;
pub(crate) mod seccomp_filter;
mod set_aside;
mod setup_advice;
mod socket_origin;
pub(crate) mod stage_holder;
mod staged_view;
pub(crate) mod sys;

pub use cgroup::CgroupSupport;
pub use create_cell::{MachineSupport, check_tiers, probe};
pub(crate) use file_stamp::FileStamp;
pub use git::{is_same_git_index, land_git_layer};
pub use refusal::SandboxRefusal;
pub use scratch::Scratch;
pub use setup_advice::SetupFix;
pub use stage_holder::StageMount;
pub use staged_view::{StageMountFault, StagedView};
