//! Shows the tail of a running command's output in the editor, at most ten times a second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::protocol::{SessionUpdate, ToolCallContent, ToolCallUpdate, fenced_block};
use super::update_sender::UpdateSender;

/// Bytes of output that are shown. Each update resends them, because an update replaces the previous content
/// of a call.
const MAX_SHOWN_BYTES: usize = 8 << 10;
/// Minimum time between two updates of a call.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The output tails of the running calls of a session.
#[derive(Clone)]
pub(super) struct LiveOutputs {
    sender: UpdateSender,
    runtime: Handle,
    tails: Arc<Mutex<HashMap<String, OutputTail>>>,
}

/// The tail of one output.
#[derive(Default)]
struct OutputTail {
    text: String,
    last_shown: Option<Instant>,
    /// A task is scheduled to show it.
    is_scheduled: bool,
}

impl LiveOutputs {
    /// Must be called in a runtime.
    pub(super) fn new(sender: UpdateSender) -> Self {
        Self { sender, runtime: Handle::current(), tails: Arc::default() }
    }

    /// Appends to the output of the call with the editor's id `id`.
    pub(super) fn append(&self, id: &str, text: &str) {
        let mut tails = self.tails.lock();
        let tail = tails.entry(id.to_owned()).or_default();
        tail.push(text);
        if tail.is_scheduled {
            return;
        }
        match tail.last_shown.map(|shown| shown.elapsed()) {
            Some(since) if since < MIN_UPDATE_INTERVAL => {
                tail.is_scheduled = true;
                let (outputs, id) = (self.clone(), id.to_owned());
                // Not a tool call: the task shows the output once and ends.
                self.runtime.spawn(async move {
                    tokio::time::sleep(MIN_UPDATE_INTERVAL - since).await;
                    if let Some(tail) = outputs.tails.lock().get_mut(&id) {
                        outputs.send_tail(&id, tail);
                    }
                });
            }
            Some(_) | None => self.send_tail(id, tail),
        }
    }

    /// Sends the tail. The caller holds the lock on the tails, so no update follows the end of the call.
    fn send_tail(&self, id: &str, tail: &mut OutputTail) {
        (tail.last_shown, tail.is_scheduled) = (Some(Instant::now()), false);
        let content = Some(vec![ToolCallContent::Content {
            content: fenced_block("", &strip_terminal_codes(&tail.text)),
        }]);
        let view = ToolCallUpdate { tool_call_id: id.to_owned(), content, ..ToolCallUpdate::default() };
        // The update may be dropped: the answer contains the output.
        self.sender.try_send(&SessionUpdate::Changed(view));
    }

    /// Removes an answered call.
    pub(super) fn remove(&self, id: &str) {
        self.tails.lock().remove(id);
    }
}

/// Removes colours and text before a carriage return. The final answer is rendered by our terminal emulator,
/// this preview is not.
fn strip_terminal_codes(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let lines =
        text.split('\n').map(|line| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

impl OutputTail {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > MAX_SHOWN_BYTES {
            let cut = self.text.len() - MAX_SHOWN_BYTES;
            let cut = (cut..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
            self.text.drain(..cut.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_output_is_shown_without_colours_and_overwritten_text() {
        assert_eq!(strip_terminal_codes("\u{1b}[31mred\u{1b}[0m\r\n10%\r20%\nrest"), "red\n20%\nrest");
    }

    #[test]
    fn the_output_tail_is_cut_at_a_character_boundary() {
        let mut tail = OutputTail::default();
        tail.push("x");
        tail.push(&"é".repeat(MAX_SHOWN_BYTES));
        assert_eq!(tail.text, "é".repeat(MAX_SHOWN_BYTES / 2));
        tail.push("x");
        assert_eq!((tail.text.len(), tail.text.chars().last()), (MAX_SHOWN_BYTES - 1, Some('x')));
    }
}
