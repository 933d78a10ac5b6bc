//! The approvals of a session, keyed by the exact action.

use std::collections::HashMap;
use std::path::PathBuf;

use parking_lot::Mutex;

use crate::{CommandLine, ForeignToolCall, Grant, Grants, HostPattern, MemoryNote};

/// An approved action. Any difference makes another key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    /// This command line, with programs at these paths, under this policy.
    Run {
        /// The command.
        line: CommandLine,
        /// The working directory.
        cwd: PathBuf,
        /// The program gets a terminal.
        terminal: bool,
        /// The real paths of its programs, one per command; `None` for a missing program.
        programs: Vec<Option<PathBuf>>,
        /// The sandbox policy of the run.
        sandbox: &'static str,
    },
    /// Reading this file or directory.
    Read(PathBuf),
    /// Writing this file.
    Write(PathBuf),
    /// Connecting to this host.
    Connect(String),
    /// Sending this input to this program.
    SendInput {
        /// The command line that started the program.
        command_line: String,
        /// The input text.
        text: String,
    },
    /// Calling this tool as it was defined then.
    Foreign {
        /// The name of the provider.
        server: String,
        /// The provider's name for the tool.
        tool: String,
        /// The hash of its definition.
        definition: String,
    },
    /// Storing exactly this text for later sessions.
    Remember(MemoryNote),
    /// Any call of this tool that states no effect. It carries no grants.
    Tool(String),
}

impl ApprovalKey {
    /// Returns true if `grant` belongs to this action, and not to another one of the same question.
    fn owns_grant(&self, grant: &Grant) -> bool {
        match (self, grant) {
            (Self::Run { .. }, _) => true,
            (Self::Write(path), Grant::Write(given)) => path.starts_with(given),
            (Self::Connect(host), Grant::Connect(given)) => *host == given.to_string(),
            _ => false,
        }
    }
}

impl From<&ForeignToolCall> for ApprovalKey {
    fn from(foreign: &ForeignToolCall) -> Self {
        let ForeignToolCall { server, tool, definition, .. } = foreign.clone();
        Self::Foreign { server, tool, definition }
    }
}

impl From<&HostPattern> for ApprovalKey {
    fn from(host: &HostPattern) -> Self {
        Self::Connect(host.to_string())
    }
}

/// The approvals of the session, each with its grants.
#[derive(Debug, Default)]
pub struct ApprovalStore {
    approved: Mutex<HashMap<ApprovalKey, Grants>>,
}

impl ApprovalStore {
    /// Returns true if every one of `keys` was approved with all of its `grants`. An empty list is never approved.
    pub fn covers(&self, keys: &[ApprovalKey], grants: &Grants) -> bool {
        let all = !keys.is_empty() && keys.iter().all(|key| self.approved.lock().contains_key(key));
        all && self.grants_with(keys).is_superset(grants)
    }

    /// Returns true if there are no approvals.
    pub fn is_empty(&self) -> bool {
        self.approved.lock().is_empty()
    }

    /// Returns the grants given with `keys`: those common to all commands, or without a command those of any key.
    pub fn grants_with(&self, keys: &[ApprovalKey]) -> Grants {
        let approved = self.approved.lock();
        let given = |key: &ApprovalKey| approved.get(key).cloned().unwrap_or_default();
        let mut commands = keys.iter().filter(|key| matches!(key, ApprovalKey::Run { .. })).map(given);
        match commands.next() {
            Some(first) => commands.fold(first, |common, grants| &common & &grants),
            None => keys.iter().flat_map(given).collect(),
        }
    }

    /// Stores `keys`, each with those of `grants` that belong to it.
    pub fn approve(&self, keys: &[ApprovalKey], grants: &Grants) {
        let mut approved = self.approved.lock();
        for key in keys {
            let own = grants.iter().filter(|grant| key.owns_grant(grant)).cloned();
            approved.entry(key.clone()).or_default().extend(own);
        }
    }

    /// Creates a store for a sub-agent. It starts with these approvals, except those for leaving the sandbox. New
    /// approvals do not flow back.
    #[must_use]
    pub fn copy_for_subagent(&self) -> Self {
        let inherits = |grants: &Grants| !grants.contains(&Grant::Unconfined);
        let approved =
            self.approved.lock().iter().filter(|(_, grants)| inherits(grants)).map(clone_entry).collect();
        Self { approved: Mutex::new(approved) }
    }
}

fn clone_entry((key, grants): (&ApprovalKey, &Grants)) -> (ApprovalKey, Grants) {
    (key.clone(), grants.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str) -> ApprovalKey {
        ApprovalKey::Write(path.into())
    }

    #[test]
    fn a_batch_is_approved_if_every_key_is() {
        let store = ApprovalStore::default();
        let none = Grants::new();
        store.approve(&[write("/a"), write("/b")], &none);
        for (keys, covered) in [
            (vec![write("/a")], true),
            (vec![write("/a"), write("/b")], true),
            (vec![write("/a"), write("/c")], false),
            (vec![], false),
        ] {
            assert_eq!(store.covers(&keys, &none), covered, "{keys:?}");
        }
    }

    fn run(program: &str) -> ApprovalKey {
        let line = CommandLine::from(vec![program.to_owned()]);
        let (cwd, programs) = ("/w".into(), Vec::new());
        ApprovalKey::Run { line, cwd, terminal: false, programs, sandbox: "workspace-write" }
    }

    #[test]
    fn grants_count_only_for_their_own_key() {
        let store = ApprovalStore::default();
        let none = Grants::new();
        let grants = Grants::from([Grant::Write("/out".into())]);
        store.approve(&[ApprovalKey::Read("/w".into()), run("make"), write("/out/a")], &grants);
        store.approve(&[run("ls"), write("/b")], &none);
        for (keys, granted) in [
            (vec![run("make")], &grants),
            (vec![run("make"), ApprovalKey::Read("/w".into())], &grants),
            (vec![write("/out/a")], &grants),
            (vec![ApprovalKey::Read("/w".into())], &none),
            (vec![run("ls")], &none),
            (vec![run("ls"), run("make")], &none),
            (vec![run("ls"), write("/out/a")], &none),
            (vec![write("/b")], &none),
        ] {
            assert_eq!(&store.grants_with(&keys), granted, "{keys:?}");
            assert!(store.covers(&keys, granted));
            assert_eq!(store.covers(&keys, &grants), *granted == grants);
        }
    }

    #[test]
    fn a_sub_agent_gets_no_more_than_there_is_and_gives_nothing_back() {
        let store = ApprovalStore::default();
        let (none, leaves) = (Grants::new(), Grants::from([Grant::Unconfined]));
        store.approve(&[write("/a")], &none);
        store.approve(&[run("make")], &leaves);
        let child = store.copy_for_subagent();
        assert!(child.covers(&[write("/a")], &none));
        assert!(!child.covers(&[run("make")], &none) && !child.covers(&[run("make")], &leaves));
        child.approve(&[write("/c")], &none);
        assert!(!store.covers(&[write("/c")], &none));
    }
}
