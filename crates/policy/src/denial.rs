//! Why something may not be done, as a value with one sentence.

use std::path::{Path, PathBuf};

use crate::{Network, Root};

/// A refusal, foreseen by the [`Gate`](crate::Gate) or met at the door.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The path lies below none of the readable roots.
    #[error("`{}` is outside the readable roots ({}); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`", path.display(), spell(roots))]
    Outside {
        /// What was asked for.
        path: PathBuf,
        /// What may be read.
        roots: Vec<PathBuf>,
    },
    /// A symbolic link below a root leads out of all of them.
    #[error("`{}` is a link that leads outside the readable roots; read a path inside them instead", path.display())]
    LeadsOutside {
        /// The path with the link in it.
        path: PathBuf,
    },
    /// A deny-read rule covers the path.
    #[error("`{}` may not be read: the deny-read rule `{rule}` covers it", path.display())]
    DenyRead {
        /// What was asked for.
        path: PathBuf,
        /// The rule as the user or the defaults wrote it.
        rule: String,
    },
    /// The tool did not state this path in its intent.
    #[error("`{}` is not what this call was permitted to touch", path.display())]
    NotStated {
        /// What the tool tried to open.
        path: PathBuf,
    },
    /// The tool did not state this command in its intent.
    #[error("`{}` is not what this call was permitted to run", command(argv))]
    NotStatedRun {
        /// What the tool tried to start.
        argv: Vec<String>,
    },
    /// The path lies below none of the writable roots, or is protected there.
    #[error(
        "{}; only the user can change that, with `confinement.writable` in their own configuration or `--writable`",
        unwritable(path, roots)
    )]
    MayNotWrite {
        /// What was to be changed.
        path: PathBuf,
        /// What may be changed.
        roots: Vec<PathBuf>,
    },
    /// A rule closes the path, which lies below a writable root.
    #[error("{}; only the user can change that, by another rule", ruled_out(path, rule))]
    ClosedByRule {
        /// What was to be changed.
        path: PathBuf,
        /// The rule, and what it says: `the rule at rules.toml:3 asks about it`.
        rule: String,
    },
    /// The network policy does not let this host be talked to.
    #[error("{}; only the user can change that, with `confinement.network` in their own configuration or `--network on`, or for this host alone with `confinement.hosts` or `--host {target}`", unconnected(target, *network))]
    MayNotConnect {
        /// An address or a name, with a port if there is one.
        target: String,
        /// What the policy says.
        network: Network,
    },
    /// A program of the user's obeys the file, so changing it needs their word.
    #[error(
        "{}; only the user can allow it: ask them, or have them add a rule that allows the path",
        obeyed(path, when)
    )]
    HostConfiguration {
        /// The file.
        path: PathBuf,
        /// The action of the user's that makes it take effect.
        when: String,
    },
    /// A socket of another program that is not on the list.
    #[error(
        "{}; only the user can change that, with `confinement.unix_sockets` in their own configuration or `--unix-socket`",
        unreached(name)
    )]
    MayNotReach {
        /// Its path, or `@` and its abstract name.
        name: String,
    },
    /// It took more of the machine than a command may, and was ended.
    #[error("the command was ended: {}", excess.sentence())]
    Ended {
        /// What it took too much of.
        excess: Excess,
    },
    /// A rule forbids it.
    #[error("{what} is forbidden by the rule at {rule}{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    ByRule {
        /// What the rule is about.
        what: String,
        /// The file and the line.
        rule: String,
        /// Why, in the words of whoever wrote it.
        reason: Option<String>,
    },
    /// A hook forbids it.
    #[error("the hook `{hook}` forbids it: {reason}")]
    ByHook {
        /// Which one.
        hook: String,
        /// What it says.
        reason: String,
    },
    /// No tool is run at all.
    #[error(
        "tool calls are switched off (the approval policy is disabled), and only the user can change that: answer without tools"
    )]
    Disabled,
    /// Somebody would have to be asked, and is not.
    #[error("this needs approval: {why}; {}", unasked.sentence())]
    Unasked {
        /// Why it needs approval.
        why: String,
        /// Why nobody is asked.
        unasked: Unasked,
    },
}

/// What a command took too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excess {
    /// Room on the disk, in the directory that is private to its session.
    Scratch {
        /// Bytes that may be there.
        most: u64,
    },
    /// Memory, when the machine had hardly any left.
    Memory,
    /// Memory that is no process's own: a memfd, a shared mapping.
    SharedMemory {
        /// Bytes that it may have.
        most: u64,
    },
}

impl Excess {
    fn sentence(self) -> String {
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

/// Why nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unasked {
    /// The policy says so.
    Never,
    /// There is nobody who could answer.
    Nobody,
}

impl Unasked {
    fn sentence(self) -> &'static str {
        match self {
            Self::Never => {
                "the approval policy is never, so it was refused: try a way that needs no approval"
            }
            Self::Nobody => {
                "nobody can be asked here, so it was refused: try a way that needs no approval, or have the user run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule"
            }
        }
    }
}

impl Denial {
    pub(crate) fn outside(path: PathBuf, roots: &[Root]) -> Self {
        let listed = roots.iter().filter(|root| root.is_listed());
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in listed.map(|root| root.path().to_owned()) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Self::Outside { path, roots }
    }

    /// The same for the person who is asked: their yes changes it, so nothing is said about who else could.
    pub fn for_user(&self) -> String {
        match self {
            Self::MayNotWrite { path, roots } => unwritable(path, roots),
            Self::ClosedByRule { path, rule } => ruled_out(path, rule),
            Self::MayNotConnect { target, network } => unconnected(target, *network),
            Self::MayNotReach { name } => unreached(name),
            Self::HostConfiguration { path, when } => obeyed(path, when),
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

/// The beginning of a command, as it would be typed if no word of it had blanks.
fn command(argv: &[String]) -> String {
    const SHOWN: usize = 100;
    let mut letters = argv.iter().enumerate().flat_map(|(at, word)| {
        let blank = (at > 0).then_some(' ');
        blank.into_iter().chain(word.chars())
    });
    let shown: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() { shown + "…" } else { shown }
}

fn unwritable(path: &Path, roots: &[PathBuf]) -> String {
    let why = match roots {
        [] => "this session may change no files (the sandbox is read-only)".to_owned(),
        roots if roots.iter().any(|root| path.starts_with(root)) => {
            format!("it is protected, though it lies in a writable root ({})", spell(roots))
        }
        roots => format!("it lies outside the writable roots ({})", spell(roots)),
    };
    format!("`{}` may not be changed: {why}", path.display())
}

fn ruled_out(path: &Path, rule: &str) -> String {
    format!("`{}` may not be changed without approval: {rule}", path.display())
}

fn obeyed(path: &Path, when: &str) -> String {
    format!("`{}` is configuration that takes effect on this machine next time you {when}", path.display())
}

fn unconnected(target: &str, network: Network) -> String {
    let only = match network {
        Network::Off => "no host can be reached",
        Network::Loopback => "only programs that run in the same sandbox can be reached",
        Network::On => "this host is excluded",
    };
    format!("connecting to `{target}` is not allowed: {only} (the network is {})", network.as_str())
}

fn unreached(name: &str) -> String {
    format!("connecting to the socket `{name}` is not allowed")
}

fn spell(roots: &[PathBuf]) -> String {
    const SHOWN: usize = 4;
    if roots.is_empty() {
        return "none".to_owned();
    }
    let mut names: Vec<String> =
        roots.iter().take(SHOWN).map(|root| format!("`{}`", root.display())).collect();
    if roots.len() > SHOWN {
        names.push(format!("{} more", roots.len() - SHOWN));
    }
    names.join(", ")
}
