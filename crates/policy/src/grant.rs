//! Grants: single permissions beyond the policy that a person can give to a call, once or for the session.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::{Confinement, HostPattern};

/// One permission beyond the policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grant {
    /// Writing this file, or everything below this directory.
    Write(PathBuf),
    /// Connecting to this host.
    Connect(HostPattern),
    /// Connecting to this unix socket: its path, or `@` and its abstract name.
    Socket(String),
    /// Running without the sandbox.
    Unconfined,
}

/// A set of grants.
pub type Grants = BTreeSet<Grant>;

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path) => write!(f, "change `{}`", path.display()),
            Self::Connect(host) => write!(f, "connect to `{host}`"),
            Self::Socket(name) => write!(f, "connect to the socket `{name}`"),
            Self::Unconfined => f.write_str("run without the sandbox"),
        }
    }
}

/// Returns the confinement extended by exactly `grants`.
pub(crate) fn widen_confinement(confinement: &Confinement, grants: &Grants) -> Confinement {
    let mut wider = confinement.clone();
    for grant in grants {
        match grant {
            Grant::Write(path) => {
                wider.read_only.retain(|closed| closed != path);
                wider.writable.push(path.clone());
            }
            Grant::Connect(host) => wider.hosts.allow.push(host.clone()),
            Grant::Socket(name) => wider.sockets.push(name.clone()),
            Grant::Unconfined => {}
        }
    }
    wider
}
