//! The questions that stand, for every terminal that watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use toolgate::{Question, ReviewDecision};

/// What stands, and who watches.
#[derive(Default)]
pub(super) struct Board {
    open: Mutex<Open>,
    /// Counts what is put up and taken down.
    changes: watch::Sender<u64>,
    watchers: watch::Sender<usize>,
}

#[derive(Default)]
struct Open {
    next: u64,
    questions: BTreeMap<u64, (Arc<Question>, oneshot::Sender<ReviewDecision>)>,
}

impl Board {
    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a question up until it is answered or given up.
    pub(super) fn post(&self, question: &Question) -> Posted<'_> {
        let (answer, answered) = oneshot::channel();
        let mut open = self.open();
        open.next += 1;
        let id = open.next;
        open.questions.insert(id, (Arc::new(question.clone()), answer));
        drop(open);
        self.changes.send_modify(|count| *count += 1);
        Posted { board: self, id, answered }
    }

    /// The questions that stand, oldest first.
    pub(super) fn questions(&self) -> Vec<(u64, Arc<Question>)> {
        self.open().questions.iter().map(|(id, (question, _))| (*id, Arc::clone(question))).collect()
    }

    /// Answers a question; `false` if it does not stand any more.
    pub(super) fn answer(&self, id: u64, decision: ReviewDecision) -> bool {
        let taken = self.open().questions.remove(&id);
        self.changes.send_modify(|count| *count += 1);
        taken.is_some_and(|(_, answer)| answer.send(decision).is_ok())
    }

    /// Watches until what comes back is dropped.
    pub(super) fn watch(&self) -> Watching<'_> {
        self.watchers.send_modify(|count| *count += 1);
        Watching { board: self, changes: self.changes.subscribe() }
    }

    pub(super) fn is_watched(&self) -> bool {
        *self.watchers.borrow() > 0
    }

    /// Resolves when nobody watches.
    pub(super) async fn unwatched(&self) {
        let mut watchers = self.watchers.subscribe();
        // The other end is ours.
        let _never = watchers.wait_for(|count| *count == 0).await.map(drop);
    }
}

/// A question that stands until this is dropped.
pub(super) struct Posted<'a> {
    board: &'a Board,
    id: u64,
    answered: oneshot::Receiver<ReviewDecision>,
}

impl Posted<'_> {
    /// What somebody at the board says.
    pub(super) async fn answered(&mut self) -> ReviewDecision {
        match (&mut self.answered).await {
            Ok(decision) => decision,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        if self.board.open().questions.remove(&self.id).is_some() {
            self.board.changes.send_modify(|count| *count += 1);
        }
    }
}

/// Somebody who watches.
pub(super) struct Watching<'a> {
    board: &'a Board,
    changes: watch::Receiver<u64>,
}

impl Watching<'_> {
    /// Resolves when something was put up or taken down since the last time.
    pub(super) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.board.watchers.send_modify(|count| *count = count.saturating_sub(1));
    }
}
