//! Agents that a model starts. Each is a session of its own, with no more rights than the session that started it.
//!
//! [`Agents`] tracks the agents that one session started; the [`Nursery`] creates their sessions. All agents of one
//! root share a limit on concurrent requests, and end with the session that started them.

mod budget;
mod child;
mod diff;
mod status;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tool::BoxFuture;

use crate::Session;
pub use budget::Budget;
pub(crate) use child::Child;
pub use diff::Diff;
pub(crate) use diff::put;
pub use status::Status;

/// Limits on the number of agents.
#[derive(Debug, Clone, Copy)]
pub struct AgentLimits {
    /// Concurrent agents of one root.
    pub agents: usize,
    /// Nesting depth; 1 means that agents cannot start agents.
    pub depth: usize,
    /// Concurrent model requests of all agents together.
    pub requests: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { agents: 6, depth: 2, requests: 4 }
    }
}

/// The directory in which an agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workspace {
    /// The directory of its parent.
    #[default]
    Shared,
    /// A git worktree of its own. Its changes come back as a diff.
    Worktree,
}

/// Restrictions of an agent, in addition to those of its parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The agent cannot change anything.
    pub read_only: bool,
    /// Allow-list of tools; all tools if `None`.
    pub tools: Option<Vec<String>>,
}

impl Bounds {
    /// Combines both restrictions.
    fn narrowed(&self, other: &Self) -> Self {
        let tools = match (&self.tools, &other.tools) {
            (Some(one), Some(other)) => {
                Some(one.iter().filter(|name| other.contains(name)).cloned().collect())
            }
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        Self { read_only: self.read_only || other.read_only, tools }
    }
}

/// Specification of an agent to create.
pub struct Rearing {
    /// The ids of its ancestors and its own id, from the first agent down.
    pub path: Vec<String>,
    /// Its role, in the words of its parent.
    pub role: Option<String>,
    /// Its restrictions.
    pub bounds: Bounds,
    /// Its working directory.
    pub workspace: Workspace,
    /// The session to resume, if the agent existed before.
    pub resume: Option<String>,
    /// The limit that its requests count against.
    pub budget: Budget,
    /// Registry for the agents that it starts itself; `None` if it cannot start any.
    pub agents: Option<Arc<Agents>>,
}

/// The session of an agent.
pub struct Raised {
    /// The session with its model.
    pub session: Session,
    /// Id of its journal.
    pub id: String,
    /// Returns its last message.
    pub last: Box<dyn Fn() -> String + Send + Sync>,
    /// Computes the changes in its own worktree as a diff.
    pub changed: Option<Changes>,
    /// Ends everything that runs in the session.
    pub close: Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Computes the changes in a worktree.
pub type Changes = Arc<dyn Fn() -> BoxFuture<'static, Result<Diff, String>> + Send + Sync>;

/// Creates the sessions of agents.
pub trait Nursery: Send + Sync {
    /// Creates a session, or returns the reason why it cannot.
    fn raise<'a>(&'a self, rearing: Rearing) -> BoxFuture<'a, Result<Raised, String>>;

    /// Releases everything kept for the agents that the agent at `path` started: they are closed for good.
    fn forget<'a>(&'a self, path: &'a [String]) -> BoxFuture<'a, ()>;
}

/// State that all agents of one root share.
struct Family {
    limits: AgentLimits,
    requests: Budget,
    alive: AtomicUsize,
    named: AtomicUsize,
}

/// The agents that one session has started. Dropping this value ends them.
pub struct Agents {
    family: Arc<Family>,
    nursery: Arc<dyn Nursery>,
    path: Vec<String>,
    /// Restrictions of the session itself.
    bounds: Bounds,
    children: Mutex<BTreeMap<String, Arc<Child>>>,
    stop: CancellationToken,
}

impl Agents {
    /// Creates the registry of the root session, which no model started.
    pub fn root(nursery: Arc<dyn Nursery>, limits: AgentLimits) -> Arc<Self> {
        let family = Family {
            limits,
            requests: Budget::of(limits.requests),
            alive: AtomicUsize::new(0),
            named: AtomicUsize::new(0),
        };
        Arc::new(Self {
            family: Arc::new(family),
            nursery,
            path: Vec::new(),
            bounds: Bounds::default(),
            children: Mutex::default(),
            stop: CancellationToken::new(),
        })
    }

    /// Closes all agents and waits until nothing of them is left.
    pub async fn closed(&self) {
        self.stop.cancel();
        let all = self.all();
        join_all(all.iter().map(|child| child.close())).await;
        self.nursery.forget(&self.path).await;
    }

    /// Interrupts the turns of all agents. Each agent then waits for its next message.
    pub fn interrupt(&self) {
        self.all().iter().for_each(|child| child.interrupt());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Child>>> {
        // The map is consistent between any two statements.
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the agent with this id, if this session started it.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Child>> {
        self.lock().get(id).cloned()
    }

    /// Returns all agents that this session started.
    pub(crate) fn all(&self) -> Vec<Arc<Child>> {
        self.lock().values().cloned().collect()
    }

    /// Starts an agent with its first task.
    pub(crate) async fn spawn(&self, task: Task) -> Result<Arc<Child>, String> {
        let (family, depth) = (&self.family, self.path.len() + 1);
        if depth > family.limits.depth {
            return Err("agents may not be started this deep; do it yourself".to_owned());
        }
        let place = Place::take(family)?;
        let id = format!("a{}", family.named.fetch_add(1, Ordering::Relaxed) + 1);
        let child = Child::new(id.clone(), task, place, self.stop.child_token());
        self.lock().insert(id, Arc::clone(&child));
        // The parent's call may be cancelled during the start.
        let unfinished = Unfinished(&child);
        let started = self.start(&child, None).await;
        drop(unfinished);
        started.map(|()| child)
    }

    /// Creates the session of `child` and runs it.
    pub(crate) async fn start(&self, child: &Arc<Child>, resume: Option<String>) -> Result<(), String> {
        let mut path = self.path.clone();
        path.push(child.id().to_owned());
        let may_start = path.len() < self.family.limits.depth;
        let Task { role, bounds, workspace, .. } = child.task();
        let bounds = self.bounds.narrowed(bounds);
        let agents = may_start.then(|| {
            Arc::new(Self {
                family: Arc::clone(&self.family),
                nursery: Arc::clone(&self.nursery),
                path: path.clone(),
                bounds: bounds.clone(),
                children: Mutex::default(),
                stop: child.stop(),
            })
        });
        let rearing = Rearing {
            path,
            role: role.clone(),
            bounds,
            workspace: *workspace,
            resume: resume.clone(),
            budget: self.family.requests.clone(),
            agents: agents.clone(),
        };
        match self.nursery.raise(rearing).await {
            Ok(raised) => {
                child.work(raised, agents, resume.is_none());
                Ok(())
            }
            Err(why) => {
                child.gave_up(&why);
                Err(why)
            }
        }
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Guard for an agent whose session is being created. If the creation is cancelled, the agent is marked as failed.
struct Unfinished<'a>(&'a Child);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.0.status() == Status::PendingInit {
            self.0.gave_up("its start was interrupted");
        }
    }
}

/// The arguments of a new agent.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) message: String,
    pub(crate) role: Option<String>,
    pub(crate) bounds: Bounds,
    pub(crate) workspace: Workspace,
}

/// One slot of the shared agent limit.
pub(crate) struct Place(Arc<Family>);

impl Place {
    fn take(family: &Arc<Family>) -> Result<Self, String> {
        let most = family.limits.agents;
        let more = |alive: usize| (alive < most).then_some(alive + 1);
        family
            .alive
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map(|_| Self(Arc::clone(family)))
            .map_err(|_| format!("{most} agents are there, and no more may be; close one, or do it yourself"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}
