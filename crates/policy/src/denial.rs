//! Denials: the reasons why an operation is not allowed, each a value with one sentence.

use std::path::{Path, PathBuf};

use crate::{NetworkPolicy, ReadRoot};

/// A denial, either decided by the [`Gate`](crate::Gate) or met when `exec` performs the operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The path is outside all readable roots.
    #[error("`{}` is outside the readable roots ({}); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`", path.display(), format_roots(roots))]
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
    #[error("`{}` is not what this call was permitted to touch", path.display())]
    NotStated {
        /// The path that the tool tried to open.
        path: PathBuf,
    },
    /// The tool did not state this command in its intent.
    #[error("`{}` is not what this call was permitted to run", excerpt_argv(argv))]
    NotStatedRun {
        /// The command that the tool tried to start.
        argv: Vec<String>,
    },
    /// The path is outside all writable roots, or protected inside one.
    #[error(
        "{}; only the user can change that, with `confinement.writable` in their own configuration or `--writable`",
        describe_unwritable(path, roots)
    )]
    MayNotWrite {
        /// The path to be written.
        path: PathBuf,
        /// The writable roots.
        roots: Vec<PathBuf>,
    },
    /// A rule closes the path, which is inside a writable root.
    #[error("{}; only the user can change that, by another rule", describe_closed_by_rule(path, rule))]
    ClosedByRule {
        /// The path to be written.
        path: PathBuf,
        /// The rule and its decision: `the rule at rules.toml:3 asks about it`.
        rule: String,
    },
    /// The network policy does not allow a connection to this host.
    #[error("{}; only the user can change that, with `confinement.network` in their own configuration or `--network on`, or for this host alone with `confinement.hosts` or `--host {target}`", describe_blocked_connection(target, *network))]
    MayNotConnect {
        /// An address or a name, with an optional port.
        target: String,
        /// The network policy.
        network: NetworkPolicy,
    },
    /// A program of the user obeys this file, so a change needs the user's approval.
    #[error(
        "{}; only the user can allow it: ask them, or have them add a rule that allows the path",
        describe_host_configuration(path, when)
    )]
    HostConfiguration {
        /// The file.
        path: PathBuf,
        /// The user's action that makes the file take effect.
        when: String,
    },
    /// The unix socket of another program is not on the allow-list.
    #[error(
        "{}; only the user can change that, with `confinement.unix_sockets` in their own configuration or `--unix-socket`",
        describe_blocked_socket(name)
    )]
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
                "there were more than {} MB in the session's `/tmp`, `/var/tmp` and package caches; remove what is not needed, or have the user allow more with `confinement.tmp_mb`",
                most >> 20
            ),
            Self::Memory => "the machine had hardly any memory left, and the command held more than half of it; try with less at a time, e.g. fewer jobs".to_owned(),
            Self::SharedMemory { most } => format!(
                "there were more than {} MB of shared memory (memfd, shared mappings); use less, or have the user allow more with `confinement.memory_mb`",
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
                "nobody can be asked here, so it was refused: try a way that needs no approval, or have the user run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule"
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

    /// Describes the denial to the person who is asked. It omits the hint about who can lift the denial: this person
    /// can.
    pub fn describe_for_user(&self) -> String {
        match self {
            Self::MayNotWrite { path, roots } => describe_unwritable(path, roots),
            Self::ClosedByRule { path, rule } => describe_closed_by_rule(path, rule),
            Self::MayNotConnect { target, network } => describe_blocked_connection(target, *network),
            Self::MayNotReach { name } => describe_blocked_socket(name),
            Self::HostConfiguration { path, when } => describe_host_configuration(path, when),
            Self::Outside { .. }
            | Self::LeadsOutside { .. }
            | Self::DenyRead { .. }
            | Self::NotStated { .. }
            | Self::NotStatedRun { .. }
            | Self::ByRule { .. }
            | Self::ByHook { .. }
            | Self::Ended { .. }
            | Self::Disabled
            | Self::Unasked { .. } => self.to_string(),
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

fn describe_unwritable(path: &Path, roots: &[PathBuf]) -> String {
    let why = match roots {
        [] => "this session may change no files (the sandbox is read-only)".to_owned(),
        roots if roots.iter().any(|root| path.starts_with(root)) => {
            format!("it is protected, though it lies in a writable root ({})", format_roots(roots))
        }
        roots => format!("it lies outside the writable roots ({})", format_roots(roots)),
    };
    format!("`{}` may not be changed: {why}", path.display())
}

fn describe_closed_by_rule(path: &Path, rule: &str) -> String {
    format!("`{}` may not be changed without approval: {rule}", path.display())
}

fn describe_host_configuration(path: &Path, when: &str) -> String {
    format!("`{}` is configuration that takes effect on this machine next time you {when}", path.display())
}

fn describe_blocked_connection(target: &str, network: NetworkPolicy) -> String {
    let only = match network {
        NetworkPolicy::Off => "no host can be reached",
        NetworkPolicy::Loopback => "only programs that run in the same sandbox can be reached",
        NetworkPolicy::On => "this host is excluded",
    };
    format!("connecting to `{target}` is not allowed: {only} (the network is {})", network.as_str())
}

fn describe_blocked_socket(name: &str) -> String {
    format!("connecting to the socket `{name}` is not allowed")
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
