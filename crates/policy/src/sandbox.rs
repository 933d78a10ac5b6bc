//! How much a call may do beside reading, and how much of that must be enforced.

use std::path::{Path, PathBuf};

use crate::{Denial, HostFile, HostRole, Hosts, host_file_by_name};

/// The policy for everything that is no reading by a tool itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxPolicy {
    /// Commands run confined: they read, and write nothing but a `/tmp` of their own.
    #[default]
    ReadOnly,
    /// Commands run confined: they also write below the writable roots.
    WorkspaceWrite,
    /// Whatever the user may, without confinement. What the tools read themselves is still judged.
    FullAccess,
    /// As full access, because something else confines this program already. Never chosen by itself.
    External,
}

impl SandboxPolicy {
    /// Its name, as configurations and flags spell it.
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

    /// The one of the two under which less can be done.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        let reach = |policy| match policy {
            Self::ReadOnly => 0,
            Self::WorkspaceWrite => 1,
            Self::External => 2,
            Self::FullAccess => 3,
        };
        if reach(other) < reach(self) { other } else { self }
    }

    /// Whether commands are confined under it.
    pub fn confines(self) -> bool {
        match self {
            Self::ReadOnly | Self::WorkspaceWrite => true,
            Self::FullAccess | Self::External => false,
        }
    }
}

/// What confined commands may touch. Paths are absolute and free of symbolic links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories below which they may write.
    pub writable: Vec<PathBuf>,
    /// What they may not write though it lies below one of these.
    pub read_only: Vec<PathBuf>,
    /// The rules for paths among these, for whoever is told why.
    pub path_rules: Vec<PathRule>,
    /// Whom they may talk to.
    pub network: Network,
    /// Whom they may talk to beside that.
    pub hosts: Hosts,
    /// Unix sockets of others that they may connect to: a path, or `@` and the name of an abstract one.
    pub sockets: Vec<String>,
    /// How much they may take.
    pub limits: Limits,
    /// The strongest layer that is tried.
    pub at_most: Tier,
    /// The weakest layer under which anything runs.
    pub at_least: AtLeast,
    /// The user's home, where caches and secrets are.
    pub home: Option<PathBuf>,
    /// The home that the account has on this machine, if the environment says another one.
    pub account_home: Option<PathBuf>,
    /// A directory of ours for what is private to the session, e.g. its `/tmp`; one is made if there is none.
    pub private: Option<PathBuf>,
    /// Whether every refused change of a file is noted, at some cost.
    pub recorded: bool,
}

/// A rule that closes a path to commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRule {
    /// The path, and all that is below it.
    pub path: PathBuf,
    /// The rule, and what it says: `the rule at rules.toml:3 asks about it`.
    pub said: String,
}

impl Confinement {
    /// Whether `path` may be written, judged by its spelling: it lies in a writable root, nothing inside that closes it, and no
    /// program of the user's takes it for its configuration.
    pub fn may_write(&self, path: &Path) -> bool {
        self.is_private(path) || self.is_open(path) && !self.is_configuration(path)
    }

    /// Whether `path` lies in a writable root, and in no read-only one inside it.
    pub(crate) fn is_open(&self, path: &Path) -> bool {
        let inner = |roots: &[PathBuf]| {
            roots.iter().filter(|root| path.starts_with(root)).map(|root| root.components().count()).max()
        };
        // The innermost rule decides.
        inner(&self.writable).is_some_and(|writable| inner(&self.read_only) < Some(writable))
    }

    fn is_configuration(&self, path: &Path) -> bool {
        self.host_file(path).is_some_and(|file| file.role == HostRole::Configuration)
    }

    /// The refusal of a change of `path`, which is not let be written.
    pub fn refusal_of_write(&self, path: PathBuf) -> Denial {
        match self.host_file(&path).filter(|_| self.is_open(&path)) {
            Some(HostFile { role: HostRole::Configuration, when }) => {
                Denial::HostConfiguration { path, when }
            }
            _ => self.closed(path),
        }
    }

    /// The refusal of a change of `path`, which no program of the user's takes for its configuration.
    pub(crate) fn closed(&self, path: PathBuf) -> Denial {
        let about = |rule: &&PathRule| path.starts_with(&rule.path);
        let is_inside = self.writable.iter().any(|root| path.starts_with(root));
        let rule = self.path_rules.iter().filter(about).max_by_key(|rule| rule.path.components().count());
        match rule.filter(|_| is_inside).map(|rule| rule.said.clone()) {
            Some(rule) => Denial::ClosedByRule { path, rule },
            None => Denial::MayNotWrite { path, roots: self.writable.clone() },
        }
    }
}

impl Confinement {
    /// Whether `path` is in what commands see as `/tmp` and `/var/tmp`.
    fn is_private(&self, path: &Path) -> bool {
        let below = self.private.as_ref().and_then(|private| path.strip_prefix(private).ok());
        below.is_some_and(|below| ["tmp", "var-tmp"].iter().any(|own| below.starts_with(own)))
    }
}

/// Whether `directory` lies in one that git, an agent or an editor obeys, as far as it is below `root`.
pub fn is_in_configuration(root: &Path, directory: &Path) -> bool {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    let is_configuration =
        || host_file_by_name(below).is_some_and(|file| file.role == HostRole::Configuration);
    below.components().any(|part| part.as_os_str() == ".git") || is_configuration()
}

/// Whom a confined command may talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Network {
    /// Nobody.
    Off,
    /// The other commands of the session, over a loopback that only they have.
    #[default]
    Loopback,
    /// Everybody.
    On,
}

impl Network {
    /// Its name, as configurations and flags spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::On => "on",
        }
    }
}

/// How much a confined command may take; nothing said is no limit of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at a time: of a session where this user may make control groups, else of one command.
    pub processes: Option<u64>,
    /// Bytes of memory: of a session where this user may make control groups, and of each process. If nothing is said, a session has
    /// four fifths of the machine's where there are control groups, and else is ended when it takes the last of it.
    pub memory: Option<u64>,
    /// Bytes in one file.
    pub file_size: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Bytes in `/tmp`, `/var/tmp` and the package caches of a session; half of what is free there if nothing is said.
    pub scratch: Option<u64>,
    /// Bytes in `/dev/shm`; a quarter of the memory if nothing is said, and never more than `memory`.
    pub shared_memory: Option<u64>,
}

impl Default for Limits {
    /// What no honest command comes near, and a machine bears.
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

/// A way to confine, the weakest first. Each has all that the ones before it have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub enum Tier {
    /// Nothing.
    Nothing,
    /// A filter for system calls.
    Seccomp,
    /// Rules for files, too.
    Landlock,
    /// A file system, processes and a network of its own, too.
    #[default]
    Namespaces,
}

impl Tier {
    /// Its name, as configurations and flags spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The weakest tier that will do: [`Tier::Namespaces`] unless somebody says otherwise, since below it secrets can be read and git hooks
/// be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtLeast(pub Tier);

impl Default for AtLeast {
    fn default() -> Self {
        Self(Tier::Namespaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_written() {
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
            assert_eq!(is_in_configuration(Path::new("/w"), Path::new(directory)), inside, "{directory}");
        }
        // Whoever starts in such a directory means it.
        assert!(!is_in_configuration(Path::new("/w/.git"), Path::new("/w/.git/hooks")));
    }
}
