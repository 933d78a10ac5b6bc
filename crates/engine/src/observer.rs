//! Whoever watches: a terminal, a journal, metrics. Watching cannot change an outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use policy::Enforcement;
use tool::{BoxFuture, CallId, ErrorKind, Listen, Notice, Usage};

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
    /// The policy has judged it.
    Judged {
        /// `allow`, `ask` or `forbid`.
        verdict: &'static str,
        /// Why it is not simply allowed, each in one sentence.
        why: Vec<String>,
        /// Who says so: a rule with its file and line, a hook, or the policy for approvals.
        by: String,
    },
    /// It is about to touch the machine.
    Attempted {
        /// From one: what was refused something may be tried again with more rights.
        number: usize,
        /// What confines it, as configurations spell it.
        sandbox: &'static str,
    },
    /// Somebody is asked about it.
    Asked {
        /// Why, each in one sentence.
        why: Vec<String>,
    },
    /// They answered.
    Decided {
        /// `approved`, `approved_for_session`, `approved_with_rule`, `denied` or `abort`.
        decision: &'static str,
    },
    /// The tool says something.
    Notice(Notice),
    /// It was answered.
    Finished {
        /// Whether the tool did what was asked.
        success: bool,
        /// Which kind of fault the answer reports.
        error: Option<ErrorKind>,
        /// From its arrival to its answer, without the time that it waited.
        elapsed: Duration,
        /// How long it waited for other calls and for people.
        waited: Duration,
        /// What its process took, if there was one.
        usage: Option<Usage>,
        /// What held for its process, if there was one.
        enforcement: Option<Enforcement>,
    },
}

/// Watches calls.
pub trait Observer: Send + Sync {
    /// Sees `event` happen to `call`. Must not block.
    fn saw(&self, call: &CallId, event: &Event);

    /// Resolves when it can take more; `None` if it can now. Whoever streams waits for it, so a slow reader slows the
    /// process down and loses nothing.
    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Whether it wants to see the output of processes, piece by piece. If nobody does, nobody makes the pieces.
    fn streams(&self) -> bool {
        true
    }
}

/// Several observers as one, each shielded from the others' panics.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn Observer>) {
        self.0.push(observer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn saw(&self, call: &CallId, event: &Event) {
        for observer in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| observer.saw(call, event))).is_err() {
                tracing::error!(%call, "an observer panicked; the call goes on");
            }
        }
    }
}

impl Listen for Observers {
    fn heard(&self, call: &CallId, notice: Notice) {
        self.saw(call, &Event::Notice(notice));
    }

    fn streams(&self) -> bool {
        self.0.iter().any(|observer| observer.streams())
    }

    /// Room with all of them; whoever panics over it counts as having some.
    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        let rooms = self.0.iter().map(|observer| catch_unwind(AssertUnwindSafe(|| observer.room())));
        let waits: Vec<_> = rooms.filter_map(Result::unwrap_or_default).collect();
        if waits.is_empty() {
            return None;
        }
        Some(Box::pin(async {
            for wait in waits {
                let _has_room_or_panicked = AssertUnwindSafe(wait).catch_unwind().await;
            }
        }))
    }
}
