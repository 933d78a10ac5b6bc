//! Prints notices about weaker confinement on stderr, each once per process.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use runtime::{CallEvent, CallId, CallObserver, ToolNotice};

/// Warnings that were printed: each is printed once per process, however many sessions it has.
static PRINTED_WARNINGS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Observer that prints confinement warnings on stderr.
pub(crate) struct WarningPrinter;

impl CallObserver for WarningPrinter {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        // A refused call gets its own answer, so only calls that ran anyway need a warning.
        if let CallEvent::Notice(ToolNotice::WeakerSandbox { text, refused: false }) = event {
            warn_once(text);
        }
    }

    fn wants_output(&self) -> bool {
        false
    }
}

/// Prints the warning unless it was printed before. Its lines after the first are hints.
pub fn warn_once(text: &str) {
    let is_new = PRINTED_WARNINGS.lock().insert(text.to_owned());
    if !is_new {
        return;
    }
    let mut lines = text.lines();
    terminal::print_warning(lines.next().unwrap_or_default());
    lines.for_each(terminal::print_hint);
}
