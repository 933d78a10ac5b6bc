//! The observer interface: terminals, journals and metrics see each event of a call and cannot change its outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use policy::Enforcement;
use tool::{BoxFuture, CallId, NoticeListener, ProcessUsage, ToolErrorKind, ToolNotice};

/// An event in the life of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEvent {
    /// The call was accepted and waits for its lane.
    Queued {
        /// The tool name as the model wrote it.
        tool: String,
    },
    /// The call left its lane queue and runs.
    Started,
    /// The policy has decided.
    Judged {
        /// `allow`, `ask` or `forbid`.
        verdict: &'static str,
        /// The reasons for asking or forbidding, one sentence each.
        why: Vec<String>,
        /// The source of the verdict: a rule with file and line, a hook, or the approval policy.
        by: String,
    },
    /// An attempt starts that may touch the machine.
    Attempted {
        /// Counted from 1: an attempt that was refused something may be repeated with more rights.
        number: usize,
        /// The sandbox mode, as configuration files spell it.
        sandbox: &'static str,
    },
    /// The user is asked about the call.
    Asked {
        /// The reasons, one sentence each.
        why: Vec<String>,
    },
    /// The question is closed.
    Decided {
        /// `approved`, `approved_for_session`, `approved_with_rule`, `denied`, `unanswered` or `abort`.
        decision: &'static str,
    },
    /// The tool reports something.
    Notice(ToolNotice),
    /// The call was answered.
    Finished {
        /// The registered name of the tool; `None` if there is no such tool.
        tool: Option<String>,
        /// True if the tool did what was asked.
        success: bool,
        /// The kind of error that the output reports.
        error: Option<ToolErrorKind>,
        /// Time from arrival to answer, without waiting time.
        elapsed: Duration,
        /// Time spent waiting for other calls and for the user.
        waited: Duration,
        /// Resource usage of its process, if there was one.
        usage: Option<ProcessUsage>,
        /// The sandbox enforcement for its process, if there was one.
        enforcement: Option<Enforcement>,
        /// The number of accesses that the policy or the sandbox refused.
        denials: usize,
    },
}

/// Observes calls.
pub trait CallObserver: Send + Sync {
    /// Receives `event` of `call`. Must not block.
    fn on_event(&self, call: &CallId, event: &CallEvent);

    /// Backpressure: the future resolves when the observer can accept more output; `None` means now. Streaming code
    /// waits for it, so a slow observer slows the process down and loses nothing.
    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Returns true if the observer wants process output as it is written. Without such an observer nothing is
    /// streamed.
    fn wants_output(&self) -> bool {
        true
    }
}

/// A list of observers; a panic in one does not affect the others.
#[derive(Clone, Default)]
pub(crate) struct ObserverSet(Vec<Arc<dyn CallObserver>>);

impl ObserverSet {
    pub(crate) fn push(&mut self, observer: Arc<dyn CallObserver>) {
        self.0.push(observer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes `event` to every observer; a panic is logged and ignored.
    pub(crate) fn notify(&self, call: &CallId, event: &CallEvent) {
        for observer in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| observer.on_event(call, event))).is_err() {
                tracing::error!(%call, "an observer panicked; the call goes on");
            }
        }
    }
}

impl NoticeListener for ObserverSet {
    fn on_notice(&self, call: &CallId, notice: ToolNotice) {
        self.notify(call, &CallEvent::Notice(notice));
    }

    fn wants_output(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_output())
    }

    /// Waits for every observer. One that panics counts as ready.
    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        let ready_futures = self.0.iter().map(|observer| catch_unwind(AssertUnwindSafe(|| observer.ready())));
        let waits: Vec<_> = ready_futures.filter_map(Result::unwrap_or_default).collect();
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
