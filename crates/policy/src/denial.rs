//! Denials: the reasons why an operation is not allowed, each a value with one sentence.

use std::path::{Path, PathBuf};

use crate::{NetworkPolicy, ReadRoot};

/// A denial, either decided by the [`Gate`](crate::Gate) or met when `exec` performs the operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The path is outside all readable roots.
    #[error("`{}` is outside the readable roots ({})", path.display(), format_roots(roots))]
    Outside {
        /// The requested path.
        path: PathBuf,
        /// The readable roots.
        roots: Vec<PathBuf>,
    },
    /// A symlink below a root leads outside all roots.
    #[error("`{}` is a link that leads outside the readable roots; read a path inside them instead", path.display())]
    LeadsOutside {
        /// The path that contains the symlink.
        path: PathBuf,
    },
    /// A deny-read rule covers the path.
    #[error("`{}` may not be read: the deny-read rule `{rule}` covers it", path.display())]
    DenyRead {
        /// The requested path.
        path: PathBuf,
        /// The rule as the user or the defaults wrote it.
        rule: String,
    },
    /// The tool did not state this path in its intent.
    #[error("`{}` may not be opened: the call did not state it beforehand", path.display())]
    NotStated {
        /// The path that the tool tried to open.
        path: PathBuf,
    },
    /// The tool did not state this command in its intent.
    #[error("`{}` may not be run: the call did not state it beforehand", excerpt_argv(argv))]
    NotStatedRun {
        /// The command that the tool tried to start.
        argv: Vec<String>,
    },
    /// The path is outside all writable roots, or protected inside one.
    #[error("`{}` may not be changed: {}", path.display(), unwritable_reason(path, roots))]
    MayNotWrite {
        /// The path to be written.
        path: PathBuf,
        /// The writable roots.
        roots: Vec<PathBuf>,
    },
    /// A rule closes the path, which is inside a writable root.
    #[error("`{}` may not be changed without approval: {rule}", path.display())]
    ClosedByRule {
        /// The path to be written.
        path: PathBuf,
        /// The rule and its decision: `the rule at rules.toml:3 asks about it`.
        rule: String,
    },
    /// The network policy does not allow a connection to this host.
    #[error("connecting to `{target}` is not allowed: {} (the network is {})", reachable_hosts(*network), network.as_str())]
    MayNotConnect {
        /// An address or a name, with an optional port.
        target: String,
        /// The network policy.
        network: NetworkPolicy,
    },
    /// A program of the user obeys this file, so a change needs the user's approval.
    #[error("`{}` is configuration that takes effect on this machine next time you {when}", path.display())]
    HostConfiguration {
        /// The file.
        path: PathBuf,
        /// The user's action that makes the file take effect.
        when: String,
    },
    /// The unix socket of another program is not on the allow-list.
    #[error("connecting to the socket `{name}` is not allowed")]
    MayNotReach {
        /// The path of the socket, or `@` and its abstract name.
        name: String,
    },
    /// The command exceeded a resource limit and was killed.
    #[error("the command was ended: {}", excess.describe())]
    Ended {
        /// The exceeded resource.
        excess: ResourceExcess,
    },
    /// A rule forbids the operation.
    #[error("{what} is forbidden by the rule at {rule}{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    ByRule {
        /// The operation.
        what: String,
        /// The file and line of the rule.
        rule: String,
        /// The reason that the rule's author gave.
        reason: Option<String>,
    },
    /// A hook forbids the operation.
    #[error("the hook `{hook}` forbids it: {reason}")]
    ByHook {
        /// The name of the hook.
        hook: String,
        /// The reason that the hook gave.
        reason: String,
    },
    /// Tool calls are switched off.
    #[error(
        "tool calls are switched off (the approval policy is disabled), and only the user can change that: answer without tools"
    )]
    Disabled,
    /// The operation needs approval, and no question can be asked.
    #[error("this needs approval: {why}; {}", unasked.describe())]
    Unasked {
        /// The reasons why it needs approval.
        why: String,
        /// The denials among the reasons.
        denials: Vec<Denial>,
        /// The reason why no question is asked.
        unasked: NotAskedReason,
    },
}

/// The resource that a command used too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceExcess {
    /// Disk space in the session's private directory.
    Scratch {
        /// The limit in bytes.
        most: u64,
    },
    /// Memory, while the machine had almost none left.
    Memory,
    /// Memory that belongs to no single process: a memfd or a shared mapping.
    SharedMemory {
        /// The limit in bytes.
        most: u64,
    },
}

impl ResourceExcess {
    fn describe(self) -> String {
        match self {
            Self::Scratch { most } => format!(
                "there were more than {} MB in the session's `/tmp`, `/var/tmp` and package caches; remove what is not needed",
                most >> 20
            ),
            Self::Memory => "the machine had hardly any memory left, and the command held more than half of it; try with less at a time, e.g. fewer jobs".to_owned(),
            Self::SharedMemory { most } => format!(
                "there were more than {} MB of shared memory (memfd, shared mappings); use less",
                most >> 20
            ),
        }
    }
}

/// The reason why no question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAskedReason {
    /// The approval policy never asks.
    Never,
    /// No person or client is connected that could answer.
    NoReviewer,
}

impl NotAskedReason {
    fn describe(self) -> &'static str {
        match self {
            Self::Never => {
                "the approval policy is never, so it was refused: try a way that needs no approval"
            }
            Self::NoReviewer => {
                "no approver is available, so it was refused: try a way that needs no approval"
            }
        }
    }
}

impl Denial {
    pub(crate) fn outside_roots(path: PathBuf, roots: &[ReadRoot]) -> Self {
        let listed = roots.iter().filter(|root| root.is_listed());
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in listed.map(|root| root.path().to_owned()) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Self::Outside { path, roots }
    }

    /// Returns the kind of denial as programs spell it, e.g. `may_not_write`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Outside { .. } => "outside",
            Self::LeadsOutside { .. } => "leads_outside",
            Self::DenyRead { .. } => "deny_read",
            Self::NotStated { .. } => "not_stated",
            Self::NotStatedRun { .. } => "not_stated_run",
            Self::MayNotWrite { .. } => "may_not_write",
            Self::ClosedByRule { .. } => "closed_by_rule",
            Self::MayNotConnect { .. } => "may_not_connect",
            Self::HostConfiguration { .. } => "host_configuration",
            Self::MayNotReach { .. } => "may_not_reach",
            Self::Ended { .. } => "ended",
            Self::ByRule { .. } => "by_rule",
            Self::ByHook { .. } => "by_hook",
            Self::Disabled => "disabled",
            Self::Unasked { .. } => "unasked",
        }
    }
}

/// Formats the beginning of a command, with its words joined by spaces.
fn excerpt_argv(argv: &[String]) -> String {
    const MAX_SHOWN_CHARS: usize = 100;
    let mut letters = argv.iter().enumerate().flat_map(|(at, word)| {
        let blank = (at > 0).then_some(' ');
        blank.into_iter().chain(word.chars())
    });
    let shown: String = letters.by_ref().take(MAX_SHOWN_CHARS).collect();
    if letters.next().is_some() { shown + "…" } else { shown }
}

fn unwritable_reason(path: &Path, roots: &[PathBuf]) -> String {
    match roots {
        [] => "this session may change no files (the sandbox is read-only)".to_owned(),
        roots if roots.iter().any(|root| path.starts_with(root)) => {
            format!("it is protected, though it lies in a writable root ({})", format_roots(roots))
        }
        roots => format!("it lies outside the writable roots ({})", format_roots(roots)),
    }
}

fn reachable_hosts(network: NetworkPolicy) -> &'static str {
    match network {
        NetworkPolicy::Off => "no host can be reached",
        NetworkPolicy::Loopback => "only programs that run in the same sandbox can be reached",
        NetworkPolicy::On => "this host is excluded",
    }
}

fn format_roots(roots: &[PathBuf]) -> String {
    const MAX_SHOWN_ROOTS: usize = 4;
    if roots.is_empty() {
        return "none".to_owned();
    }
    let mut names: Vec<String> =
        roots.iter().take(MAX_SHOWN_ROOTS).map(|root| format!("`{}`", root.display())).collect();
    if roots.len() > MAX_SHOWN_ROOTS {
        names.push(format!("{} more", roots.len() - MAX_SHOWN_ROOTS));
    }
    names.join(", ")
}
