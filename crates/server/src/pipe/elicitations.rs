//! Elicitations of MCP servers as JSON lines, and the lines that answer them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use runtime::BoxFuture;
use runtime::mcp::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Creates the elicitor, and the receiver of its questions.
pub(super) fn channel() -> (PipeElicit, mpsc::UnboundedReceiver<PipedElicitation>) {
    let (questions, wanted) = mpsc::unbounded_channel();
    (PipeElicit { questions, count: AtomicUsize::new(0) }, wanted)
}

/// Sends elicitations to the session.
pub(super) struct PipeElicit {
    questions: mpsc::UnboundedSender<PipedElicitation>,
    count: AtomicUsize,
}

/// An elicitation on its way to the session.
pub(super) struct PipedElicitation {
    id: String,
    line: Value,
    answer: oneshot::Sender<ElicitationAnswer>,
}

impl Elicitor for PipeElicit {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer> {
        let (answer, answered) = oneshot::channel();
        let id = format!("elicitation_{}", self.count.fetch_add(1, Ordering::Relaxed) + 1);
        let (schema, url) = match &elicitation.kind {
            ElicitationKind::Form(schema) => (Some(schema), None),
            ElicitationKind::Visit(url) => (None, Some(url)),
        };
        let line = json!({
            "type": "toolgate.elicitation",
            "id": id,
            "server": elicitation.server,
            "message": elicitation.message,
            "schema": schema,
            "url": url,
        });
        let _over = self.questions.send(PipedElicitation { id, line, answer });
        Box::pin(async move { answered.await.unwrap_or(ElicitationAnswer::Cancelled) })
    }
}

/// The elicitations that were written and not yet answered.
#[derive(Default)]
pub(super) struct UnansweredElicitations(HashMap<String, oneshot::Sender<ElicitationAnswer>>);

impl UnansweredElicitations {
    /// Stores an elicitation and returns its line.
    pub(super) fn insert(&mut self, elicitation: PipedElicitation) -> Value {
        self.0.retain(|_, answer| !answer.is_closed());
        self.0.insert(elicitation.id, elicitation.answer);
        elicitation.line
    }

    /// Cancels all elicitations.
    pub(super) fn cancel_all(&mut self) {
        self.0.clear();
    }

    /// Answers one elicitation as a line says. An invalid line is an error and changes nothing.
    pub(super) fn answer(&mut self, line: &Value) -> Result<(), String> {
        let id = line["id"].as_str().unwrap_or_default();
        if self.0.get(id).is_none_or(oneshot::Sender::is_closed) {
            return Err("there is no elicitation of that id; nothing was answered".to_owned());
        }
        let content = match &line["content"] {
            Value::Null => None,
            object @ Value::Object(_) => Some(object.clone()),
            _ => {
                return Err(
                    "the content of a toolgate.elicited must be an object; nothing was answered".to_owned()
                );
            }
        };
        let elicited = match line["action"].as_str().unwrap_or_default() {
            "accept" => ElicitationAnswer::Accepted(content),
            "decline" => ElicitationAnswer::Declined,
            "cancel" => ElicitationAnswer::Cancelled,
            other => {
                return Err(format!(
                    "`{other}` is not an action; there are accept, decline and cancel; nothing was answered"
                ));
            }
        };
        if let Some(answer) = self.0.remove(id) {
            let _given_up = answer.send(elicited);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_answers_as_it_says() {
        let rows = [
            (
                json!({"action": "accept", "content": {"a": 1}}),
                ElicitationAnswer::Accepted(Some(json!({"a": 1}))),
            ),
            (json!({"action": "accept"}), ElicitationAnswer::Accepted(None)),
            (json!({"action": "decline"}), ElicitationAnswer::Declined),
            (json!({"action": "cancel"}), ElicitationAnswer::Cancelled),
            (json!({"action": "yes"}), ElicitationAnswer::Cancelled),
            (json!({"action": "accept", "content": 1}), ElicitationAnswer::Cancelled),
        ];
        for (mut line, expected) in rows {
            let (elicit, mut questions) = channel();
            let kind = ElicitationKind::Form(json!({"type": "object"}));
            let elicitation = Elicitation { server: "s".to_owned(), message: "m".to_owned(), kind };
            let asking = elicit.elicit(&elicitation);
            let mut open = UnansweredElicitations::default();
            line["id"] = open.insert(questions.recv().await.unwrap())["id"].clone();
            let heard = open.answer(&line);
            open.cancel_all();
            assert_eq!(asking.await, expected, "{line}: {heard:?}");
        }
    }
}
