//! What happens to calls, as JSON lines.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate::{CallId, Event, Notice, Observer};

/// Writes down what happens to calls.
pub(super) struct Events(mpsc::UnboundedSender<Value>);

impl Events {
    pub(super) fn new(lines: mpsc::UnboundedSender<Value>) -> Self {
        Self(lines)
    }
}

impl Observer for Events {
    fn saw(&self, call: &CallId, event: &Event) {
        let mut line = match event {
            Event::Queued { tool } => json!({ "event": "queued", "tool": tool }),
            Event::Started => json!({ "event": "started" }),
            Event::Notice(Notice::PlanUpdated { steps, explanation }) => {
                let steps: Vec<Value> = steps
                    .iter()
                    .map(|step| {
                        let status = step.status.as_str();
                        json!({ "id": step.id, "description": step.description, "status": status })
                    })
                    .collect();
                json!({ "event": "plan_updated", "steps": steps, "explanation": explanation })
            }
            Event::Finished { success, error, elapsed } => {
                let error = error.map(toolgate::ErrorKind::as_str);
                let elapsed = elapsed.as_secs_f64() * 1000.0;
                json!({ "event": "finished", "success": success, "error": error, "elapsed_ms": elapsed })
            }
        };
        line["type"] = json!("toolgate.event");
        line["call_id"] = json!(call.as_str());
        let _nobody_listens = self.0.send(line);
    }
}
