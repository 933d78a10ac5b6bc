//! A queue of call events as JSON lines, with backpressure on streamed output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use runtime::{BoxFuture, CallEvent, CallId, CallObserver, ToolNotice};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::event_json::{millis_json, usage_json};

/// Maximum number of queued lines before streaming waits.
const MAX_LINES: usize = 64;
/// Maximum bytes of queued output before streaming waits.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Creates the queue. Small events are always accepted: a call has a handful of them, and the number of open
/// calls is limited. Output is unlimited, so it waits for room.
pub(super) fn channel() -> (EventSender, EventReceiver) {
    let (sender, lines) = mpsc::unbounded_channel();
    let fill = Arc::new(QueueFill::default());
    (EventSender { lines: sender, fill: Arc::clone(&fill) }, EventReceiver { lines, fill })
}

/// The fill level of the queue.
#[derive(Default)]
struct QueueFill {
    lines: AtomicUsize,
    text_bytes: AtomicUsize,
    room_freed: Notify,
}

impl QueueFill {
    fn has_room(&self) -> bool {
        self.lines.load(Ordering::Acquire) < MAX_LINES
            && self.text_bytes.load(Ordering::Acquire) < MAX_TEXT_BYTES
    }
}

/// The sending end: observes calls and enqueues their events.
pub(super) struct EventSender {
    lines: mpsc::UnboundedSender<(Value, usize)>,
    fill: Arc<QueueFill>,
}

impl EventSender {
    /// Waits until there is room, or the receiver is gone.
    async fn wait_for_room(&self) {
        // ends: when the session writes, or is over
        loop {
            // Registered before the check, so that a notification right after it is not missed.
            let room_freed = self.fill.room_freed.notified();
            if self.fill.has_room() || self.lines.is_closed() {
                return;
            }
            room_freed.await;
        }
    }
}

/// Formats an event without its `type`. Returns `None` for events that only the journal needs.
pub fn event_line(call: &CallId, event: &CallEvent) -> Option<Value> {
    let mut line = match event {
        CallEvent::Queued { tool } => json!({ "event": "queued", "tool": tool }),
        CallEvent::Started => json!({ "event": "started" }),
        // The question and the end of the call contain this information.
        CallEvent::Judged { .. } | CallEvent::Attempted { .. } => return None,
        CallEvent::Asked { why } => json!({ "event": "asked", "why": why }),
        CallEvent::Decided { decision } => json!({ "event": "decided", "decision": decision }),
        CallEvent::Notice(notice) => notice_json(notice),
        CallEvent::Finished { success, error, elapsed, waited, usage: used, enforcement, .. } => {
            let error = error.map(runtime::ToolErrorKind::as_str);
            let (elapsed, waited) = (millis_json(*elapsed), millis_json(*waited));
            let mut line = json!({
                "event": "finished", "success": success, "error": error, "elapsed_ms": elapsed, "waited_ms": waited,
            });
            if let Some(used) = used {
                line["usage"] = usage_json(*used);
            }
            if let Some(enforcement) = enforcement {
                line["enforcement"] = json!(enforcement.as_str());
                line["gaps"] = json!(enforcement.gap_sentences());
            }
            line
        }
    };
    line["call_id"] = json!(call.as_str());
    Some(line)
}

impl CallObserver for EventSender {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        let Some(mut line) = event_line(call, event) else { return };
        line["type"] = json!("toolgate.event");
        let text = match event {
            CallEvent::Notice(ToolNotice::Output { text, .. }) => text.len(),
            _ => 0,
        };
        self.fill.lines.fetch_add(1, Ordering::AcqRel);
        self.fill.text_bytes.fetch_add(text, Ordering::AcqRel);
        let _nobody_listens = self.lines.send((line, text));
    }

    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        if self.fill.has_room() { None } else { Some(Box::pin(self.wait_for_room())) }
    }
}

fn notice_json(notice: &ToolNotice) -> Value {
    match notice {
        ToolNotice::PlanUpdated { steps, explanation } => {
            let steps: Vec<Value> = steps
                .iter()
                .map(|step| {
                    let status = step.status.as_str();
                    json!({ "id": step.id, "description": step.description, "status": status })
                })
                .collect();
            json!({ "event": "plan_updated", "steps": steps, "explanation": explanation })
        }
        ToolNotice::FileChanged { kind, path } => {
            json!({ "event": "file_changed", "kind": kind, "path": path })
        }
        ToolNotice::Progress { text, percent } => {
            json!({ "event": "progress", "text": text, "percent": percent })
        }
        ToolNotice::Warning { text } | ToolNotice::WeakerSandbox { text, .. } => {
            json!({ "event": "warning", "text": text })
        }
        ToolNotice::Output { stream, text } => {
            json!({ "event": "output", "stream": stream.as_str(), "text": text })
        }
    }
}

/// The receiving end.
pub(super) struct EventReceiver {
    lines: mpsc::UnboundedReceiver<(Value, usize)>,
    fill: Arc<QueueFill>,
}

impl EventReceiver {
    /// Waits for the next line. Returns `None` after the last. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let taken = self.lines.recv().await?;
        Some(self.mark_taken(taken))
    }

    /// Takes the lines that are queued now, in order. Lines that arrive meanwhile are left, since they may be
    /// endless.
    pub(super) fn take_ready(&mut self) -> impl Iterator<Item = Value> {
        (0..self.lines.len()).map_while(|_| self.lines.try_recv().ok().map(|taken| self.mark_taken(taken)))
    }

    fn mark_taken(&self, (line, text): (Value, usize)) -> Value {
        self.fill.lines.fetch_sub(1, Ordering::AcqRel);
        self.fill.text_bytes.fetch_sub(text, Ordering::AcqRel);
        if self.fill.has_room() {
            self.fill.room_freed.notify_waiters();
        }
        line
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.lines.close();
        self.fill.room_freed.notify_waiters();
    }
}
