//! Plan of a cell: a list of mounts and rules, made by the host and carried out by the cell.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use policy::{HostPattern, HostRules, NetworkPolicy, ResourceLimits, Tier};

use crate::process::codec::{MessageDecoder, MessageEncoder};

/// The plan of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellPlan {
    /// The tier, i.e. the layers to apply.
    pub(crate) tier: Tier,
    pub(crate) network: NetworkPolicy,
    /// The hosts that can be reached beyond the network setting.
    pub(crate) hosts: HostRules,
    /// Sorted by path: ancestors come first.
    pub(crate) mounts: Vec<PlannedMount>,
    /// The writable paths.
    pub(crate) writable: Vec<PathBuf>,
    /// The sockets that may be connected to, besides those in writable paths: paths, and abstract names with `@`.
    pub(crate) sockets: Vec<Vec<u8>>,
    pub(crate) limits: ResourceLimits,
    /// The private directory of the session, as the host sees it.
    pub(crate) scratch: PathBuf,
    /// True if refused file changes are recorded.
    pub(crate) records_denied_writes: bool,
    /// The directories that staged changes cover, outer ones first. Their mounts come with the plan.
    pub(crate) staged: Vec<PathBuf>,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedMount {
    pub(crate) at: PathBuf,
    pub(crate) content: MountContent,
}

/// The content of a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MountContent {
    /// A directory or file of the host, with the mounts below it.
    Tree { from: PathBuf, writable: bool },
    /// An empty directory.
    Empty,
    /// Unreadable, in place of a directory or a file.
    Hidden,
    /// The common devices, and private terminals.
    Devices,
    /// The existing content, with changes kept in a private directory: a part of the overlay over `of`, which is this
    /// path or an ancestor.
    Overlay { lower: PathBuf, layer: PathBuf },
}

impl MountContent {
    /// Returns true if it is the read-only path itself: a missing one is held by a placeholder.
    pub(crate) fn is_held_at(&self, at: &Path) -> bool {
        matches!(self, Self::Tree { from, writable: false } if from == at)
    }

    /// Returns true if files in it can be written.
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Self::Tree { writable, .. } => *writable,
            Self::Overlay { .. } => true,
            Self::Empty | Self::Hidden | Self::Devices => false,
        }
    }
}

impl CellPlan {
    /// Returns true if outside hosts are reached one by one through the relay.
    pub(crate) fn is_relayed(&self) -> bool {
        self.tier >= Tier::Namespaces && self.network != NetworkPolicy::On && !self.hosts.is_empty()
    }

    /// Returns the directory of the layers over git directories, as the host sees it, if the tier has layers.
    pub(crate) fn layer_directory(&self) -> Option<PathBuf> {
        (self.tier >= Tier::Namespaces).then(|| self.scratch.join("layers"))
    }

    /// Returns the read-only paths, at which supervisors hold a missing one with a placeholder.
    pub(crate) fn held_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.mounts.iter().filter(|mount| mount.content.is_held_at(&mount.at)).map(|mount| &mount.at)
    }

    /// Returns true if the innermost mount that contains `path` is private, not the host's own content.
    pub(crate) fn is_ours(&self, path: &Path) -> bool {
        // Binary search: thousands of secrets are as many mounts, and each one is looked up.
        let find = |above: &Path| self.mounts.binary_search_by(|mount| mount.at.as_path().cmp(above)).ok();
        let innermost = path.ancestors().skip(1).find_map(find).map(|at| &self.mounts[at]);
        innermost.is_some_and(|mount| match &mount.content {
            MountContent::Tree { from, .. } => *from != mount.at,
            MountContent::Empty | MountContent::Hidden | MountContent::Devices => true,
            MountContent::Overlay { .. } => false,
        })
    }

    pub(crate) fn write(&self, out: &mut MessageEncoder) {
        let Self {
            tier,
            network,
            hosts,
            mounts,
            writable,
            sockets,
            limits,
            scratch,
            records_denied_writes,
            staged,
        } = self;
        out.byte(*tier as u8);
        out.byte(*network as u8);
        out.byte(u8::from(*records_denied_writes));
        for list in [&hosts.allow, &hosts.forbid] {
            out.number(list.len() as u64);
            list.iter().for_each(|host| out.bytes(host.to_string().as_bytes()));
        }
        out.number(mounts.len() as u64);
        for mount in mounts {
            write_path(out, &mount.at);
            match &mount.content {
                MountContent::Tree { from, writable } => {
                    out.byte(u8::from(*writable));
                    write_path(out, from);
                }
                MountContent::Empty => out.byte(2),
                MountContent::Hidden => out.byte(3),
                MountContent::Devices => out.byte(4),
                MountContent::Overlay { lower, layer } => {
                    out.byte(5);
                    write_path(out, lower);
                    write_path(out, layer);
                }
            }
        }
        out.number(writable.len() as u64);
        writable.iter().for_each(|root| write_path(out, root));
        out.number(sockets.len() as u64);
        sockets.iter().for_each(|name| out.bytes(name));
        write_path(out, scratch);
        let ResourceLimits { processes, memory, file_size, open_files, scratch, shared_memory } = limits;
        for limit in [processes, memory, file_size, open_files, scratch, shared_memory] {
            out.number(limit.unwrap_or(u64::MAX));
        }
        out.number(staged.len() as u64);
        staged.iter().for_each(|root| write_path(out, root));
    }

    pub(crate) fn read(input: &mut MessageDecoder<'_>) -> Option<Self> {
        let tier = match input.byte()? {
            0 => Tier::Nothing,
            1 => Tier::Seccomp,
            2 => Tier::Landlock,
            3 => Tier::Namespaces,
            _ => return None,
        };
        let network = match input.byte()? {
            0 => NetworkPolicy::Off,
            1 => NetworkPolicy::Loopback,
            2 => NetworkPolicy::On,
            _ => return None,
        };
        let records_denied_writes = input.byte()? != 0;
        let hosts = HostRules { allow: read_hosts(input)?, forbid: read_hosts(input)? };
        let count = input.number()?;
        let mounts = (0..count).map(|_| PlannedMount::read(input)).collect::<Option<_>>()?;
        let writable = input.list()?.into_iter().map(path_from_bytes).collect();
        let sockets = input.list()?;
        let scratch = path_from_bytes(input.bytes()?.to_vec());
        let mut limit = || input.number().map(|limit| Some(limit).filter(|&limit| limit != u64::MAX));
        let limits = ResourceLimits {
            processes: limit()?,
            memory: limit()?,
            file_size: limit()?,
            open_files: limit()?,
            scratch: limit()?,
            shared_memory: limit()?,
        };
        let staged = input.list()?.into_iter().map(path_from_bytes).collect();
        Some(Self {
            tier,
            network,
            hosts,
            mounts,
            writable,
            sockets,
            limits,
            scratch,
            records_denied_writes,
            staged,
        })
    }
}

impl PlannedMount {
    /// Returns true if a layer is mounted over it for each run: it is read-only, and listed as writable.
    pub(crate) fn is_layered(&self, plan: &CellPlan) -> bool {
        matches!(self.content, MountContent::Tree { writable: false, .. }) && plan.writable.contains(&self.at)
    }

    fn read(input: &mut MessageDecoder<'_>) -> Option<Self> {
        let next = |input: &mut MessageDecoder<'_>| Some(path_from_bytes(input.bytes()?.to_vec()));
        let at = next(input)?;
        let content = match input.byte()? {
            writable @ (0 | 1) => MountContent::Tree { from: next(input)?, writable: writable == 1 },
            2 => MountContent::Empty,
            3 => MountContent::Hidden,
            4 => MountContent::Devices,
            5 => MountContent::Overlay { lower: next(input)?, layer: next(input)? },
            _ => return None,
        };
        Some(Self { at, content })
    }
}

fn read_hosts(input: &mut MessageDecoder<'_>) -> Option<Vec<HostPattern>> {
    input.list()?.into_iter().map(|text| String::from_utf8(text).ok()?.parse().ok()).collect()
}

fn write_path(out: &mut MessageEncoder, path: &Path) {
    out.bytes(path.as_os_str().as_bytes());
}

/// Converts bytes to a path.
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::process::codec::LENGTH_PREFIX_BYTES;

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let at = |at: &str, content| PlannedMount { at: at.into(), content };
        let plan = CellPlan {
            tier: Tier::Landlock,
            network: NetworkPolicy::On,
            hosts: HostRules {
                allow: vec!["*.example.org:443".parse().unwrap(), "2001:db8::1".parse().unwrap()],
                forbid: vec!["a.example.org".parse().unwrap()],
            },
            mounts: vec![
                at("/dev", MountContent::Devices),
                at("/run", MountContent::Empty),
                at("/w", MountContent::Tree { from: "/w".into(), writable: true }),
                at("/w/.codex", MountContent::Tree { from: "/w/.codex".into(), writable: false }),
                at("/h/.ssh", MountContent::Hidden),
                at("/h/.npm", MountContent::Overlay { lower: "/h".into(), layer: "/s/c".into() }),
            ],
            writable: vec!["/w".into()],
            sockets: vec![b"@x".to_vec()],
            limits: ResourceLimits { memory: Some(5), scratch: Some(7), ..ResourceLimits::default() },
            scratch: "/s".into(),
            records_denied_writes: true,
            staged: vec!["/w".into()],
        };
        let mut out = MessageEncoder::new();
        plan.write(&mut out);
        let bytes = out.finish();
        assert_eq!(CellPlan::read(&mut MessageDecoder(&bytes[LENGTH_PREFIX_BYTES..])), Some(plan));
    }

    proptest! {
        /// Law: no input makes a cell panic.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _what_is_it = CellPlan::read(&mut MessageDecoder(&bytes));
        }
    }
}
