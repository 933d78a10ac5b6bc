//! One agent: runs its tasks one after another in its own tokio task.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tool::CancelCause;

use super::{
    AgentSlot, AgentStatus, AgentTask, SessionAgents, SubagentSession, WorktreeDiff, WorktreeDiffFn,
};
use crate::{AgentFault, SessionHandle, TurnEnd};

/// Time limit for closing an agent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// An agent that was started.
pub(crate) struct Subagent {
    id: String,
    task: AgentTask,
    /// The agent counts against the limit while this slot is held.
    slot: Mutex<Option<AgentSlot>>,
    stop: Mutex<CancellationToken>,
    status: watch::Sender<AgentStatus>,
    running: Mutex<Option<SubagentHandle>>,
    /// Id of its journal, once it has one.
    session_id: Mutex<Option<String>>,
    /// Computes the changes in the agent's own worktree. The worktree remains after the agent is closed.
    worktree_diff: Mutex<Option<WorktreeDiffFn>>,
}

/// Access to an agent whose session runs.
#[derive(Clone)]
struct SubagentHandle {
    handle: SessionHandle,
    inbox: mpsc::UnboundedSender<String>,
    /// Closed when everything of the agent has ended.
    ended: watch::Receiver<()>,
}

impl Subagent {
    pub(super) fn new(id: String, task: AgentTask, slot: AgentSlot, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            id,
            task,
            slot: Mutex::new(Some(slot)),
            stop: Mutex::new(stop),
            status: watch::Sender::new(AgentStatus::PendingInit),
            running: Mutex::default(),
            session_id: Mutex::default(),
            worktree_diff: Mutex::default(),
        })
    }

    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn task(&self) -> &AgentTask {
        &self.task
    }

    pub(super) fn stop_token(&self) -> CancellationToken {
        self.stop.lock().clone()
    }

    pub(crate) fn status(&self) -> AgentStatus {
        self.status.borrow().clone()
    }

    /// Id of its journal, once it has one.
    pub(crate) fn session_id(&self) -> Option<String> {
        self.session_id.lock().clone()
    }

    /// Records that its session could not be created.
    pub(super) fn fail_start(&self, why: &str) {
        self.status.send_replace(AgentStatus::Errored(why.to_owned()));
        self.slot.lock().take();
    }

    /// Runs the agent in `subagent_session` from now on. Sends the agent's task first if `begins` is set.
    pub(super) fn run_session(
        self: &Arc<Self>,
        subagent_session: SubagentSession,
        agents: Option<Arc<SessionAgents>>,
        begins: bool,
    ) {
        let (inbox, messages) = mpsc::unbounded_channel();
        let (alive, ended) = watch::channel(());
        let handle = subagent_session.session.handle();
        *self.session_id.lock() = Some(subagent_session.id.clone());
        self.worktree_diff.lock().clone_from(&subagent_session.worktree_diff);
        *self.running.lock() = Some(SubagentHandle { handle, inbox: inbox.clone(), ended });
        if begins {
            let _nobody_listens = inbox.send(self.task.message.clone());
            self.status.send_replace(AgentStatus::Running);
        } else {
            self.status.send_replace(AgentStatus::Interrupted);
        }
        let (child, stop) = (Arc::clone(self), self.stop_token());
        #[expect(
            clippy::disallowed_methods,
            reason = "no call: an agent, which outlives the call that started it"
        )]
        tokio::spawn(async move {
            child.drive(subagent_session, messages, stop, agents).await;
            drop(alive);
        });
    }

    async fn drive(
        &self,
        mut subagent_session: SubagentSession,
        mut messages: mpsc::UnboundedReceiver<String>,
        stop: CancellationToken,
        agents: Option<Arc<SessionAgents>>,
    ) {
        let handle = subagent_session.session.handle();
        // ends: when the agent or its parent is closed
        loop {
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                message = messages.recv() => message,
            };
            let Some(message) = message else { break };
            self.status.send_replace(AgentStatus::Running);
            let ended = {
                let turn = subagent_session.session.prompt(&message, Vec::new());
                tokio::pin!(turn);
                tokio::select! {
                    ended = &mut turn => ended,
                    () = stop.cancelled() => {
                        handle.interrupt();
                        turn.await
                    }
                }
            };
            self.publish_turn_end(&mut subagent_session, &messages, ended);
        }
        drop(subagent_session.session);
        if let Some(agents) = agents {
            // The agents that it started end with it.
            Box::pin(agents.close_all()).await;
        }
        (subagent_session.close)().await;
        self.slot.lock().take();
        self.status.send_replace(AgentStatus::Shutdown);
    }

    /// Publishes the result of a turn. Input that arrived at the last moment becomes the next task.
    /// The status stays `Running` while messages wait, so a waiting caller never sees a premature final status.
    fn publish_turn_end(
        &self,
        subagent_session: &mut SubagentSession,
        messages: &mpsc::UnboundedReceiver<String>,
        ended: Result<TurnEnd, AgentFault>,
    ) {
        let work = self.running.lock();
        if let Some(more) = subagent_session.session.take_late_input() {
            let _nobody_listens = work.as_ref().map(|work| work.inbox.send(more));
        }
        if !messages.is_empty() {
            return;
        }
        self.status.send_replace(match ended {
            Ok(TurnEnd::Done) => AgentStatus::Completed((subagent_session.last_message)()),
            Ok(TurnEnd::Interrupted) => AgentStatus::Interrupted,
            Ok(TurnEnd::CutShort { why }) => {
                AgentStatus::Errored(format!("its provider cut it short: {why}"))
            }
            Ok(TurnEnd::OutOfBudget { why }) => AgentStatus::Errored(why),
            Ok(TurnEnd::OutOfRounds) => AgentStatus::Errored("it took as many requests as it may".to_owned()),
            Err(fault) => AgentStatus::Errored(fault.to_string()),
        });
    }

    /// Sends a message: as the next task if the agent is idle, otherwise as steering input. `None` if the agent is
    /// closed.
    pub(crate) fn send_message(&self, message: String, interrupt: bool) -> Option<()> {
        // The lock is held to the end, so `settle` checks for waiting messages either before or after this send.
        let work = self.running.lock();
        let work = work.as_ref()?;
        let running = !self.status().is_final();
        if running && !interrupt {
            return work.handle.steer(message).ok();
        }
        if interrupt {
            work.handle.interrupt();
        }
        work.inbox.send(message).ok()?;
        self.status.send_replace(AgentStatus::Running);
        Some(())
    }

    /// Interrupts the current turn. The agent then waits for its next message.
    pub(super) fn interrupt_because(&self, cause: CancelCause) {
        if let Some(work) = self.running.lock().as_ref() {
            work.handle.interrupt_because(cause);
        }
    }

    /// Resolves when the agent is idle: its status is final until it receives a message.
    pub(crate) async fn wait_until_idle(&self) -> AgentStatus {
        let mut status = self.status.subscribe();
        let settled = status.wait_for(AgentStatus::is_final).await.map(|status| status.clone());
        settled.unwrap_or(AgentStatus::Shutdown)
    }

    /// Returns the changes in its own worktree; `None` if it has no worktree.
    pub(crate) async fn worktree_changes(&self) -> Option<Result<WorktreeDiff, String>> {
        let worktree_diff = self.worktree_diff.lock().clone()?;
        Some(worktree_diff().await)
    }

    /// Closes the agent and returns its previous status.
    pub(crate) async fn close(&self) -> AgentStatus {
        let before = self.status();
        self.stop_token().cancel();
        let work = self.running.lock().take();
        if let Some(mut work) = work {
            let gone = async { while work.ended.changed().await.is_ok() {} };
            let _takes_too_long = tokio::time::timeout(CLOSE_TIMEOUT, gone).await;
        }
        self.slot.lock().take();
        self.status.send_replace(AgentStatus::Shutdown);
        before
    }

    /// Prepares a closed agent for a restart, in a slot of its own.
    pub(crate) fn reopen(&self, agents: &SessionAgents) -> Result<(), String> {
        let slot = AgentSlot::take(&agents.shared_limits)?;
        *self.slot.lock() = Some(slot);
        *self.stop.lock() = agents.stop.child_token();
        self.status.send_replace(AgentStatus::PendingInit);
        Ok(())
    }
}
