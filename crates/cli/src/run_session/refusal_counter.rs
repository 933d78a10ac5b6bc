//! Counts the refused calls of a run, for its exit status.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use runtime::{CallEvent, CallId, CallObserver, ToolErrorKind, ToolNotice};

/// Counts calls that a person, the policy or the sandbox refused, and all others.
#[derive(Debug, Default)]
pub(super) struct RefusalCounter {
    refused: AtomicUsize,
    others: AtomicUsize,
    /// Set if this machine cannot confine commands as the policy requires.
    are_commands_refused: AtomicBool,
}

impl RefusalCounter {
    /// Returns the reason for which a run that is done has not done its work; `None` if a call was not refused.
    pub(super) fn reason(&self) -> Option<&'static str> {
        if self.are_commands_refused.load(Relaxed) {
            return Some("no command could be confined, so none was run");
        }
        (self.refused.load(Relaxed) > 0 && self.others.load(Relaxed) == 0)
            .then_some("every call was refused; --sandbox, --approval and rules allow more")
    }
}

impl CallObserver for RefusalCounter {
    fn wants_output(&self) -> bool {
        false
    }

    fn on_event(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::Notice(ToolNotice::WeakerSandbox { refused: true, .. }) = event {
            self.are_commands_refused.store(true, Relaxed);
        }
        let CallEvent::Finished { error, .. } = event else { return };
        let is_refused = match error {
            // A command that cannot be confined is an error of the machine.
            Some(ToolErrorKind::Io) if self.are_commands_refused.load(Relaxed) => true,
            Some(ToolErrorKind::Forbidden | ToolErrorKind::Denied | ToolErrorKind::Blocked) => true,
            Some(
                ToolErrorKind::UnknownTool
                | ToolErrorKind::BadArguments
                | ToolErrorKind::TimedOut
                | ToolErrorKind::Cancelled
                | ToolErrorKind::Stopped
                | ToolErrorKind::Io
                | ToolErrorKind::Crashed
                | ToolErrorKind::Fatal,
            )
            | None => false,
        };
        let counter = if is_refused { &self.refused } else { &self.others };
        counter.fetch_add(1, Relaxed);
    }
}
