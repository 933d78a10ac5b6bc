//! What was really enforced, as a value: "sandboxed" is never just yes or no.

use std::fmt;

use crate::Tier;

/// What holds for a command that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enforcement {
    /// All that the policy says.
    Full,
    /// All but these.
    Partial(Vec<Gap>),
    /// Nothing.
    None {
        /// Why not.
        why: Why,
    },
}

/// Why nothing is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The policy says so.
    FullAccess,
    /// Something outside is said to do it.
    External,
    /// The system cannot, and the policy makes do with that.
    Unable,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FullAccess => "the policy is danger-full-access",
            Self::External => "the policy says that something outside confines it",
            Self::Unable => "this system can enforce nothing, and the policy makes do with that",
        })
    }
}

/// Something that the policy says and this machine does not enforce; or that it refuses beyond the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Gap {
    /// No Landlock.
    Writes,
    /// No mounts: the names in a root that decide what agents and git do.
    Protected,
    /// No mounts: what may not be read.
    DenyRead,
    /// No mounts: owner, mode and times.
    Metadata,
    /// No process namespace: others are listed.
    Processes,
    /// No process namespace: limits are per process or not at all.
    ProcessLimit,
    /// No mounts: `/tmp` of its own.
    PrivateTmp,
    /// No mounts: shared memory of its own.
    SharedMemory,
    /// No network namespace: a loopback of its own.
    Loopback,
    /// No mounts: terminals of its own.
    Terminals,
    /// Another sandbox around this one judges connections: no sockets of its own.
    UnixSockets,
    /// No overlay: git reads only.
    GitReadOnly,
    /// No overlay: caches cannot be written.
    Caches,
    /// `/proc` is the one of the outside.
    Proc,
    /// There were too many files to look at.
    Globs,
    /// The kernel's Landlock is too old for these.
    OldLandlock,
    /// No Landlock beside the mounts.
    Pipes,
    /// No Landlock: others can be reached.
    OtherProcesses,
    /// No control group: memory is counted for each process.
    MemoryLimit,
    /// No network namespace, or nobody to relay: hosts that may be reached cannot be.
    Hosts,
    /// The network is on: hosts that may not be reached can be.
    Forbidden,
    /// The kernel does not list sockets: whose one is cannot be known.
    BoundSockets,
}

impl Gap {
    /// Each of them.
    pub const ALL: [Self; 22] = [
        Self::Writes,
        Self::Protected,
        Self::DenyRead,
        Self::Metadata,
        Self::Processes,
        Self::ProcessLimit,
        Self::PrivateTmp,
        Self::SharedMemory,
        Self::Loopback,
        Self::Terminals,
        Self::UnixSockets,
        Self::GitReadOnly,
        Self::Caches,
        Self::Proc,
        Self::Globs,
        Self::OldLandlock,
        Self::Pipes,
        Self::OtherProcesses,
        Self::MemoryLimit,
        Self::Hosts,
        Self::Forbidden,
        Self::BoundSockets,
    ];

    /// What it means, in one sentence without a capital or a full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Writes => "files outside the writable roots can be changed",
            Self::Protected => {
                "git hooks and configuration, `.toolgate`, `.claude` and their like, and read-only paths inside a writable root can be changed"
            }
            Self::DenyRead => "secrets (`~/.ssh`, `.env` …) can be read by commands",
            Self::Metadata => {
                "mode, owner, times and attributes of files outside the roots can be changed if the user owns them"
            }
            Self::Processes => "the names and arguments of other processes can be seen",
            Self::ProcessLimit => "the number of processes is not limited",
            Self::PrivateTmp => "`/tmp` cannot be written; TMPDIR is a private directory",
            Self::SharedMemory => "what other programs of the user share in `/dev/shm` can be changed",
            Self::Loopback => "there is no loopback network",
            Self::Terminals => "programs cannot make terminals",
            Self::UnixSockets => "unix sockets cannot be made: there is another sandbox around this one",
            Self::GitReadOnly => "git can read but not commit",
            Self::Caches => "package caches cannot be written",
            Self::Proc => "`/proc` shows the processes outside",
            Self::Globs => {
                "deny-read globs, nested git repositories or files that git obeys are not all covered: there are too many files \
                 to look at, or git's configuration cannot be read as a whole"
            }
            Self::OldLandlock => {
                "some operations on files and sockets are not known to this kernel's Landlock"
            }
            Self::OtherProcesses => {
                "other processes of the user can be signalled, and their memory and environment be read"
            }
            Self::MemoryLimit => "memory is limited for each process, and not for all of them together",
            Self::Hosts => "hosts that are allowed one by one cannot be reached",
            Self::Forbidden => "hosts that are forbidden can be reached: the network is on",
            Self::BoundSockets => {
                "unix sockets outside `/tmp` cannot be connected to: this kernel does not say who has bound them"
            }
            Self::Pipes => "named pipes outside the roots can be written to",
        }
    }
}

/// The gaps under which a command can do more than its policy says, the worst first.
const WEAKENING: [Gap; 14] = [
    Gap::Writes,
    Gap::DenyRead,
    Gap::Protected,
    Gap::Globs,
    Gap::OtherProcesses,
    Gap::Forbidden,
    Gap::Metadata,
    Gap::SharedMemory,
    Gap::Pipes,
    Gap::OldLandlock,
    Gap::Proc,
    Gap::Processes,
    Gap::ProcessLimit,
    Gap::MemoryLimit,
];
/// How many gaps a warning names.
const NAMED: usize = 3;

impl Enforcement {
    /// What to tell a person before the first command runs, if it is confined less than the policy says: one sentence without a full stop.
    ///
    /// ```
    /// use toolgate_policy::{Enforcement, Gap};
    /// assert_eq!(Enforcement::Full.warning(), None);
    /// // This refuses more than the policy does, not less.
    /// assert_eq!(Enforcement::Partial(vec![Gap::Caches]).warning(), None);
    /// assert!(Enforcement::Partial(vec![Gap::DenyRead]).warning().unwrap().contains("secrets"));
    /// ```
    pub fn warning(&self) -> Option<String> {
        const MENDS: &str = "`toolgate doctor` says what mends it";
        match self {
            Self::Full | Self::None { why: Why::FullAccess | Why::External } => None,
            Self::None { why: Why::Unable } => Some(format!(
                "commands are NOT confined: this system can enforce nothing of what the policy says; {MENDS}"
            )),
            Self::Partial(gaps) => {
                let weaker: Vec<&Gap> = WEAKENING.iter().filter(|gap| gaps.contains(gap)).collect();
                let named: Vec<&str> = weaker.iter().take(NAMED).map(|gap| gap.sentence()).collect();
                let more = match weaker.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let all = named.join("; ");
                (!weaker.is_empty())
                    .then(|| format!("commands are confined LESS than the policy says: {all}{more}; {MENDS}"))
            }
        }
    }

    /// What is not enforced, each in one sentence.
    pub fn gaps(&self) -> Vec<&'static str> {
        match self {
            Self::Partial(gaps) => gaps.iter().map(|gap| gap.sentence()).collect(),
            Self::Full | Self::None { .. } => Vec::new(),
        }
    }

    /// `full`, `partial` or `none`.
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

/// A tier that could not be had, and what the system said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub tier: Tier,
    /// The step that failed and the system's word.
    pub why: String,
}
