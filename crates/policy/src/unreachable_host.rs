//! `UnreachableHost`: a host that the policy allows and that this machine cannot reach.

use std::fmt;

/// A host that a command may reach, but that could not be reached from this machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreachableHost {
    /// The host with its port, e.g. `example.org:443`.
    pub target: String,
    /// The step that failed.
    pub step: ConnectStep,
    /// The error of the system.
    pub reason: String,
}

/// A step of connecting to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectStep {
    /// Looking up the addresses of its name.
    Resolve,
    /// Connecting to one of its addresses.
    Connect,
}

impl fmt::Display for UnreachableHost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, step, reason } = self;
        match step {
            // The port has no part in it.
            ConnectStep::Resolve => {
                let name = target.rsplit_once(':').map_or(target.as_str(), |(name, _)| name);
                write!(out, "`{name}` is allowed, but its name cannot be resolved: {reason}")
            }
            ConnectStep::Connect => {
                write!(out, "`{target}` is allowed, but cannot be reached from this machine: {reason}")
            }
        }
    }
}
