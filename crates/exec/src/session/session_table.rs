//! Session table of a tool system: a bounded number of sessions, by number, which never end silently.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use policy::Permit;
use tokio::task::AbortHandle;

use super::{ProcessSession, Pump, SessionOrigin};
use crate::capture::Capture;
use crate::process::{CellPermit, ProcessCommand, SpawnFault, Spawner};
use crate::spill::Spill;

/// The number of the first session.
const FIRST_SESSION_ID: u32 = 1000;

/// The error when the maximum number of sessions is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} sessions are running, and no more may; end one with kill_session (list_sessions shows them)")]
pub struct SessionTableFull(pub usize);

/// The lifetime of a session, unless it is ended before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the turn is over.
    Turn,
    /// As long as the tool system that started it.
    #[default]
    Session,
    /// As long as this process: another tool system on the same spawner finds it.
    Keep,
}

impl Lifetime {
    /// Returns the lifetime as models spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Keep => "keep",
        }
    }
}

/// The time limit of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// The maximum run time.
    pub max_run_time: Duration,
    /// The deadline.
    pub deadline: Instant,
}

/// State shared by the tool systems of one program: the spawner, the session numbers, and kept sessions.
#[derive(Debug, Default)]
pub struct SharedProcesses {
    spawner: Spawner,
    started: AtomicU32,
    kept: Mutex<BTreeMap<u32, SessionEntry>>,
}

impl SharedProcesses {
    /// Returns the spawner.
    pub fn spawner(&self) -> &Spawner {
        &self.spawner
    }

    /// Returns a value with the same spawner, for tool systems that must not see these sessions.
    #[must_use]
    pub fn with_own_sessions(&self) -> Self {
        Self { spawner: self.spawner.clone(), ..Self::default() }
    }
}

/// The sessions of one tool system. Dropping it ends them, except those to be kept.
#[derive(Debug)]
pub struct SessionTable {
    processes: Arc<SharedProcesses>,
    spill: Option<Arc<Spill>>,
    limit: usize,
    table: Mutex<BTreeMap<u32, SessionEntry>>,
    /// Notes about confinement that were reported.
    reported_notes: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct SessionEntry {
    session: Arc<ProcessSession>,
    pump_task: Option<AbortHandle>,
}

impl SessionTable {
    /// Allows at most `limit` sessions at a time. Their output goes to `spill` when it is too long.
    pub fn new(processes: Arc<SharedProcesses>, spill: Option<Arc<Spill>>, limit: usize) -> Self {
        Self {
            processes,
            spill,
            limit: limit.max(1),
            table: Mutex::default(),
            reported_notes: Mutex::default(),
        }
    }

    /// Returns true if the note `text` about confinement was not reported yet, and records it.
    pub fn is_first_mention(&self, text: &str) -> bool {
        self.reported_notes.lock().insert(text.to_owned())
    }

    /// Returns the spawner.
    pub fn spawner(&self) -> &Spawner {
        &self.processes.spawner
    }

    /// Starts a process. The caller polls the pump to drive the session; dropping the pump ends it.
    pub async fn start(
        &self,
        command: ProcessCommand,
        origin: SessionOrigin,
        permit: &Permit,
    ) -> Result<(Arc<ProcessSession>, Pump), SpawnFault> {
        let allowed = self.spawner().find_cell(permit).await?;
        self.start_in_cell(command, origin, &allowed).await
    }

    /// Starts a process like [`SessionTable::start`], in a cell that was found before.
    pub async fn start_in_cell(
        &self,
        command: ProcessCommand,
        origin: SessionOrigin,
        allowed: &CellPermit<'_>,
    ) -> Result<(Arc<ProcessSession>, Pump), SpawnFault> {
        let capture = Capture::new(self.spill.clone(), origin.owner.clone());
        let id = FIRST_SESSION_ID + self.processes.started.fetch_add(1, Ordering::Relaxed);
        ProcessSession::begin(id, command, origin, capture, self.spawner(), allowed).await
    }

    /// Checks for room for another session; removes one that has ended if necessary.
    pub fn make_room(&self) -> Result<(), SessionTableFull> {
        let mut table = self.table.lock();
        let mut kept = self.processes.kept.lock();
        kept.retain(|_, entry| !entry.session.is_over());
        if table.len() + kept.len() < self.limit {
            return Ok(());
        }
        // Numbers grow, so this is the oldest one.
        let over = table.iter().find(|(_, entry)| entry.session.is_over()).map(|(&id, _)| id);
        match over {
            Some(id) => {
                table.remove(&id);
                Ok(())
            }
            None => Err(SessionTableFull(self.limit)),
        }
    }

    /// Lets a session continue in its own task, where later calls find it.
    pub fn adopt(&self, session: &Arc<ProcessSession>, pump: Pump) {
        self.adopt_until(session, pump, None);
    }

    /// Lets a session continue in its own task, and ends it when the time limit is over.
    pub fn adopt_until(&self, session: &Arc<ProcessSession>, mut pump: Pump, limit: Option<TimeLimit>) {
        let ended = Arc::clone(session);
        let drive_pump = async move {
            if let Some(TimeLimit { max_run_time: after, deadline }) = limit {
                if tokio::time::timeout_at(deadline.into(), &mut pump).await.is_ok() {
                    return;
                }
                ended.time_out(after);
            }
            pump.await;
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "a session outlives its call: it needs a task of its own"
        )]
        let pump_task = tokio::spawn(drive_pump).abort_handle();
        let entry = SessionEntry { session: Arc::clone(session), pump_task: Some(pump_task) };
        self.table.lock().insert(session.id, entry);
    }

    /// Returns the session with this number, of this tool system or kept by another.
    pub fn find(&self, id: u32) -> Option<Arc<ProcessSession>> {
        let own = self.table.lock().get(&id).map(|entry| Arc::clone(&entry.session));
        own.or_else(|| self.processes.kept.lock().get(&id).map(|entry| Arc::clone(&entry.session)))
    }

    /// Returns all sessions, ordered by number.
    pub fn all(&self) -> Vec<Arc<ProcessSession>> {
        let of = |table: &BTreeMap<u32, SessionEntry>| -> Vec<Arc<ProcessSession>> {
            table.values().map(|entry| Arc::clone(&entry.session)).collect()
        };
        let mut all = of(&self.processes.kept.lock());
        all.extend(of(&self.table.lock()));
        all.sort_by_key(|session| session.id);
        all
    }

    /// Forgets a session that is over.
    pub fn forget(&self, id: u32) {
        self.table.lock().remove(&id);
        self.processes.kept.lock().remove(&id);
    }

    /// Ends the sessions with the lifetime of a turn.
    pub fn end_turn(&self) {
        for session in self.all() {
            if session.origin.lifetime == Lifetime::Turn {
                session.end(super::SIGTERM_GRACE);
            }
        }
    }

    /// Ends all sessions except those to be kept, and waits until they are over.
    pub async fn close(&self, at_most: Duration) {
        let own = self.all().into_iter().filter(|session| session.origin.lifetime != Lifetime::Keep);
        let own: Vec<Arc<ProcessSession>> = own.collect();
        own.iter().for_each(|session| session.end(super::SIGTERM_GRACE));
        let all_over = async {
            for session in &own {
                session.wait_until(ProcessSession::is_over).await;
            }
        };
        let _some_will_not = tokio::time::timeout(at_most, all_over).await;
    }
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        let table = std::mem::take(&mut *self.table.lock());
        for (id, entry) in table {
            if entry.session.origin.lifetime == Lifetime::Keep && !entry.session.is_over() {
                self.processes.kept.lock().insert(id, entry);
            } else if let Some(task) = entry.pump_task {
                // Its pump is dropped; the supervisor notices, and kills.
                task.abort();
            }
        }
    }
}
