//! `SandboxRefusal`: an action that the sandbox refused, ended or could not do, its message encoding, and its
//! `Denial`.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use policy::{Confinement, ConnectStep, Denial, ResourceExcess, UnreachableHost};

use super::cell_plan::path_from_bytes;
use crate::process::codec::{MessageDecoder, MessageEncoder};

/// An action of a command that the sandbox refused or could not do, or the resource limit that ended the command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxRefusal {
    /// Connecting to this address.
    Connect(SocketAddr),
    /// Resolving the host of this name.
    Name(String),
    /// Connecting to this socket: its path, or `@` and its name.
    Socket(String),
    /// Changing this file.
    Write(PathBuf),
    /// Continuing: it exceeded a resource limit.
    Excess(ResourceExcess),
    /// Reaching this host. It is allowed, so no denial says why the connection is reset.
    Unreachable(UnreachableHost),
}

impl SandboxRefusal {
    /// Converts it to the denial under `confinement`; `None` if it was not the policy that refused it.
    pub fn to_denial(&self, confinement: &Confinement) -> Option<Denial> {
        let may_not_connect = |target: String| Denial::MayNotConnect { target, network: confinement.network };
        Some(match self {
            Self::Connect(to) => may_not_connect(to.to_string()),
            Self::Name(name) => may_not_connect(name.clone()),
            Self::Socket(name) => Denial::MayNotReach { name: name.clone() },
            Self::Write(path) => confinement.write_denial(path.clone()),
            Self::Excess(excess) => Denial::Ended { excess: *excess },
            Self::Unreachable(_) => return None,
        })
    }

    /// Returns the host that could not be reached, if that is what happened.
    pub fn to_unreachable_host(&self) -> Option<UnreachableHost> {
        match self {
            Self::Unreachable(host) => Some(host.clone()),
            Self::Connect(_) | Self::Name(_) | Self::Socket(_) | Self::Write(_) | Self::Excess(_) => None,
        }
    }

    pub(crate) fn write(&self, out: &mut MessageEncoder) {
        match self {
            Self::Connect(to) => {
                out.byte(0);
                out.bytes(to.to_string().as_bytes());
            }
            Self::Socket(name) => {
                out.byte(1);
                out.bytes(name.as_bytes());
            }
            Self::Write(path) => {
                out.byte(2);
                out.bytes(path.as_os_str().as_bytes());
            }
            Self::Name(name) => {
                out.byte(3);
                out.bytes(name.as_bytes());
            }
            Self::Excess(ResourceExcess::Scratch { most }) => {
                out.byte(4);
                out.bytes(&most.to_le_bytes());
            }
            Self::Excess(ResourceExcess::Memory) => {
                out.byte(5);
                out.bytes(&[]);
            }
            Self::Excess(ResourceExcess::SharedMemory { most }) => {
                out.byte(6);
                out.bytes(&most.to_le_bytes());
            }
            Self::Unreachable(UnreachableHost { target, step, reason }) => {
                out.byte(match step {
                    ConnectStep::Resolve => 7,
                    ConnectStep::Connect => 8,
                });
                out.bytes(format!("{target}\n{reason}").as_bytes());
            }
        }
    }

    pub(crate) fn read(input: &mut MessageDecoder<'_>) -> Option<Self> {
        let kind = input.byte()?;
        let bytes = input.bytes()?;
        Some(match kind {
            0 => Self::Connect(std::str::from_utf8(bytes).ok()?.parse().ok()?),
            1 => Self::Socket(String::from_utf8_lossy(bytes).into_owned()),
            2 => Self::Write(path_from_bytes(bytes.to_vec())),
            4 => Self::Excess(ResourceExcess::Scratch { most: u64::from_le_bytes(bytes.try_into().ok()?) }),
            5 => Self::Excess(ResourceExcess::Memory),
            6 => Self::Excess(ResourceExcess::SharedMemory {
                most: u64::from_le_bytes(bytes.try_into().ok()?),
            }),
            7 => Self::Unreachable(read_unreachable_host(ConnectStep::Resolve, bytes)?),
            8 => Self::Unreachable(read_unreachable_host(ConnectStep::Connect, bytes)?),
            3 => Self::Name(String::from_utf8_lossy(bytes).into_owned()),
            _ => return None,
        })
    }
}

/// Reads a host and the reason on the next line.
fn read_unreachable_host(step: ConnectStep, bytes: &[u8]) -> Option<UnreachableHost> {
    let (target, reason) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    Some(UnreachableHost { target: target.to_owned(), step, reason: reason.to_owned() })
}
