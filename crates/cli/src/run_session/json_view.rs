//! Writes the events of a run as JSON lines. docs/run.md documents them all.

use std::time::{Duration, Instant};

use agent::{SessionEvent, SessionObserver, TurnEnd};
use parking_lot::Mutex;
use runtime::{
    CallEvent, CallId, CallObserver, CancelCause, OutputItem, ToolCall, ToolNotice, ToolOutput, ToolPayload,
};
use serde_json::{Value, json};

use super::refusal_counter::RefusalCounter;
use super::repl::ALL_REFUSED_STATUS;
use super::{SessionStart, SessionView};
use server::event_json::{denial_json, event_line, millis_json};

/// Writes JSON lines to standard output.
#[derive(Default)]
pub(super) struct JsonLines {
    /// The cause of the end, if a signal ends the run.
    cancel_cause: Mutex<CancelCause>,
    /// The cause of the end, if the model is done without its calls.
    refusals: RefusalCounter,
    progress_reports: Mutex<ProgressReports>,
}

/// The time between two reports of a call that runs.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The calls that run, with the times of their start and of their last report.
#[derive(Default)]
struct ProgressReports(Vec<(CallId, Instant, Instant)>);

impl ProgressReports {
    fn start(&mut self, call: &CallId, now: Instant) {
        self.0.push((call.clone(), now, now));
    }

    fn end(&mut self, call: &CallId) {
        self.0.retain(|(running, ..)| running != call);
    }

    /// Returns the calls whose report is due, with the time that they have run.
    fn take_due(&mut self, now: Instant) -> Vec<(CallId, Duration)> {
        let due = self.0.iter_mut().filter(|(.., reported)| now.duration_since(*reported) >= REPORT_INTERVAL);
        due.map(|(call, began, reported)| {
            *reported = now;
            (call.clone(), now.duration_since(*began))
        })
        .collect()
    }
}

impl JsonLines {
    fn print_line(mut value: Value) {
        value["at"] = json!(journal::current_timestamp());
        // Lost output does not stop the work or its journal.
        terminal::note_output_error(terminal::print_text(&value.to_string()));
    }
}

impl SessionView for JsonLines {
    fn on_session_start(&self, start: &SessionStart<'_>) {
        Self::print_line(json!({
            "type": "session", "id": start.id, "journal": start.journal, "model": start.model,
            "resumed": start.resumed,
        }));
    }

    fn on_cancel(&self, cause: CancelCause) {
        *self.cancel_cause.lock() = cause;
    }

    fn tick(&self) {
        for (call, elapsed) in self.progress_reports.lock().take_due(Instant::now()) {
            let text = format!("still running after {} s", elapsed.as_secs());
            Self::print_line(json!({
                "type": "event", "event": "progress", "call_id": call.as_str(), "text": text, "percent": null,
            }));
        }
    }

    fn on_turn_end(&self, ended: &Result<TurnEnd, String>) {
        Self::print_line(match ended {
            Ok(TurnEnd::Interrupted) => {
                let cause = self.cancel_cause.lock().to_string();
                json!({"type": "end", "why": TurnEnd::Interrupted.as_str(), "detail": cause})
            }
            Ok(TurnEnd::Done) if let Some(reason) = self.refusals.reason() => {
                json!({"type": "end", "why": TurnEnd::Done.as_str(), "detail": reason, "status": ALL_REFUSED_STATUS})
            }
            Ok(ended) => match ended.detail() {
                Some(detail) => json!({"type": "end", "why": ended.as_str(), "detail": detail}),
                None => json!({"type": "end", "why": ended.as_str()}),
            },
            Err(fault) => json!({"type": "end", "why": "failed", "detail": fault}),
        });
    }
}

impl SessionObserver for JsonLines {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        Self::print_line(match seen {
            SessionEvent::RequestSent { round, bytes } => {
                json!({"type": "request", "number": round, "bytes": bytes})
            }
            SessionEvent::Text(text) => json!({"type": "text", "text": text}),
            SessionEvent::Thought(text) => json!({"type": "thought", "text": text}),
            SessionEvent::Called(call) => call_json(call),
            SessionEvent::ProviderToolRan { kind, item } => {
                json!({"type": "hosted", "kind": kind, "item": item})
            }
            SessionEvent::Answered(call, output) => answer_json(call, output),
            SessionEvent::Responded { usage, took } => json!({
                "type": "usage", "input_tokens": usage.input, "cached_tokens": usage.cached,
                "output_tokens": usage.output, "elapsed_ms": millis_json(took),
            }),
            SessionEvent::Retried { why, pause } => {
                json!({"type": "retry", "why": why, "pause_ms": millis_json(pause)})
            }
            SessionEvent::Compacted { bytes } => json!({"type": "compacted", "bytes": bytes}),
            SessionEvent::FilesChanged(diff) => json!({"type": "diff", "unified_diff": diff}),
            SessionEvent::Notice(text) => json!({"type": "notice", "text": text}),
        });
    }
}

fn call_json(call: &ToolCall) -> Value {
    let mut line = json!({"type": "call", "call_id": call.id.as_str(), "tool": call.name});
    match &call.payload {
        ToolPayload::Custom { input } => line["input"] = json!(input),
        payload => line["arguments"] = json!(payload.arguments()),
    }
    line
}

fn answer_json(call: &ToolCall, output: &ToolOutput) -> Value {
    let pictures = output.items.iter().filter(|item| matches!(item, OutputItem::Image(_))).count();
    let mut line = json!({
        "type": "answer", "call_id": call.id.as_str(), "tool": call.name, "success": output.success,
        "error": output.facts.error.map(runtime::ToolErrorKind::as_str),
        "elapsed_ms": output.facts.duration.map(millis_json), "text": output.joined_text(), "pictures": pictures,
    });
    if let Some(enforcement) = &output.facts.enforcement {
        line["enforcement"] = json!(enforcement.as_str());
        line["gaps"] = json!(enforcement.gap_sentences());
    }
    if !output.facts.denials.is_empty() {
        line["denials"] = output.facts.denials.iter().map(denial_json).collect();
    }
    line
}

impl CallObserver for JsonLines {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        self.refusals.on_event(call, event);
        match event {
            CallEvent::Started => self.progress_reports.lock().start(call, Instant::now()),
            CallEvent::Finished { .. } => self.progress_reports.lock().end(call),
            _ => {}
        }
        // Queued calls and output are left out: calls and answers have lines of their own.
        let is_reported =
            !matches!(event, CallEvent::Queued { .. } | CallEvent::Notice(ToolNotice::Output { .. }));
        if let Some(mut line) = event_line(call, event).filter(|_| is_reported) {
            line["type"] = json!("event");
            Self::print_line(line);
        }
    }

    fn wants_output(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_call_is_reported_every_ten_seconds() {
        let (mut calls, begin) = (ProgressReports::default(), Instant::now());
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let call = CallId::from("c1");
        calls.start(&call, begin);
        let mut reported = Vec::new();
        for second in 0..35 {
            reported.extend(calls.take_due(at(second)).into_iter().map(|(_, elapsed)| elapsed.as_secs()));
        }
        assert_eq!(reported, [10, 20, 30]);
        calls.end(&call);
        assert!(calls.take_due(at(60)).is_empty());
    }
}
