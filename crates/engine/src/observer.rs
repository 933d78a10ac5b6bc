//! Whoever watches: a terminal, a journal, metrics. Watching cannot change an outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tool::{CallId, ErrorKind, Notice};

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It was accepted, and waits for its lane.
    Queued {
        /// The name as the model wrote it.
        tool: String,
    },
    /// It runs.
    Started,
    /// The tool says something.
    Notice(Notice),
    /// It was answered.
    Finished {
        /// Whether the tool did what was asked.
        success: bool,
        /// Which kind of fault the answer reports.
        error: Option<ErrorKind>,
        /// From its arrival to its answer.
        elapsed: Duration,
    },
}

/// Watches calls.
pub trait Observer: Send + Sync {
    /// Sees `event` happen to `call`. Must not block.
    fn saw(&self, call: &CallId, event: &Event);
}

/// Several observers as one, each shielded from the others' panics.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn Observer>) {
        self.0.push(observer);
    }

    pub(crate) fn saw(&self, call: &CallId, event: &Event) {
        for observer in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| observer.saw(call, event))).is_err() {
                tracing::error!(%call, "an observer panicked; the call goes on");
            }
        }
    }
}
