//! What a tool call may do: a tool states an [`Intent`], the [`Gate`] turns it into a [`Verdict`], and only an
//! allowing verdict holds a [`Permit`], the key that opens `exec`.
//!
//! Everything here is a value or a pure function over values: nothing in this crate touches the machine.

mod credentials;
mod decide;
mod denial;
mod deny;
mod enforcement;
mod environment;
mod glob;
mod host;
mod intent;
mod known;
mod path;
mod permit;
mod reach;
pub mod rules;
mod sandbox;
pub mod shell;

pub use decide::{Gate, Verdict};
pub use denial::Denial;
pub use deny::{DEFAULT_DENY_READ, DenyRead, DenyReadFault};
pub use enforcement::{Enforcement, Gap, Missing, Why};
pub use environment::{Environment, EnvironmentFault, Inherit, imposed};
pub use glob::{glob_fault, wildcards};
pub use host::{Host, HostFault, Hosts, is_public};
pub use intent::{Effect, Escalation, Intent};
pub use known::{Known, dangerous_variable, is_interpreter, known, known_partly, stem};
pub use path::{PathFault, normal, resolve};
pub use permit::Permit;
pub use reach::{Reach, Root};
pub use rules::{Decision, Layer, Matched, Matches, On, Rule, RuleFault, Rules};
pub use sandbox::{AtLeast, Confinement, Limits, Network, PROTECTED, SandboxPolicy, Tier};
