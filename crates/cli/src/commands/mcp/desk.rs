//! Whoever is asked about a call: its client, and everybody at the board. Whoever answers first has answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolgate::{Approver, BoxFuture, CallId, Event, Notice, Observer, Question, ReviewDecision};

use super::board::Board;
use super::form::Form;
use super::line::Line;

/// How long a question stands; what nobody answers is refused, and others get their turn.
const STANDS: Duration = Duration::from_secs(10 * 60);

const NOBODY: &str = "nobody answered: the client did not, and no `toolgate approve` runs any more";
const LATE: &str = "nobody answered in time";

/// The calls that run, by their ids, and the board.
pub(super) struct Desk {
    calls: Mutex<HashMap<CallId, Arc<Line>>>,
    count: AtomicU64,
    board: Arc<Board>,
}

impl Desk {
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self { calls: Mutex::default(), count: AtomicU64::new(1), board }
    }

    /// Gives a call an id under which its line is found.
    pub(super) fn list(self: &Arc<Self>, line: &Arc<Line>) -> Listed {
        let id = CallId::from(format!("mcp-{}", self.count.fetch_add(1, Ordering::Relaxed)));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(id.clone(), Arc::clone(line));
        Listed { desk: Arc::clone(self), id }
    }

    /// Whether there is anybody to ask about the call on this line.
    pub(super) fn can_ask(&self, line: &Line) -> bool {
        line.takes_forms() || self.board.is_watched()
    }

    fn line(&self, call: &CallId) -> Option<Arc<Line>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(call).cloned()
    }

    async fn asked(&self, call: &CallId, question: &Question) -> ReviewDecision {
        let line = self.line(call).filter(|line| line.takes_forms());
        let mut posted = self.board.post(question);
        let client = async {
            if let Some(line) = line {
                let form = Form::about(question);
                if let Some(said) = line.ask(form.request()).await {
                    return form.decision(question, &said);
                }
            }
            self.board.unwatched().await;
            denied(NOBODY)
        };
        tokio::select! {
            // An answer from a terminal was acknowledged there: a later one of the client must not win by chance.
            biased;
            decision = posted.answered() => decision,
            decision = client => decision,
            () = tokio::time::sleep(STANDS) => denied(LATE),
        }
    }
}

fn denied(note: &str) -> ReviewDecision {
    ReviewDecision::Denied { note: Some(note.to_owned()) }
}

impl Approver for Desk {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a Question) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(self.asked(call, question))
    }
}

impl Observer for Desk {
    fn saw(&self, call: &CallId, event: &Event) {
        let text = match event {
            Event::Asked { why } => format!("waits for somebody to allow it: {}\n", why.join("; ")),
            Event::Notice(Notice::Output { text, .. }) => text.clone(),
            Event::Notice(
                Notice::Progress { text, .. } | Notice::Warning { text } | Notice::Weaker { text, .. },
            ) => format!("{text}\n"),
            Event::Notice(Notice::FileChanged { kind, path }) => format!("{kind} {path}\n"),
            Event::Notice(Notice::PlanUpdated { .. })
            | Event::Queued { .. }
            | Event::Started
            | Event::Judged { .. }
            | Event::Attempted { .. }
            | Event::Decided { .. }
            | Event::Finished { .. } => return,
        };
        if let Some(line) = self.line(call) {
            line.hear(&text);
        }
    }
}

/// A call that is found by its id, until this is dropped.
pub(super) struct Listed {
    desk: Arc<Desk>,
    pub(super) id: CallId,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.desk.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
