//! The turns of one session, one after another, in a task of its own: they go on whoever comes and goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{Handle, Session};
use rpc::protocol as p;
use rpc::{Code, RpcFault};
use tokio::sync::{Notify, mpsc, oneshot};
use toolgate::{Image, Toolgate};

use super::deltas::Deltas;

/// The way to a session's model.
pub(super) struct Turns {
    pub(super) handle: Handle,
    asked: mpsc::UnboundedSender<Asked>,
    busy: Arc<Busy>,
}

/// Whether a turn runs. Changed only together with what decides it.
#[derive(Default)]
struct Busy {
    now: Mutex<bool>,
    over: Notify,
}

impl Busy {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Asked {
    text: String,
    images: Vec<Image>,
    answer: Option<oneshot::Sender<p::Prompted>>,
}

impl Turns {
    /// Drives `session` until this is dropped.
    pub(super) fn of(session: Session, toolgate: Toolgate, deltas: Arc<Deltas>) -> Self {
        let (asked, wanted) = mpsc::unbounded_channel();
        let (handle, busy) = (session.handle(), Arc::<Busy>::default());
        let driver = Driver { session, toolgate, deltas, busy: Arc::clone(&busy) };
        #[expect(
            clippy::disallowed_methods,
            reason = "no call: a session, which outlives whoever asked it something"
        )]
        tokio::spawn(driver.drive(wanted));
        Self { handle, asked, busy }
    }

    pub(super) fn is_busy(&self) -> bool {
        *self.busy.lock()
    }

    /// Stops the turn, and waits until it is over.
    pub(super) async fn stopped(&self) {
        // ends: nothing is asked for any more, and the turn ends
        loop {
            let over = self.busy.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            if !self.is_busy() {
                return;
            }
            self.handle.interrupt();
            over.await;
        }
    }

    /// Begins a turn and waits for its end, or adds to the one that runs.
    pub(super) async fn prompt(&self, text: String, images: Vec<Image>) -> Result<p::Prompted, RpcFault> {
        let answered = {
            let mut busy = self.busy.lock();
            if *busy {
                if !images.is_empty() {
                    return Err(Code::Params
                        .fault("a turn runs, and pictures cannot be added to it; wait for its end"));
                }
                self.handle.steer(text);
                let turn_id = self.handle.turn_id();
                return Ok(p::Prompted {
                    turn_id,
                    ended: p::Ended::Steered,
                    detail: None,
                    text: String::new(),
                });
            }
            let (answer, answered) = oneshot::channel();
            let over = || Code::NoSession.fault("the session is closed");
            self.asked.send(Asked { text, images, answer: Some(answer) }).map_err(|_| over())?;
            *busy = true;
            answered
        };
        answered.await.map_err(|_| Code::NoSession.fault("the session was closed before the turn was over"))
    }
}

struct Driver {
    session: Session,
    toolgate: Toolgate,
    deltas: Arc<Deltas>,
    busy: Arc<Busy>,
}

impl Driver {
    async fn drive(mut self, mut wanted: mpsc::UnboundedReceiver<Asked>) {
        // ends: when nobody can ask any more
        while let Some(asked) = wanted.recv().await {
            let mut next = Some(asked);
            // ends: when nothing was added after the end
            while let Some(Asked { text, images, answer }) = next.take() {
                let prompted = self.turn(&text, images).await;
                if let Some(answer) = answer {
                    // Whoever asked may have left; what happened is in the journal.
                    let _left = answer.send(prompted);
                }
                next = self.added();
            }
        }
    }

    async fn turn(&mut self, text: &str, images: Vec<Image>) -> p::Prompted {
        let ended = self.session.prompt(text, images).await;
        self.toolgate.end_turn();
        let (word, detail) = match &ended {
            Ok(agent::Ended::Done) => (p::Ended::Done, None),
            Ok(agent::Ended::CutShort { why }) => (p::Ended::CutShort, Some(why.clone())),
            Ok(agent::Ended::Interrupted) => (p::Ended::Interrupted, None),
            Ok(agent::Ended::OutOfRounds) => (p::Ended::MaxTurns, None),
            Err(fault) => (p::Ended::Failed, Some(fault.to_string())),
        };
        let turn_id = self.session.handle().turn_id();
        p::Prompted { turn_id, ended: word, detail, text: self.deltas.last() }
    }

    /// What was added when the turn had just ended: another turn. If nothing was, the next prompt begins one.
    fn added(&mut self) -> Option<Asked> {
        let mut busy = self.busy.lock();
        let added = self.session.added().map(|text| Asked { text, images: Vec::new(), answer: None });
        *busy = added.is_some();
        if added.is_none() {
            self.busy.over.notify_waiters();
        }
        added
    }
}
