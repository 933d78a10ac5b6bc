//! Decides what a tool call may do. A tool states an [`Intent`], and the [`Gate`] turns it into a [`Verdict`]. Only an
//! allowing verdict holds a [`Permit`], which `exec` requires.
//!
//! Everything here is a value or a pure function over values: this crate performs no I/O.

mod account;
mod approval;
mod credentials;
mod decide;
mod denial;
mod deny;
mod download;
mod embedded;
mod endless;
mod enforcement;
mod environment;
mod expand;
mod fed;
mod glob;
mod grant;
mod home_names;
mod host;
mod host_files;
mod host_names;
mod intent;
mod interpreter;
mod judge;
mod known;
mod letters;
mod lookup;
mod machine;
mod moved;
mod path;
mod permit;
mod propose;
mod question;
mod reach;
pub mod rules;
mod sandbox;
pub mod shell;
mod spelled;
mod started;
mod store;
mod together;
mod touches;

pub use account::{Account, Part, Said, reads_only};
pub use approval::{ApprovalPolicy, Matter, Requirement, requirement};
pub use credentials::name_looks_so as is_secret_name;
pub use decide::{Gate, MAX_CLIMBS, Settled, Verdict};
pub use denial::{Denial, Excess, Unasked};
pub use deny::{DEFAULT_DENY_READ, DenyRead, DenyReadFault};
pub use enforcement::{Enforcement, Gap, Missing, Why};
pub use environment::{Environment, EnvironmentFault, Inherit, imposed};
pub use glob::{glob_fault, wildcards};
pub use grant::{Grant, Grants};
pub use home_names::{HOME_CONFIGURATION, HOME_LISTED};
pub use host::{Host, HostFault, Hosts, is_public};
pub use host_files::{HostFile, HostRole, WhenMissing, host_file_by_name};
pub use host_names::{HOST_CONFIGURATION, NESTED_CONFIGURATION};
pub use intent::{CommandLine, Effect, Escalation, Foreign, Intent, Remembering, Trust, Typing};
pub use known::{Known, dangerous_variable, is_interpreter, known, known_partly, stem};
pub use letters::invisible;
pub use machine::{Machine, Program};
pub use path::{PathFault, normal, resolve};
pub use permit::Permit;
pub use question::{Cause, Proposal, Question, ReviewDecision};
pub use reach::{Reach, Root};
pub use rules::{Decision, Layer, Matched, Matches, On, Rule, RuleFault, Rules};
pub use sandbox::{
    AtLeast, Confinement, Limits, Network, PathRule, SandboxPolicy, Tier, is_in_configuration,
};
pub use store::{ApprovalStore, Key};
pub use touches::Touches;
