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
    now: Mutex<Now>,
    over: Notify,
}

/// What a session does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Now {
    /// It waits for a prompt.
    #[default]
    Idle,
    /// A turn runs, or is about to.
    Busy,
    /// The last turn runs, and no other begins.
    Closing,
    /// No turn runs, and none begins.
    Closed,
}

impl Busy {
    fn lock(&self) -> MutexGuard<'_, Now> {
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
        matches!(*self.busy.lock(), Now::Busy | Now::Closing)
    }

    /// Stops the turn, has no other begin, and waits until it is over.
    pub(super) async fn stopped(&self) {
        let over = self.busy.over.notified();
        tokio::pin!(over);
        over.as_mut().enable();
        {
            let mut now = self.busy.lock();
            *now = match *now {
                Now::Idle | Now::Closed => Now::Closed,
                Now::Busy | Now::Closing => Now::Closing,
            };
            if *now == Now::Closed {
                return;
            }
            self.handle.interrupt();
        }
        over.await;
    }

    /// Begins a turn and waits for its end, or adds to the one that runs.
    pub(super) async fn prompt(&self, text: String, images: Vec<Image>) -> Result<p::Prompted, RpcFault> {
        let closed = || Code::NoSession.fault("the session is closed");
        let answered = {
            let mut now = self.busy.lock();
            match *now {
                Now::Idle => {}
                Now::Closing | Now::Closed => return Err(closed()),
                Now::Busy if !images.is_empty() => {
                    return Err(Code::Params
                        .fault("a turn runs, and pictures cannot be added to it; wait for its end"));
                }
                Now::Busy => {
                    let unwritten = |fault: journal::JournalFault| Code::Journal.fault(fault.to_string());
                    self.handle.steer(text).map_err(unwritten)?;
                    return Ok(p::Prompted {
                        turn_id: self.handle.turn_id(),
                        ended: p::Ended::Steered,
                        detail: None,
                        text: String::new(),
                    });
                }
            }
            let (answer, answered) = oneshot::channel();
            // Whoever interrupts from now on means this turn, though it has not begun; said before it can.
            self.handle.announce();
            self.asked.send(Asked { text, images, answer: Some(answer) }).map_err(|_| closed())?;
            *now = Now::Busy;
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
                // Before the answer: whoever has it may ask for the next thing at once.
                next = self.added();
                if let Some(answer) = answer {
                    // Whoever asked may have left; what happened is in the journal.
                    let _left = answer.send(prompted);
                }
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
        let mut now = self.busy.lock();
        let added = match *now {
            Now::Idle | Now::Busy => self.session.added(),
            Now::Closing | Now::Closed => None,
        };
        match (&added, *now) {
            (Some(_), _) => self.session.handle().announce(),
            (None, Now::Closing | Now::Closed) => *now = Now::Closed,
            (None, Now::Idle | Now::Busy) => *now = Now::Idle,
        }
        if added.is_none() {
            self.busy.over.notify_waiters();
        }
        added.map(|text| Asked { text, images: Vec::new(), answer: None })
    }
}
