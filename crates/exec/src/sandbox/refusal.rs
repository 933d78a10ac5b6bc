//! `SandboxRefusal`: an action that the sandbox refused or ended, its message encoding, and its `Denial`.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use policy::{Confinement, Denial, ResourceExcess};

use super::cell_plan::path_from_bytes;
use crate::process::codec::{MessageDecoder, MessageEncoder};

/// An action of a command that the sandbox refused, or the resource limit that ended the command.
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
}

impl SandboxRefusal {
    /// Converts it to the denial under `confinement`.
    pub fn to_denial(&self, confinement: &Confinement) -> Denial {
        match self {
            Self::Connect(to) => {
                Denial::MayNotConnect { target: to.to_string(), network: confinement.network }
            }
            Self::Name(name) => Denial::MayNotConnect { target: name.clone(), network: confinement.network },
            Self::Socket(name) => Denial::MayNotReach { name: name.clone() },
            Self::Write(path) => confinement.write_denial(path.clone()),
            Self::Excess(excess) => Denial::Ended { excess: *excess },
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
            3 => Self::Name(String::from_utf8_lossy(bytes).into_owned()),
            _ => return None,
        })
    }
}
