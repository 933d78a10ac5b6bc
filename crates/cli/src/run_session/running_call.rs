//! A running call, as the status lines show it: its title, its time of work, its refusals and the tail of its output.

use runtime::{Denial, ToolCall};

use super::refusal_lines::{LiveRefusals, RemedyForm};
use super::status_lines::BusyStatus;
use super::work_timer::WorkTimer;
use session::call_title::title;

/// Bytes of the output that are kept.
const MAX_TAIL_BYTES: usize = 2048;

/// A running call in the status lines.
pub(super) struct RunningCallStatus {
    pub(super) id: String,
    title: String,
    pub(super) timer: WorkTimer,
    /// The tail of its output.
    tail: String,
    /// The accesses that the sandbox refused so far.
    denials: Vec<Denial>,
}

impl RunningCallStatus {
    /// A call that begins now.
    pub(super) fn start(call: &ToolCall) -> Self {
        let (id, timer) = (call.id.as_str().to_owned(), WorkTimer::start());
        Self { id, title: title(call), timer, tail: String::new(), denials: Vec::new() }
    }

    pub(super) fn to_busy_status(&self, form: RemedyForm) -> BusyStatus<'_> {
        let refusals = LiveRefusals { denials: &self.denials, form };
        BusyStatus { label: &self.title, elapsed: self.timer.worked(), tail: &self.tail, refusals }
    }

    pub(super) fn add_denial(&mut self, denial: &Denial) {
        self.denials.push(denial.clone());
    }

    /// Appends output, and keeps only the tail that may be shown.
    pub(super) fn append_output(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > 2 * MAX_TAIL_BYTES {
            let from = self.tail.ceil_char_boundary(self.tail.len() - MAX_TAIL_BYTES);
            self.tail.drain(..from);
        }
    }
}
