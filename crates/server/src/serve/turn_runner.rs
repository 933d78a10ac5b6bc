//! Runs the turns of one session in a task independent of client connections; a prompt during a turn steers it.

use std::sync::Arc;

use agent::{AgentSession, SessionHandle};
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{RpcErrorCode, RpcFault};
use runtime::{OutputImage, Toolgate};
use tokio::sync::{Notify, mpsc, oneshot};

use super::delta_sender::DeltaSender;

/// The handle to a session's turns.
pub(super) struct TurnRunner {
    pub(super) handle: SessionHandle,
    prompts: mpsc::UnboundedSender<QueuedPrompt>,
    status: Arc<TurnStatus>,
}

/// The turn state. It changes only under the lock, together with the action that causes the change.
#[derive(Default)]
struct TurnStatus {
    phase: Mutex<TurnPhase>,
    turn_ended: Notify,
}

/// The phase of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TurnPhase {
    /// Waits for a prompt.
    #[default]
    Idle,
    /// A turn runs or is about to begin.
    Busy,
    /// The turn was interrupted, and is about to end. A prompt begins the next one.
    Stopping,
    /// The last turn runs, and no other begins.
    Closing,
    /// No turn runs, and none begins.
    Closed,
}

/// A prompt on its way to the driver.
struct QueuedPrompt {
    text: String,
    images: Vec<OutputImage>,
    answer: Option<oneshot::Sender<p::SessionPromptResult>>,
}

impl TurnRunner {
    /// Starts the task that drives `session` until this is dropped.
    pub(super) fn spawn(session: AgentSession, toolgate: Toolgate, deltas: Arc<DeltaSender>) -> Self {
        let (prompts, queued_prompts) = mpsc::unbounded_channel();
        let (handle, status) = (session.handle(), Arc::<TurnStatus>::default());
        let driver = TurnDriver { session, toolgate, deltas, status: Arc::clone(&status) };
        #[expect(clippy::disallowed_methods, reason = "no call: a session, which outlives its clients")]
        tokio::spawn(driver.drive(queued_prompts));
        Self { handle, prompts, status }
    }

    pub(super) fn is_busy(&self) -> bool {
        matches!(*self.status.phase.lock(), TurnPhase::Busy | TurnPhase::Stopping | TurnPhase::Closing)
    }

    /// Stops the turn.
    pub(super) fn interrupt(&self) {
        let mut phase = self.status.phase.lock();
        if *phase == TurnPhase::Busy {
            *phase = TurnPhase::Stopping;
        }
        self.handle.interrupt();
    }

    /// Stops the turn, prevents further turns, and waits for its end.
    pub(super) async fn stop(&self) {
        let turn_ended = self.status.turn_ended.notified();
        tokio::pin!(turn_ended);
        turn_ended.as_mut().enable();
        {
            let mut phase = self.status.phase.lock();
            *phase = match *phase {
                TurnPhase::Idle | TurnPhase::Closed => TurnPhase::Closed,
                TurnPhase::Busy | TurnPhase::Stopping | TurnPhase::Closing => TurnPhase::Closing,
            };
            if *phase == TurnPhase::Closed {
                return;
            }
            self.handle.interrupt();
        }
        turn_ended.await;
    }

    /// Starts a turn and waits for its end, or steers the running one.
    pub(super) async fn prompt(
        &self,
        text: String,
        images: Vec<OutputImage>,
    ) -> Result<p::SessionPromptResult, RpcFault> {
        let closed = || RpcErrorCode::NoSession.fault("the session is closed");
        let answered = {
            let mut phase = self.status.phase.lock();
            match *phase {
                TurnPhase::Idle | TurnPhase::Stopping => {}
                TurnPhase::Closing | TurnPhase::Closed => return Err(closed()),
                TurnPhase::Busy if !images.is_empty() => {
                    return Err(RpcErrorCode::Params
                        .fault("a turn runs, and pictures cannot be added to it; wait for its end"));
                }
                TurnPhase::Busy => {
                    let unwritten =
                        |fault: journal::JournalFault| RpcErrorCode::Journal.fault(fault.to_string());
                    self.handle.steer(text).map_err(unwritten)?;
                    return Ok(p::SessionPromptResult {
                        turn_id: self.handle.turn_id(),
                        ended: p::PromptOutcome::Steered,
                        detail: None,
                        text: String::new(),
                    });
                }
            }
            let (answer, answered) = oneshot::channel();
            // From now on an interrupt means this turn, even before it begins. So it is announced first. While another
            // turn is about to end, the driver announces it.
            if *phase == TurnPhase::Idle {
                self.handle.announce_turn();
                *phase = TurnPhase::Busy;
            }
            self.prompts.send(QueuedPrompt { text, images, answer: Some(answer) }).map_err(|_| closed())?;
            answered
        };
        answered
            .await
            .map_err(|_| RpcErrorCode::NoSession.fault("the session was closed before the turn was over"))
    }
}

/// The task that runs the turns of a session.
struct TurnDriver {
    session: AgentSession,
    toolgate: Toolgate,
    deltas: Arc<DeltaSender>,
    status: Arc<TurnStatus>,
}

impl TurnDriver {
    async fn drive(mut self, mut queued_prompts: mpsc::UnboundedReceiver<QueuedPrompt>) {
        // ends: when all senders are gone
        while let Some(prompt) = queued_prompts.recv().await {
            let mut next = Some(prompt);
            // ends: when no text was added after the end
            while let Some(QueuedPrompt { text, images, answer }) = next.take() {
                let mut prompted = self.run_turn(&text, images).await;
                if matches!(prompted.ended, p::PromptOutcome::Interrupted) {
                    prompted.detail = self.drop_late_input();
                }
                // Before the answer: the client may send the next prompt as soon as it has the answer.
                next = self.take_next_prompt(&mut queued_prompts);
                if let Some(answer) = answer {
                    // The client may have left; the journal has the result.
                    let _left = answer.send(prompted);
                }
            }
        }
    }

    async fn run_turn(&mut self, text: &str, images: Vec<OutputImage>) -> p::SessionPromptResult {
        let ended = self.session.prompt(text, images).await;
        self.toolgate.end_turn();
        let (word, detail) = match &ended {
            Ok(agent::TurnEnd::Done) => (p::PromptOutcome::Done, None),
            Ok(agent::TurnEnd::CutShort { why }) => (p::PromptOutcome::CutShort, Some(why.clone())),
            Ok(agent::TurnEnd::Interrupted) => (p::PromptOutcome::Interrupted, None),
            Ok(agent::TurnEnd::OutOfRounds) => (p::PromptOutcome::MaxTurns, None),
            Ok(agent::TurnEnd::OutOfBudget { why }) => (p::PromptOutcome::OutOfBudget, Some(why.clone())),
            Err(fault) => (p::PromptOutcome::Failed, Some(fault.to_string())),
        };
        let turn_id = self.session.handle().turn_id();
        p::SessionPromptResult { turn_id, ended: word, detail, text: self.deltas.last_message() }
    }

    /// Drops text that the model did not read before the turn was stopped: it must not begin another turn.
    fn drop_late_input(&mut self) -> Option<String> {
        let dropped: Vec<String> = std::iter::from_fn(|| self.session.take_late_input()).collect();
        (!dropped.is_empty()).then(|| format!("the model did not read: {}", dropped.join("; ")))
    }

    /// Returns text that arrived just after the turn ended, or a prompt that came while it was stopping, as a new turn.
    /// Without one the session becomes idle or closed.
    fn take_next_prompt(
        &mut self,
        queued_prompts: &mut mpsc::UnboundedReceiver<QueuedPrompt>,
    ) -> Option<QueuedPrompt> {
        let mut phase = self.status.phase.lock();
        let late = |text| QueuedPrompt { text, images: Vec::new(), answer: None };
        let next = match *phase {
            TurnPhase::Idle | TurnPhase::Busy | TurnPhase::Stopping => {
                self.session.take_late_input().map(late).or_else(|| queued_prompts.try_recv().ok())
            }
            TurnPhase::Closing | TurnPhase::Closed => None,
        };
        match (&next, *phase) {
            (Some(_), _) => {
                self.session.handle().announce_turn();
                *phase = TurnPhase::Busy;
            }
            (None, TurnPhase::Closing | TurnPhase::Closed) => *phase = TurnPhase::Closed,
            (None, TurnPhase::Idle | TurnPhase::Busy | TurnPhase::Stopping) => *phase = TurnPhase::Idle,
        }
        if next.is_none() {
            self.status.turn_ended.notify_waiters();
        }
        next
    }
}
