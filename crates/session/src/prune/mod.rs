//! Removes old sessions from the state directory, with everything that belongs to them.

mod quota;
mod rule;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use config::{OperationFault, UserDirs};
use exec::spill::{kept_file_size, remove_kept_file};
use journal::{JournalFault, SessionId, StoredSession};

use crate::turn_diff_store::{diff_modified, remove_diff};

pub use self::quota::JournalQuota;
pub use self::rule::PruneRule;
use self::rule::{PruneVerdict, SessionWeight};

/// The stored sessions of a user.
pub struct SessionStore {
    sessions: PathBuf,
    /// The state directory, with the outputs and the diffs of sessions.
    state: Option<PathBuf>,
}

/// A session and the sessions of its agents, which are removed together.
pub struct SessionFamily {
    /// The session that the user started.
    pub id: SessionId,
    /// Bytes of all journals and outputs.
    pub bytes: u64,
    /// The time of the last entry.
    pub modified: SystemTime,
    /// Set if a process writes to one of the journals.
    pub is_running: bool,
    /// The reason why this user cannot remove one of the journals.
    pub fault: Option<String>,
    /// The sessions, agents first.
    members: Vec<StoredSession>,
}

/// The sessions that a rule chooses.
pub struct PrunePlan {
    /// The sessions to remove, newest first.
    pub remove: Vec<SessionFamily>,
    /// The sessions that the rule would remove, but that are running.
    pub running: Vec<SessionFamily>,
    /// The sessions that the rule would remove, but that this user cannot remove.
    pub stuck: Vec<SessionFamily>,
    /// The sessions that stay because the rule does not choose them.
    pub stay: Vec<SessionFamily>,
}

impl PrunePlan {
    /// Returns the sessions that are not removed.
    pub fn others(&self) -> impl Iterator<Item = &SessionFamily> {
        self.stay.iter().chain(&self.running).chain(&self.stuck)
    }
}

/// The result of the removal of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRemoval {
    /// The session is gone.
    Removed,
    /// The session stays, because it is running or was continued meanwhile.
    Running,
    /// The session stays, because a file cannot be removed.
    Failed(String),
}

impl SessionStore {
    /// Returns the sessions in the user's directories.
    ///
    /// # Errors
    /// If the user has no directory for sessions.
    pub fn new(dirs: &UserDirs) -> Result<Self, OperationFault> {
        let sessions = dirs.sessions.clone().ok_or_else(|| {
            OperationFault::usage("there is no home to keep sessions in; set HOME or TOOLGATE_HOME")
        })?;
        Ok(Self { sessions, state: dirs.state.clone() })
    }

    /// Returns the directory of the journals.
    pub fn directory(&self) -> &Path {
        &self.sessions
    }

    /// Chooses sessions by `rule`, and removes nothing.
    ///
    /// # Errors
    /// If the directory of sessions cannot be read.
    pub fn plan(&self, rule: &PruneRule, now: SystemTime) -> Result<PrunePlan, OperationFault> {
        let families = self.families()?;
        let weight = |family: &SessionFamily| SessionWeight {
            modified: family.modified,
            bytes: family.bytes,
            stays: family.is_running || family.fault.is_some(),
        };
        let verdicts = rule.decide(&families.iter().map(weight).collect::<Vec<_>>(), now);
        let mut plan =
            PrunePlan { remove: Vec::new(), running: Vec::new(), stuck: Vec::new(), stay: Vec::new() };
        for (family, verdict) in families.into_iter().zip(verdicts) {
            match verdict {
                PruneVerdict::Keep => plan.stay.push(family),
                PruneVerdict::Unremovable if family.fault.is_some() => plan.stuck.push(family),
                PruneVerdict::Unremovable => plan.running.push(family),
                PruneVerdict::Remove => plan.remove.push(family),
            }
        }
        Ok(plan)
    }

    /// Removes a session with its agents, outputs and diffs. `others` are the sessions that stay.
    ///
    /// The journal goes last: after a crash it still names the rest, and the next removal continues.
    pub fn remove(&self, family: &SessionFamily, others: &[&SessionFamily]) -> SessionRemoval {
        let mut locked = Vec::with_capacity(family.members.len());
        for session in &family.members {
            match journal::lock_for_removal(&self.sessions, &session.file.id) {
                Ok(lock) if lock.has_size(session.file.bytes) => locked.push(lock),
                Ok(_) | Err(JournalFault::InUse { .. }) => return SessionRemoval::Running,
                Err(JournalFault::Unusable { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(fault) => return SessionRemoval::Failed(fault.to_string()),
            }
        }
        if let Some(state) = &self.state {
            let outputs = state.join("outputs");
            for session in &family.members {
                for output in &session.outputs {
                    remove_kept_file(&outputs, output);
                }
                remove_diffs(state, session, others);
            }
        }
        for lock in locked {
            let id = lock.id().clone();
            if let Err(error) = lock.remove() {
                return SessionRemoval::Failed(format!("the journal of `{id}` cannot be removed: {error}"));
            }
        }
        SessionRemoval::Removed
    }

    /// Returns all sessions with their agents, newest first.
    fn families(&self) -> Result<Vec<SessionFamily>, OperationFault> {
        let unreadable = |fault: JournalFault| {
            OperationFault::failed(fault.to_string())
                .with_hint("XDG_STATE_HOME or TOOLGATE_HOME names another directory")
        };
        let files = journal::journal_files(&self.sessions).map_err(unreadable)?;
        let unusable = journal::unusable_journal_files(&self.sessions).map_err(unreadable)?;
        let mut faults: HashMap<SessionId, String> =
            unusable.iter().map(|(file, fault)| (file.id.clone(), fault.clone())).collect();
        let read = |id: &SessionId| journal::read_stored_session(&self.sessions, id);
        let usable = files.iter().filter(|file| !faults.contains_key(&file.id));
        let mut sessions: Vec<StoredSession> = usable.filter_map(|file| read(&file.id)).collect();
        sessions.extend(unusable.into_iter().map(|(file, _)| StoredSession::of_file(file)));
        // A session is newer than the one that started it, so the agents of a family come before their parent.
        sessions.sort_unstable_by(|one, other| other.file.id.cmp(&one.file.id));
        let parents: HashMap<SessionId, Option<SessionId>> =
            sessions.iter().map(|session| (session.file.id.clone(), session.parent.clone())).collect();
        let mut families: Vec<SessionFamily> = Vec::new();
        let mut positions: HashMap<SessionId, usize> = HashMap::new();
        for session in sessions {
            let root = root_of(&session.file.id, &parents);
            let position = *positions.entry(root.clone()).or_insert_with(|| {
                families.push(SessionFamily::empty(root));
                families.len() - 1
            });
            let bytes = session.file.bytes + self.output_bytes(&session);
            let fault = faults.remove(&session.file.id);
            families[position].add(session, bytes, fault);
        }
        families.sort_by(|one, other| (other.modified, &other.id).cmp(&(one.modified, &one.id)));
        Ok(families)
    }

    fn output_bytes(&self, session: &StoredSession) -> u64 {
        let Some(outputs) = self.state.as_ref().map(|state| state.join("outputs")) else { return 0 };
        session.outputs.iter().filter_map(|output| kept_file_size(&outputs, output)).sum()
    }
}

impl SessionFamily {
    fn empty(id: SessionId) -> Self {
        Self { id, bytes: 0, modified: UNIX_EPOCH, is_running: false, fault: None, members: Vec::new() }
    }

    /// Returns the number of sessions: one, and its agents.
    pub fn session_count(&self) -> usize {
        self.members.len()
    }

    fn add(&mut self, session: StoredSession, bytes: u64, fault: Option<String>) {
        self.fault = self.fault.take().or(fault);
        self.bytes += bytes;
        self.modified = self.modified.max(session.file.modified);
        self.is_running |= session.is_open;
        self.members.push(session);
    }
}

/// Returns the oldest known ancestor of a session: itself, if no agent.
fn root_of(id: &SessionId, parents: &HashMap<SessionId, Option<SessionId>>) -> SessionId {
    let mut root = id;
    // ends: a parent has a smaller id than its child
    while let Some(Some(parent)) = parents.get(root) {
        if parent >= root || !parents.contains_key(parent) {
            break;
        }
        root = parent;
    }
    root.clone()
}

/// Removes the diffs of the last turn that `session` wrote. A directory has one diff file, which a later session, or a
/// call without a session, may have replaced.
fn remove_diffs(state: &Path, session: &StoredSession, others: &[&SessionFamily]) {
    for directory in &session.directories {
        let Some(modified) = diff_modified(state, directory) else { continue };
        let is_of_another = others
            .iter()
            .flat_map(|family| &family.members)
            .any(|other| other.directories.contains(directory) && was_active(other, modified));
        if was_active(session, modified) && !is_of_another {
            remove_diff(state, directory);
        }
    }
}

/// Returns true if the session was active at `time`: between its first and its last entry.
fn was_active(session: &StoredSession, time: SystemTime) -> bool {
    let started =
        UNIX_EPOCH + std::time::Duration::from_millis(session.started_millis.unwrap_or(u64::MAX >> 12));
    (started..=session.file.modified).contains(&time)
}
