//! Events of calls as JSON, with their times and resource usage.

use std::time::Duration;

use runtime::{CallEvent, CallId, Denial, ProcessUsage, ToolNotice};
use serde_json::{Value, json};
use session::hints::Remedy;

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
        ToolNotice::AccessRefused { denial } => {
            let mut line = denial_json(denial);
            line["event"] = json!("refused");
            line
        }
        ToolNotice::Output { stream, text } => {
            json!({ "event": "output", "stream": stream.as_str(), "text": text })
        }
    }
}

/// Returns a refusal with the flag that would allow it, if there is one.
pub fn denial_json(denial: &Denial) -> Value {
    let mut refusal = json!({"kind": denial.kind(), "message": denial.to_string()});
    if let Some(Remedy::Allow { flag, .. }) = session::hints::remedy(denial) {
        refusal["flag"] = json!(flag);
    }
    refusal
}

/// Returns the resources that a process used.
pub fn usage_json(usage: ProcessUsage) -> Value {
    json!({
        "wall_ms": millis_json(usage.wall),
        "user_ms": millis_json(usage.user),
        "system_ms": millis_json(usage.system),
        "peak_memory_bytes": usage.peak_memory,
        "stdout_bytes": usage.stdout,
        "stderr_bytes": usage.stderr,
    })
}

/// Returns a time in milliseconds, to the microsecond.
pub fn millis_json(time: Duration) -> Value {
    json!((time.as_secs_f64() * 1e6).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_no_noise() {
        for (nanos, expected) in [(2_248_352, "2.248"), (90_354, "0.09"), (901, "0.001"), (0, "0.0")] {
            assert_eq!(millis_json(Duration::from_nanos(nanos)).to_string(), expected);
        }
        assert_eq!(millis_json(Duration::from_secs(3600)).to_string(), "3600000.0");
    }
}
