//! The pending approval questions, shared with every connected approval terminal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use runtime::{ApprovalQuestion, ReviewDecision};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// The time in which an approval terminal finds a new server: it looks for them twice a second.
const DISCOVERY_TIME: Duration = Duration::from_millis(1500);

/// The pending questions, and the number of watching terminals.
pub(super) struct PendingQuestions {
    created: Instant,
    open: Mutex<OpenQuestions>,
    /// Counts added and removed questions.
    changes: watch::Sender<u64>,
    watchers: watch::Sender<usize>,
    /// True once no question may be answered any more.
    withdrawn: watch::Sender<bool>,
}

impl Default for PendingQuestions {
    fn default() -> Self {
        Self {
            created: Instant::now(),
            open: Mutex::default(),
            changes: watch::Sender::default(),
            watchers: watch::Sender::default(),
            withdrawn: watch::Sender::default(),
        }
    }
}

/// The questions by id, each with the sender of its answer.
#[derive(Default)]
struct OpenQuestions {
    last_id: u64,
    questions: BTreeMap<u64, (PendingQuestion, oneshot::Sender<ReviewDecision>)>,
}

/// A question for terminals.
#[derive(Clone)]
pub(super) struct PendingQuestion {
    pub(super) question: Arc<ApprovalQuestion>,
    /// The client that keeps its form open if a terminal answers.
    pub(super) form_keeper: Option<String>,
}

impl PendingQuestions {
    /// Adds a question. It stays until it is answered or the result is dropped.
    pub(super) fn post(&self, question: PendingQuestion) -> PostedQuestion<'_> {
        let (answer, answered) = oneshot::channel();
        let mut open = self.open.lock();
        open.last_id += 1;
        let id = open.last_id;
        open.questions.insert(id, (question, answer));
        drop(open);
        self.changes.send_modify(|count| *count += 1);
        PostedQuestion { pending_questions: self, id, answered }
    }

    /// Returns the pending questions, oldest first.
    pub(super) fn questions(&self) -> Vec<(u64, PendingQuestion)> {
        self.open.lock().questions.iter().map(|(id, (question, _))| (*id, question.clone())).collect()
    }

    /// Notes that the client has no form of the question open.
    fn note_closed_form(&self, id: u64) {
        if let Some((question, _)) = self.open.lock().questions.get_mut(&id) {
            question.form_keeper = None;
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Closes all questions, now and from now on.
    pub(super) fn withdraw(&self) {
        self.withdrawn.send_replace(true);
        self.open.lock().questions.clear();
        self.changes.send_modify(|count| *count += 1);
    }

    /// Resolves when all questions were closed.
    pub(super) async fn until_withdrawn(&self) {
        let mut withdrawn = self.withdrawn.subscribe();
        // Never fails: `self` owns the sender.
        let _never = withdrawn.wait_for(|withdrawn| *withdrawn).await.map(drop);
    }

    /// Answers a question. Returns `false` if it is no longer pending.
    pub(super) fn answer(&self, id: u64, decision: ReviewDecision) -> bool {
        if *self.withdrawn.borrow() {
            return false;
        }
        let taken = self.open.lock().questions.remove(&id);
        self.changes.send_modify(|count| *count += 1);
        taken.is_some_and(|(_, answer)| answer.send(decision).is_ok())
    }

    /// Registers a watcher until the result is dropped.
    pub(super) fn watch(&self) -> QuestionWatcher<'_> {
        self.watchers.send_modify(|count| *count += 1);
        QuestionWatcher { pending_questions: self, changes: self.changes.subscribe() }
    }

    pub(super) fn is_watched(&self) -> bool {
        *self.watchers.borrow() > 0
    }

    /// Resolves when a terminal is watching, or would be by now.
    pub(super) async fn until_discovered(&self) {
        let mut watchers = self.watchers.subscribe();
        tokio::select! {
            // Never fails: `self` owns the sender.
            _ = watchers.wait_for(|count| *count > 0) => {}
            () = tokio::time::sleep_until(self.created + DISCOVERY_TIME) => {}
        }
    }

    /// Resolves when no terminal is watching.
    pub(super) async fn until_unwatched(&self) {
        let mut watchers = self.watchers.subscribe();
        // Never fails: `self` owns the sender.
        let _never = watchers.wait_for(|count| *count == 0).await.map(drop);
    }
}

/// A question that is pending until this is dropped.
pub(super) struct PostedQuestion<'a> {
    pending_questions: &'a PendingQuestions,
    id: u64,
    answered: oneshot::Receiver<ReviewDecision>,
}

/// A handle to a posted question, for the side of the client.
#[derive(Clone, Copy)]
pub(super) struct QuestionForm<'a> {
    pending_questions: &'a PendingQuestions,
    id: u64,
}

impl QuestionForm<'_> {
    /// Notes that the client shows no form of it.
    pub(super) fn note_closed(self) {
        self.pending_questions.note_closed_form(self.id);
    }
}

impl<'a> PostedQuestion<'a> {
    /// Returns the handle to its form.
    pub(super) fn form(&self) -> QuestionForm<'a> {
        QuestionForm { pending_questions: self.pending_questions, id: self.id }
    }

    /// Waits for the decision of a terminal.
    pub(super) async fn wait_for_decision(&mut self) -> ReviewDecision {
        match (&mut self.answered).await {
            Ok(decision) => decision,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for PostedQuestion<'_> {
    fn drop(&mut self) {
        if self.pending_questions.open.lock().questions.remove(&self.id).is_some() {
            self.pending_questions.changes.send_modify(|count| *count += 1);
        }
    }
}

/// The registration of a watching terminal.
pub(super) struct QuestionWatcher<'a> {
    pending_questions: &'a PendingQuestions,
    changes: watch::Receiver<u64>,
}

impl QuestionWatcher<'_> {
    /// Resolves when a question was added or removed since the last call.
    pub(super) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for QuestionWatcher<'_> {
    fn drop(&mut self) {
        self.pending_questions.watchers.send_modify(|count| *count = count.saturating_sub(1));
    }
}
