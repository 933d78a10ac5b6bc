//! Agents that a model starts. Each is a session of its own, with no more rights than the session that started it.
//!
//! [`SessionAgents`] tracks the agents that one session started; the [`SubagentFactory`] creates their sessions. All agents of one
//! root share a limit on concurrent requests, and end with the session that started them.

mod agent_status;
mod request_limit;
mod subagent;
mod worktree_diff;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, CancelCause};

use crate::AgentSession;
pub use agent_status::AgentStatus;
pub use request_limit::RequestLimit;
pub(crate) use subagent::Subagent;
pub use worktree_diff::WorktreeDiff;
pub(crate) use worktree_diff::insert_changes;

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
pub enum AgentWorkspace {
    /// The directory of its parent.
    #[default]
    Shared,
    /// A git worktree of its own. Its changes come back as a diff.
    Worktree,
}

/// Restrictions of an agent, in addition to those of its parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRestrictions {
    /// The agent cannot change anything.
    pub read_only: bool,
    /// Allow-list of tools; all tools if `None`.
    pub tools: Option<Vec<String>>,
}

impl AgentRestrictions {
    /// Combines both restrictions.
    fn intersect(&self, other: &Self) -> Self {
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
pub struct SubagentSpec {
    /// The ids of its ancestors and its own id, from the first agent down.
    pub path: Vec<String>,
    /// Its role, in the words of its parent.
    pub role: Option<String>,
    /// Its restrictions.
    pub restrictions: AgentRestrictions,
    /// Its working directory.
    pub workspace: AgentWorkspace,
    /// The session to resume, if the agent existed before.
    pub resume: Option<String>,
    /// The limit that its requests count against.
    pub request_limit: RequestLimit,
    /// Registry for the agents that it starts itself; `None` if it cannot start any.
    pub agents: Option<Arc<SessionAgents>>,
}

/// The session of an agent.
pub struct SubagentSession {
    /// The session with its model.
    pub session: AgentSession,
    /// Id of its journal.
    pub id: String,
    /// Returns its last message.
    pub last_message: Box<dyn Fn() -> String + Send + Sync>,
    /// Computes the changes in its own worktree as a diff.
    pub worktree_diff: Option<WorktreeDiffFn>,
    /// Ends everything that runs in the session.
    pub close: Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Computes the changes in a worktree.
pub type WorktreeDiffFn = Arc<dyn Fn() -> BoxFuture<'static, Result<WorktreeDiff, String>> + Send + Sync>;

/// Creates the sessions of agents.
pub trait SubagentFactory: Send + Sync {
    /// Creates a session, or returns the reason why it cannot.
    fn create_session<'a>(&'a self, spec: SubagentSpec) -> BoxFuture<'a, Result<SubagentSession, String>>;

    /// Releases everything kept for the agents that the agent at `path` started: they are closed for good.
    fn release_agents<'a>(&'a self, path: &'a [String]) -> BoxFuture<'a, ()>;
}

/// State that all agents of one root share.
struct SharedAgentLimits {
    limits: AgentLimits,
    requests: RequestLimit,
    alive_count: AtomicUsize,
    ids_assigned: AtomicUsize,
}

/// The agents that one session has started. Dropping this value ends them.
pub struct SessionAgents {
    shared_limits: Arc<SharedAgentLimits>,
    factory: Arc<dyn SubagentFactory>,
    path: Vec<String>,
    /// Restrictions of the session itself.
    restrictions: AgentRestrictions,
    children: Mutex<BTreeMap<String, Arc<Subagent>>>,
    stop: CancellationToken,
}

impl SessionAgents {
    /// Creates the registry of the root session, which no model started.
    pub fn root(factory: Arc<dyn SubagentFactory>, limits: AgentLimits) -> Arc<Self> {
        let shared_limits = SharedAgentLimits {
            limits,
            requests: RequestLimit::new(limits.requests),
            alive_count: AtomicUsize::new(0),
            ids_assigned: AtomicUsize::new(0),
        };
        Arc::new(Self {
            shared_limits: Arc::new(shared_limits),
            factory,
            path: Vec::new(),
            restrictions: AgentRestrictions::default(),
            children: Mutex::default(),
            stop: CancellationToken::new(),
        })
    }

    /// Closes all agents and waits until nothing of them is left.
    pub async fn close_all(&self) {
        self.stop.cancel();
        let all = self.all();
        join_all(all.iter().map(|child| child.close())).await;
        self.factory.release_agents(&self.path).await;
    }

    /// Interrupts the turns of all agents. Each agent then waits for its next message.
    pub(crate) fn interrupt_because(&self, cause: CancelCause) {
        self.all().iter().for_each(|child| child.interrupt_because(cause));
    }

    /// Returns the agent with this id, if this session started it.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Subagent>> {
        self.children.lock().get(id).cloned()
    }

    /// Returns all agents that this session started.
    pub(crate) fn all(&self) -> Vec<Arc<Subagent>> {
        self.children.lock().values().cloned().collect()
    }

    /// Starts an agent with its first task.
    pub(crate) async fn spawn(&self, task: AgentTask) -> Result<Arc<Subagent>, String> {
        let (shared_limits, depth) = (&self.shared_limits, self.path.len() + 1);
        if depth > shared_limits.limits.depth {
            return Err("agents may not be started this deep; do it yourself".to_owned());
        }
        let slot = AgentSlot::take(shared_limits)?;
        let id = format!("a{}", shared_limits.ids_assigned.fetch_add(1, Ordering::Relaxed) + 1);
        let child = Subagent::new(id.clone(), task, slot, self.stop.child_token());
        self.children.lock().insert(id, Arc::clone(&child));
        // The parent's call may be cancelled during the start.
        let unfinished = UnfinishedStart(&child);
        let started = self.start(&child, None).await;
        drop(unfinished);
        started.map(|()| child)
    }

    /// Creates the session of `child` and runs it.
    pub(crate) async fn start(&self, child: &Arc<Subagent>, resume: Option<String>) -> Result<(), String> {
        let mut path = self.path.clone();
        path.push(child.id().to_owned());
        let may_start = path.len() < self.shared_limits.limits.depth;
        let AgentTask { role, restrictions, workspace, .. } = child.task();
        let restrictions = self.restrictions.intersect(restrictions);
        let agents = may_start.then(|| {
            Arc::new(Self {
                shared_limits: Arc::clone(&self.shared_limits),
                factory: Arc::clone(&self.factory),
                path: path.clone(),
                restrictions: restrictions.clone(),
                children: Mutex::default(),
                stop: child.stop_token(),
            })
        });
        let spec = SubagentSpec {
            path,
            role: role.clone(),
            restrictions,
            workspace: *workspace,
            resume: resume.clone(),
            request_limit: self.shared_limits.requests.clone(),
            agents: agents.clone(),
        };
        match self.factory.create_session(spec).await {
            Ok(session) => {
                child.run_session(session, agents, resume.is_none());
                Ok(())
            }
            Err(why) => {
                child.fail_start(&why);
                Err(why)
            }
        }
    }
}

impl Drop for SessionAgents {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Guard for an agent whose session is being created. If the creation is cancelled, the agent is marked as failed.
struct UnfinishedStart<'a>(&'a Subagent);

impl Drop for UnfinishedStart<'_> {
    fn drop(&mut self) {
        if self.0.status() == AgentStatus::PendingInit {
            self.0.fail_start("its start was interrupted");
        }
    }
}

/// The arguments of a new agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentTask {
    pub(crate) message: String,
    pub(crate) role: Option<String>,
    pub(crate) restrictions: AgentRestrictions,
    pub(crate) workspace: AgentWorkspace,
}

/// One slot of the shared agent limit.
pub(crate) struct AgentSlot(Arc<SharedAgentLimits>);

impl AgentSlot {
    fn take(shared_limits: &Arc<SharedAgentLimits>) -> Result<Self, String> {
        let most = shared_limits.limits.agents;
        let more = |alive: usize| (alive < most).then_some(alive + 1);
        shared_limits
            .alive_count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map(|_| Self(Arc::clone(shared_limits)))
            .map_err(|_| format!("{most} agents are there, and no more may be; close one, or do it yourself"))
    }
}

impl Drop for AgentSlot {
    fn drop(&mut self) {
        self.0.alive_count.fetch_sub(1, Ordering::Relaxed);
    }
}
