//! The sandbox policy: the access of commands and file writes, and the enforcement that it requires.

use std::path::{Path, PathBuf};

use crate::{Denial, HostFile, HostFileRole, HostRules, host_file_by_name};

/// The policy for all effects except reads by the tools themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxPolicy {
    /// Commands run confined. They read, and write only their own `/tmp`.
    #[default]
    ReadOnly,
    /// Commands run confined. They also write below the writable roots.
    WorkspaceWrite,
    /// Commands run without confinement, with all rights of the user. Reads by the tools themselves are still checked.
    FullAccess,
    /// Like full access, because an external sandbox already confines this program. Never chosen automatically.
    External,
}

impl SandboxPolicy {
    /// Returns the name used in configurations and flags.
    ///
    /// ```
    /// use toolgate_policy::SandboxPolicy;
    /// assert_eq!(SandboxPolicy::default().as_str(), "read-only");
    /// assert_eq!(SandboxPolicy::FullAccess.as_str(), "danger-full-access");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "danger-full-access",
            Self::External => "external",
        }
    }

    /// Returns the more restrictive of two policies.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        let breadth = |policy| match policy {
            Self::ReadOnly => 0,
            Self::WorkspaceWrite => 1,
            Self::External => 2,
            Self::FullAccess => 3,
        };
        if breadth(other) < breadth(self) { other } else { self }
    }

    /// Returns true if commands are confined.
    pub fn confines(self) -> bool {
        match self {
            Self::ReadOnly | Self::WorkspaceWrite => true,
            Self::FullAccess | Self::External => false,
        }
    }
}

/// The access of confined commands. Paths are absolute and free of symlinks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories below which commands may write.
    pub writable: Vec<PathBuf>,
    /// Paths inside these directories that commands may not write.
    pub read_only: Vec<PathBuf>,
    /// The path rules behind `read_only`, for explaining denials.
    pub path_rules: Vec<ClosedPath>,
    /// The network access.
    pub network: NetworkPolicy,
    /// Additional hosts that may be reached.
    pub hosts: HostRules,
    /// Unix sockets of other programs that may be connected to: a path, or `@` and an abstract name.
    pub sockets: Vec<String>,
    /// The resource limits.
    pub limits: ResourceLimits,
    /// The strongest tier to try.
    pub strongest_tier: Tier,
    /// The weakest tier under which commands may run.
    pub weakest_tier: MinimumTier,
    /// The user's home, with caches and secrets.
    pub home: Option<PathBuf>,
    /// The account's home on this machine, if the environment names another one.
    pub account_home: Option<PathBuf>,
    /// The session's private directory, e.g. for its `/tmp`; one is created if there is none.
    pub private_directory: Option<PathBuf>,
    /// Every denied file change is recorded, at some cost.
    pub record_denied_writes: bool,
}

/// A rule that closes a path to commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedPath {
    /// The path, including everything below it.
    pub path: PathBuf,
    /// The rule and its decision: `the rule at rules.toml:3 asks about it`.
    pub rule_decision: String,
}

impl Confinement {
    /// Decides lexically whether `path` may be written: it is in a writable root, no read-only path inside covers it,
    /// and it is not host configuration.
    pub fn may_write(&self, path: &Path) -> bool {
        self.is_private(path) || self.is_open(path) && !self.is_configuration(path)
    }

    /// Returns true if `path` is in a writable root and in no read-only path inside it.
    pub(crate) fn is_open(&self, path: &Path) -> bool {
        let inner = |roots: &[PathBuf]| {
            roots.iter().filter(|root| path.starts_with(root)).map(|root| root.components().count()).max()
        };
        // The innermost path decides.
        inner(&self.writable).is_some_and(|writable| inner(&self.read_only) < Some(writable))
    }

    fn is_configuration(&self, path: &Path) -> bool {
        self.host_file(path).is_some_and(|file| file.role == HostFileRole::Configuration)
    }

    /// Returns the denial for a write to `path`, which is not writable.
    pub fn write_denial(&self, path: PathBuf) -> Denial {
        match self.host_file(&path).filter(|_| self.is_open(&path)) {
            Some(HostFile { role: HostFileRole::Configuration, when }) => {
                Denial::HostConfiguration { path, when }
            }
            _ => self.closed_path_denial(path),
        }
    }

    /// Returns the denial for a write to `path`, which is not host configuration.
    pub(crate) fn closed_path_denial(&self, path: PathBuf) -> Denial {
        let about = |rule: &&ClosedPath| path.starts_with(&rule.path);
        let is_inside = self.writable.iter().any(|root| path.starts_with(root));
        let rule = self.path_rules.iter().filter(about).max_by_key(|rule| rule.path.components().count());
        match rule.filter(|_| is_inside).map(|rule| rule.rule_decision.clone()) {
            Some(rule) => Denial::ClosedByRule { path, rule },
            None => Denial::MayNotWrite { path, roots: self.writable.clone() },
        }
    }
}

impl Confinement {
    /// Returns true if commands see `path` in their `/tmp` or `/var/tmp`.
    fn is_private(&self, path: &Path) -> bool {
        let below = self.private_directory.as_ref().and_then(|private| path.strip_prefix(private).ok());
        below.is_some_and(|below| ["tmp", "var-tmp"].iter().any(|own| below.starts_with(own)))
    }
}

/// Returns true if `directory`, relative to `root`, lies in a directory that git, an agent or an editor obeys.
pub fn is_inside_configuration(root: &Path, directory: &Path) -> bool {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    let is_configuration =
        || host_file_by_name(below).is_some_and(|file| file.role == HostFileRole::Configuration);
    below.components().any(|part| part.as_os_str() == ".git") || is_configuration()
}

/// The network access of confined commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum NetworkPolicy {
    /// No network.
    Off,
    /// A loopback network shared only by the commands of the session.
    #[default]
    Loopback,
    /// The whole network.
    On,
}

impl NetworkPolicy {
    /// Returns the name used in configurations and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::On => "on",
        }
    }
}

/// The resource limits of confined commands; `None` means no limit of toolgate's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Maximum number of processes and threads: per session if the user may create control groups, else per command.
    pub processes: Option<u64>,
    /// Maximum memory in bytes: per session if the user may create control groups, and per process. The default for a
    /// session is four fifths of the machine's memory with control groups; without them the session is killed when
    /// memory runs out.
    pub memory: Option<u64>,
    /// Maximum size of one file in bytes.
    pub file_size: Option<u64>,
    /// Maximum number of open files per process.
    pub open_files: Option<u64>,
    /// Maximum bytes in `/tmp`, `/var/tmp` and the package caches of a session; by default half of the free space
    /// there.
    pub scratch: Option<u64>,
    /// Maximum bytes in `/dev/shm`; by default a quarter of the memory, and never more than `memory`.
    pub shared_memory: Option<u64>,
}

impl Default for ResourceLimits {
    /// The default is far above ordinary use and within the capacity of a machine.
    fn default() -> Self {
        Self {
            processes: Some(4096),
            memory: None,
            file_size: None,
            open_files: None,
            scratch: None,
            shared_memory: None,
        }
    }
}

/// A confinement mechanism, weakest first. Each tier includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub enum Tier {
    /// No confinement.
    Nothing,
    /// A system call filter.
    Seccomp,
    /// Also file rules by Landlock.
    Landlock,
    /// Also private namespaces for the file system, processes and the network.
    #[default]
    Namespaces,
}

impl Tier {
    /// Returns the name used in configurations and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The weakest acceptable tier. The default is [`Tier::Namespaces`]: below it, secrets are readable and git hooks are
/// writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinimumTier(pub Tier);

impl Default for MinimumTier {
    fn default() -> Self {
        Self(Tier::Namespaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_allowed_only_in_writable_roots() {
        let confinement = Confinement {
            writable: vec!["/w".into(), "/w/vendor/open".into(), "/cache".into()],
            read_only: vec!["/w/vendor".into()],
            ..Confinement::default()
        };
        for (path, may) in [
            ("/w", true),
            ("/w/a", true),
            ("/wx", false),
            ("/etc/passwd", false),
            ("/w/vendor", false),
            ("/w/vendor/a", false),
            ("/w/vendor/open/a", true),
            ("/cache/x", true),
            ("/w/.codex", false),
            ("/w/.claude/settings.json", false),
            ("/w/sub/.claude/settings.json", false),
            ("/w/sub/.git/hooks/post-commit", false),
            ("/w/sub/.git/index", true),
            ("/cache/.agents", false),
            ("/w/.git/index", true),
            ("/w/.git/hooks/pre-commit", false),
            ("/w/.git/config", false),
            ("/w/.gitignore", true),
        ] {
            assert_eq!(confinement.may_write(Path::new(path)), may, "{path}");
        }
        assert!(!Confinement::default().may_write(Path::new("/w/a")));
        for (directory, inside) in
            [("/w", false), ("/w/a", false), ("/w/.git", true), ("/w/a/.claude/x", true)]
        {
            assert_eq!(is_inside_configuration(Path::new("/w"), Path::new(directory)), inside, "{directory}");
        }
        // A start in such a directory is intended.
        assert!(!is_inside_configuration(Path::new("/w/.git"), Path::new("/w/.git/hooks")));
    }
}
