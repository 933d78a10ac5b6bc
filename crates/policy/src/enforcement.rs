//! Enforcement: a value that says which parts of the policy this machine really enforces.

use std::fmt;

use crate::Tier;

/// The degree to which the policy is enforced for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enforcement {
    /// The whole policy is enforced.
    Full,
    /// Everything except these gaps is enforced.
    Partial(Vec<EnforcementGap>),
    /// Nothing is enforced.
    None {
        /// The reason.
        why: UnenforcedReason,
    },
}

/// The reason why nothing is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnenforcedReason {
    /// The policy gives full access.
    FullAccess,
    /// The policy says that an external sandbox confines commands.
    External,
    /// The system cannot confine commands, and the policy accepts that.
    Unsupported,
}

impl fmt::Display for UnenforcedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FullAccess => "the policy is danger-full-access",
            Self::External => "the policy says that an outer sandbox confines commands",
            Self::Unsupported => "this system can enforce nothing, and the policy accepts that",
        })
    }
}

/// A part of the policy that this machine does not enforce, or a restriction beyond the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EnforcementGap {
    /// Without Landlock: writes outside the roots.
    OutsideWrites,
    /// Without mounts: files in a root that control agents and git.
    ProtectedFiles,
    /// Without mounts: unreadable paths.
    DenyRead,
    /// Without mounts: owner, mode and times of files.
    Metadata,
    /// Without a PID namespace: other processes are visible.
    VisibleProcesses,
    /// Without a PID namespace: limits are per process or absent.
    ProcessLimit,
    /// Without mounts: a private `/tmp`.
    PrivateTmp,
    /// Without mounts: private shared memory.
    SharedMemory,
    /// Without a network namespace: a private loopback.
    Loopback,
    /// Without mounts: private terminals.
    Terminals,
    /// An outer sandbox judges connections: unix sockets cannot be created.
    UnixSockets,
    /// Without an overlay: git can only read.
    GitReadOnly,
    /// Without an overlay: package caches are read-only.
    PackageCaches,
    /// `/proc` shows the outer processes.
    OuterProc,
    /// Too many files to scan.
    UnscannedFiles,
    /// The kernel's Landlock version lacks some operations.
    OldLandlock,
    /// Mounts without Landlock: named pipes outside the roots are writable.
    NamedPipes,
    /// Without Landlock: other processes can be signalled.
    ProcessSignals,
    /// Without a control group: the memory limit is per process.
    MemoryLimit,
    /// Without a network namespace or a relay: allowed hosts are unreachable.
    AllowedHosts,
    /// The network is on: forbidden hosts are reachable.
    ForbiddenHosts,
    /// The kernel does not list sockets, so the owner of a bound socket is unknown.
    BoundSockets,
    /// `/etc/resolv.conf` cannot be replaced: allowed hosts have no names.
    HostNames,
}

impl EnforcementGap {
    /// Every gap.
    pub const ALL: [Self; 23] = [
        Self::OutsideWrites,
        Self::ProtectedFiles,
        Self::DenyRead,
        Self::Metadata,
        Self::VisibleProcesses,
        Self::ProcessLimit,
        Self::PrivateTmp,
        Self::SharedMemory,
        Self::Loopback,
        Self::Terminals,
        Self::UnixSockets,
        Self::GitReadOnly,
        Self::PackageCaches,
        Self::OuterProc,
        Self::UnscannedFiles,
        Self::OldLandlock,
        Self::NamedPipes,
        Self::ProcessSignals,
        Self::MemoryLimit,
        Self::AllowedHosts,
        Self::ForbiddenHosts,
        Self::BoundSockets,
        Self::HostNames,
    ];

    /// Describes the gap in one sentence without a capital or a full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::OutsideWrites => "files outside the writable roots can be changed",
            Self::ProtectedFiles => {
                "git hooks and configuration, `.toolgate`, `.claude` and their like, and read-only paths inside a writable root can be changed"
            }
            Self::DenyRead => "secrets (`~/.ssh`, `.env` …) can be read by commands",
            Self::Metadata => {
                "mode, owner, times and attributes of files outside the roots can be changed if the user owns them"
            }
            Self::VisibleProcesses => "the names and arguments of other processes can be seen",
            Self::ProcessLimit => "the number of processes is not limited",
            Self::PrivateTmp => "`/tmp` cannot be written; TMPDIR is a private directory",
            Self::SharedMemory => "what other programs of the user share in `/dev/shm` can be changed",
            Self::Loopback => "there is no loopback network",
            Self::Terminals => "programs cannot make terminals",
            Self::UnixSockets => "unix sockets cannot be made: there is another sandbox around this one",
            Self::GitReadOnly => "git can read but not commit",
            Self::PackageCaches => "package caches cannot be written",
            Self::OuterProc => "`/proc` shows the processes outside",
            Self::UnscannedFiles => {
                "deny-read globs, nested git repositories or files that git obeys are not all covered: there are too many files \
                 to look at, or git's configuration cannot be read as a whole"
            }
            Self::OldLandlock => {
                "some operations on files and sockets are not known to this kernel's Landlock"
            }
            Self::ProcessSignals => {
                "other processes of the user can be signalled, and their memory and environment be read"
            }
            Self::MemoryLimit => "memory is limited for each process, and not for all of them together",
            Self::AllowedHosts => "hosts that are allowed one by one cannot be reached",
            Self::HostNames => {
                "hosts that are allowed one by one can be reached by address, and not by name: `/etc/resolv.conf` cannot be replaced"
            }
            Self::ForbiddenHosts => "hosts that are forbidden can be reached: the network is on",
            Self::BoundSockets => {
                "unix sockets outside `/tmp` cannot be connected to: this kernel does not say who has bound them"
            }
            Self::NamedPipes => "named pipes outside the roots can be written to",
        }
    }
}

/// The warning that commands are confined less than the policy says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WeakerEnforcement(String);

/// The gaps that let a command do more than its policy allows, worst first.
const WEAKENING: [EnforcementGap; 14] = [
    EnforcementGap::OutsideWrites,
    EnforcementGap::DenyRead,
    EnforcementGap::ProtectedFiles,
    EnforcementGap::UnscannedFiles,
    EnforcementGap::ProcessSignals,
    EnforcementGap::ForbiddenHosts,
    EnforcementGap::Metadata,
    EnforcementGap::SharedMemory,
    EnforcementGap::NamedPipes,
    EnforcementGap::OldLandlock,
    EnforcementGap::OuterProc,
    EnforcementGap::VisibleProcesses,
    EnforcementGap::ProcessLimit,
    EnforcementGap::MemoryLimit,
];
/// Maximum number of gaps in a warning.
const MAX_NAMED_GAPS: usize = 3;

impl Enforcement {
    /// Returns the warning for a person, before the first command runs, if commands are confined less than the policy
    /// says. It is one sentence without a full stop.
    ///
    /// ```
    /// use toolgate_policy::{Enforcement, EnforcementGap};
    /// assert_eq!(Enforcement::Full.warning(), None);
    /// // This refuses more than the policy does, not less.
    /// assert_eq!(Enforcement::Partial(vec![EnforcementGap::PackageCaches]).warning(), None);
    /// assert!(Enforcement::Partial(vec![EnforcementGap::DenyRead]).warning().unwrap().to_string().contains("secrets"));
    /// ```
    pub fn warning(&self) -> Option<WeakerEnforcement> {
        match self {
            Self::Full | Self::None { why: UnenforcedReason::FullAccess | UnenforcedReason::External } => {
                None
            }
            Self::None { why: UnenforcedReason::Unsupported } => Some(WeakerEnforcement(
                "commands are NOT confined: this system cannot enforce any part of the policy".to_owned(),
            )),
            Self::Partial(gaps) => {
                let weaker: Vec<&EnforcementGap> =
                    WEAKENING.iter().filter(|gap| gaps.contains(gap)).collect();
                let named: Vec<&str> = weaker.iter().take(MAX_NAMED_GAPS).map(|gap| gap.sentence()).collect();
                let more = match weaker.len().saturating_sub(MAX_NAMED_GAPS) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let all = named.join("; ");
                (!weaker.is_empty()).then(|| {
                    WeakerEnforcement(format!("commands are confined LESS than the policy says: {all}{more}"))
                })
            }
        }
    }

    /// Returns one sentence for each gap.
    pub fn gap_sentences(&self) -> Vec<&'static str> {
        match self {
            Self::Partial(gaps) => gaps.iter().map(|gap| gap.sentence()).collect(),
            Self::Full | Self::None { .. } => Vec::new(),
        }
    }

    /// Returns `full`, `partial` or `none`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial(_) => "partial",
            Self::None { .. } => "none",
        }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Partial(gaps) => {
                let gaps: Vec<&str> = gaps.iter().map(|gap| gap.sentence()).collect();
                write!(f, "partial: {}", gaps.join("; "))
            }
            Self::None { why } => write!(f, "none: {why}"),
        }
    }
}

/// A tier that is unavailable, with the system's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTier {
    /// The tier.
    pub tier: Tier,
    /// The step that failed, and the system's error message.
    pub why: String,
}
