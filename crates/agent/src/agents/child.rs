//! One agent: its tasks, one after another, in a task of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{Agents, Changes, Diff, Place, Raised, Status, Task};
use crate::{AgentFault, Ended, Handle};

/// How long the end of an agent may take.
const CLOSE: Duration = Duration::from_secs(10);

/// An agent that was started.
pub(crate) struct Child {
    id: String,
    task: Task,
    /// It counts as one as long as this is held.
    place: Mutex<Option<Place>>,
    stop: Mutex<CancellationToken>,
    status: watch::Sender<Status>,
    work: Mutex<Option<Work>>,
    /// What its journal is called, once it has one.
    session: Mutex<Option<String>>,
    /// Looks what it changed in a worktree of its own, which stays when it is closed.
    changed: Mutex<Option<Changes>>,
}

/// The way to an agent that works.
#[derive(Clone)]
struct Work {
    handle: Handle,
    inbox: mpsc::UnboundedSender<String>,
    /// Nothing is left of it when this is closed.
    over: watch::Receiver<()>,
}

impl Child {
    pub(super) fn new(id: String, task: Task, place: Place, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            id,
            task,
            place: Mutex::new(Some(place)),
            stop: Mutex::new(stop),
            status: watch::Sender::new(Status::PendingInit),
            work: Mutex::default(),
            session: Mutex::default(),
            changed: Mutex::default(),
        })
    }

    /// What it is called.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    pub(super) fn stop(&self) -> CancellationToken {
        lock(&self.stop).clone()
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// What its journal is called, once it has one.
    pub(crate) fn session(&self) -> Option<String> {
        lock(&self.session).clone()
    }

    /// Its session could not be made.
    pub(super) fn gave_up(&self, why: &str) {
        self.status.send_replace(Status::Errored(why.to_owned()));
        lock(&self.place).take();
    }

    /// Works in `raised` from now on; with its task first, if it `begins`.
    pub(super) fn work(self: &Arc<Self>, raised: Raised, agents: Option<Arc<Agents>>, begins: bool) {
        let (inbox, told) = mpsc::unbounded_channel();
        let (alive, over) = watch::channel(());
        let handle = raised.session.handle();
        *lock(&self.session) = Some(raised.id.clone());
        lock(&self.changed).clone_from(&raised.changed);
        *lock(&self.work) = Some(Work { handle, inbox: inbox.clone(), over });
        if begins {
            let _nobody_listens = inbox.send(self.task.message.clone());
            self.status.send_replace(Status::Running);
        } else {
            self.status.send_replace(Status::Interrupted);
        }
        let (child, stop) = (Arc::clone(self), self.stop());
        #[expect(
            clippy::disallowed_methods,
            reason = "no call: an agent, which outlives the call that started it"
        )]
        tokio::spawn(async move {
            child.drive(raised, told, stop, agents).await;
            drop(alive);
        });
    }

    async fn drive(
        &self,
        mut raised: Raised,
        mut told: mpsc::UnboundedReceiver<String>,
        stop: CancellationToken,
        agents: Option<Arc<Agents>>,
    ) {
        let handle = raised.session.handle();
        // ends: when it is closed, or whoever started it is
        loop {
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                message = told.recv() => message,
            };
            let Some(message) = message else { break };
            self.status.send_replace(Status::Running);
            let ended = {
                let turn = raised.session.prompt(&message, Vec::new());
                tokio::pin!(turn);
                tokio::select! {
                    ended = &mut turn => ended,
                    () = stop.cancelled() => {
                        handle.interrupt();
                        turn.await
                    }
                }
            };
            self.settle(&mut raised, &told, ended);
        }
        drop(raised.session);
        if let Some(agents) = agents {
            // Those that it started end with it.
            Box::pin(agents.closed()).await;
        }
        (raised.close)().await;
        lock(&self.place).take();
        self.status.send_replace(Status::Shutdown);
    }

    /// Says how a turn ended. What was added at the last moment is the next task, and nobody is told that all is done before that is; nor while more waits.
    fn settle(
        &self,
        raised: &mut Raised,
        told: &mpsc::UnboundedReceiver<String>,
        ended: Result<Ended, AgentFault>,
    ) {
        let work = lock(&self.work);
        if let Some(more) = raised.session.added() {
            let _nobody_listens = work.as_ref().map(|work| work.inbox.send(more));
        }
        if !told.is_empty() {
            return;
        }
        self.status.send_replace(match ended {
            Ok(Ended::Done) => Status::Completed((raised.last)()),
            Ok(Ended::Interrupted) => Status::Interrupted,
            Ok(Ended::CutShort { why }) => Status::Errored(format!("its provider cut it short: {why}")),
            Ok(Ended::OutOfRounds) => Status::Errored("it took as many requests as it may".to_owned()),
            Err(fault) => Status::Errored(fault.to_string()),
        });
    }

    /// Tells it something: what it does next, or beside what it does. `None` if it is closed.
    pub(crate) fn tell(&self, message: String, interrupt: bool) -> Option<()> {
        // Held to the end: whoever looks whether more waits looks before it or after it.
        let work = lock(&self.work);
        let work = work.as_ref()?;
        let running = !self.status().is_final();
        if running && !interrupt {
            return work.handle.steer(message).ok();
        }
        if interrupt {
            work.handle.interrupt();
        }
        work.inbox.send(message).ok()?;
        self.status.send_replace(Status::Running);
        Some(())
    }

    /// Stops what it does; it waits for what it is told next.
    pub(super) fn interrupt(&self) {
        if let Some(work) = lock(&self.work).as_ref() {
            work.handle.interrupt();
        }
    }

    /// Resolves when nothing more comes of it by itself.
    pub(crate) async fn settled(&self) -> Status {
        let mut status = self.status.subscribe();
        let settled = status.wait_for(Status::is_final).await.map(|status| status.clone());
        settled.unwrap_or(Status::Shutdown)
    }

    /// What it changed in a worktree of its own; nothing if it has none.
    pub(crate) async fn changes(&self) -> Option<Result<Diff, String>> {
        let changed = lock(&self.changed).clone()?;
        Some(changed().await)
    }

    /// Ends it; what it was before.
    pub(crate) async fn close(&self) -> Status {
        let before = self.status();
        self.stop().cancel();
        let work = lock(&self.work).take();
        if let Some(mut work) = work {
            let gone = async { while work.over.changed().await.is_ok() {} };
            let _takes_too_long = tokio::time::timeout(CLOSE, gone).await;
        }
        lock(&self.place).take();
        self.status.send_replace(Status::Shutdown);
        before
    }

    /// Lets it be started anew, in a place of its own.
    pub(crate) fn reopen(&self, agents: &Agents) -> Result<(), String> {
        let place = Place::take(&agents.family)?;
        *lock(&self.place) = Some(place);
        *lock(&self.stop) = agents.stop.child_token();
        self.status.send_replace(Status::PendingInit);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is right between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
