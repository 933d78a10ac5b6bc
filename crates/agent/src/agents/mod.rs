//! Agents that a model starts: each a session of its own, with no more rights than whoever started it.
//!
//! [`Agents`] is what one session knows of those that it started; the [`Nursery`] makes their sessions. All agents of one root share a number of
//! requests that may be under way at a time, and end with whoever started them.

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

/// How many agents there may be.
#[derive(Debug, Clone, Copy)]
pub struct AgentLimits {
    /// At a time, of one root.
    pub agents: usize,
    /// How deep: 1 means that those that are started start no others.
    pub depth: usize,
    /// Requests to models that are under way at a time, of all of them.
    pub requests: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { agents: 6, depth: 2, requests: 4 }
    }
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workspace {
    /// Where whoever started it works.
    #[default]
    Shared,
    /// In a git worktree of its own; what it changed comes back as a diff.
    Worktree,
}

/// What an agent may do, beside what whoever started it may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// It changes nothing.
    pub read_only: bool,
    /// Of the tools, only these.
    pub tools: Option<Vec<String>>,
}

impl Bounds {
    /// Both of them.
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

/// An agent that is to be.
pub struct Rearing {
    /// Its name and those above it, from the first agent down.
    pub path: Vec<String>,
    /// What it is for, in the words of whoever starts it.
    pub role: Option<String>,
    /// What it may do.
    pub bounds: Bounds,
    /// Where it works.
    pub workspace: Workspace,
    /// The session that it goes on with, if it was there before.
    pub resume: Option<String>,
    /// What its requests count towards.
    pub budget: Budget,
    /// What it knows of the agents that it starts itself; nothing if it may start none.
    pub agents: Option<Arc<Agents>>,
}

/// An agent's session.
pub struct Raised {
    /// With its model.
    pub session: Session,
    /// What its journal is called.
    pub id: String,
    /// Says what it said last.
    pub last: Box<dyn Fn() -> String + Send + Sync>,
    /// What it changed in a worktree of its own, as a diff.
    pub changed: Option<Changes>,
    /// Ends what runs in it.
    pub close: Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Looks what changed.
pub type Changes = Arc<dyn Fn() -> BoxFuture<'static, Result<Diff, String>> + Send + Sync>;

/// Makes the sessions of agents.
pub trait Nursery: Send + Sync {
    /// Makes one, or says why not.
    fn raise<'a>(&'a self, rearing: Rearing) -> BoxFuture<'a, Result<Raised, String>>;

    /// Those that the agent at `path` started are closed, and never opened again: nothing has to be kept for them.
    fn forget<'a>(&'a self, path: &'a [String]) -> BoxFuture<'a, ()>;
}

/// What all agents of one root share.
struct Family {
    limits: AgentLimits,
    requests: Budget,
    alive: AtomicUsize,
    named: AtomicUsize,
}

/// The agents that one session has started. Dropping it ends them.
pub struct Agents {
    family: Arc<Family>,
    nursery: Arc<dyn Nursery>,
    path: Vec<String>,
    /// What the session itself may do.
    bounds: Bounds,
    children: Mutex<BTreeMap<String, Arc<Child>>>,
    stop: CancellationToken,
}

impl Agents {
    /// Those of a session that nobody started.
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

    /// Ends all of them, and waits until nothing is left of them.
    pub async fn closed(&self) {
        self.stop.cancel();
        let all = self.all();
        join_all(all.iter().map(|child| child.close())).await;
        self.nursery.forget(&self.path).await;
    }

    /// Stops what all of them do; each waits for what it is told next.
    pub fn interrupt(&self) {
        self.all().iter().for_each(|child| child.interrupt());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Child>>> {
        // A map is whole between any two statements.
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of that name, if this session started it.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Child>> {
        self.lock().get(id).cloned()
    }

    /// All that this session started.
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
        // Whoever starts it may be stopped meanwhile.
        let unfinished = Unfinished(&child);
        let started = self.start(&child, None).await;
        drop(unfinished);
        started.map(|()| child)
    }

    /// Makes the session of `child`, and has it work.
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

/// An agent whose session is being made: if that is given up, so is the agent.
struct Unfinished<'a>(&'a Child);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.0.status() == Status::PendingInit {
            self.0.gave_up("its start was interrupted");
        }
    }
}

/// What an agent is started with.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) message: String,
    pub(crate) role: Option<String>,
    pub(crate) bounds: Bounds,
    pub(crate) workspace: Workspace,
}

/// One of the places that a family has.
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
