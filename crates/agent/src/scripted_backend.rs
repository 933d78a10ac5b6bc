//! A scripted model for tests and demos: everything except the model is real.
//!
//! A script has one turn a line, as JSON: `{"items": [{"type": "message", "text": "hi"}, {"type": "function_call",
//! "name": "exec_command", "arguments": {"cmd": "true"}}, {"type": "custom_tool_call", "name": "apply_patch",
//! "input": "…"}, {"type": "local_shell_call", "action": {"command": ["ls"]}}]}`. A function call can have a
//! `namespace`, such as `mcp__toolgate` in Codex. A turn can wait first (`delay_ms`),
//! break off (`break_after`) or end silently (`end_after`) after a number of events, or be a refusal (`{"status":
//! 429, "retry_after": "1"}`). A turn with `when` answers only requests that contain these words, so several
//! conversations can share a script.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{BoxFuture, LocalShellCall, ToolCall, ToolPayload};
use wire::{Dialect, MockOutput, ModelError, TokenUsage};

use crate::response_body::broken_stream;
use crate::{ModelBackend, ModelEventStream};

/// The tool of a `local_shell_call`.
const LOCAL_SHELL: &str = "local_shell";

/// The message after the last turn of a script.
const FINAL_MESSAGE: &str = "done";

/// One response of a script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedTurn {
    items: Vec<ScriptedItem>,
    /// Only a request that contains these words gets this turn.
    when: Option<String>,
    /// Delay before the first event.
    delay_ms: u64,
    /// Delay before each event.
    pace_ms: u64,
    /// The stream breaks off after this number of events.
    break_after: Option<usize>,
    /// The stream ends after this number of events, as if it were complete.
    end_after: Option<usize>,
    /// The request is refused with this status instead.
    status: Option<u16>,
    /// The `Retry-After` header of a refusal.
    retry_after: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum ScriptedItem {
    Message { text: String },
    FunctionCall { name: String, namespace: Option<String>, arguments: Value },
    CustomToolCall { name: String, input: String },
    LocalShellCall { action: Map<String, Value> },
}

/// A line of a script that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script cannot be read: {why}")]
pub struct ScriptFault {
    line: usize,
    why: String,
}

impl ScriptedTurn {
    /// Parses a script with one turn a line. Skips empty lines and lines that begin with `//`.
    ///
    /// # Errors
    /// The first line that cannot be parsed.
    pub fn parse_script(text: &str) -> Result<Vec<Self>, ScriptFault> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
        let turn = |(line, text): (usize, &str)| {
            serde_json::from_str(text).map_err(|why| ScriptFault { line, why: why.to_string() })
        };
        lines.map(turn).collect()
    }

    /// Returns the turn that follows the last one.
    fn final_turn() -> Self {
        Self { items: vec![ScriptedItem::Message { text: FINAL_MESSAGE.to_owned() }], ..Self::default() }
    }

    /// Returns its lines; `number` is the number of the turn and part of the call ids.
    fn mock_outputs(&self, number: usize) -> Vec<MockOutput> {
        let tool_call = |at: usize, name: &str, payload: ToolPayload| ToolCall {
            id: format!("call_{number:04}_{at:02}").into(),
            name: name.to_owned(),
            payload,
        };
        let call = |at: usize, name: &str, payload| MockOutput::Call(tool_call(at, name, payload));
        let line = |(at, said): (usize, &ScriptedItem)| match said {
            ScriptedItem::Message { text } => MockOutput::Text(text.clone()),
            ScriptedItem::FunctionCall { name, namespace, arguments } => {
                let arguments = match arguments {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let call = tool_call(at, name, ToolPayload::Function { arguments });
                match namespace.clone() {
                    Some(namespace) => MockOutput::NamespacedCall { namespace, call },
                    None => MockOutput::Call(call),
                }
            }
            ScriptedItem::CustomToolCall { name, input } => {
                call(at, name, ToolPayload::Custom { input: input.clone() })
            }
            ScriptedItem::LocalShellCall { action } => {
                let mut more = action.clone();
                // The function form of this item has no such argument.
                more.remove("type");
                let shell = LocalShellCall { other_fields: more, ..LocalShellCall::default() };
                call(at, LOCAL_SHELL, ToolPayload::LocalShell(shell))
            }
        };
        self.items.iter().enumerate().map(line).collect()
    }
}

/// Plays a script as a model.
#[derive(Debug)]
pub struct ScriptedBackend {
    dialect: Dialect,
    turns: Vec<ScriptedTurn>,
    /// The turns that were played.
    played: Mutex<Vec<bool>>,
}

/// One response of the script.
pub(crate) enum ScriptedResponse {
    Refused { status: u16, retry_after: Option<String>, body: String },
    Streamed { delay: Duration, pace: Duration, events: Vec<Value>, breaks: bool, whole: Option<Value> },
}

impl ScriptedBackend {
    /// Creates a model that plays `turns` in `dialect`.
    pub fn new(dialect: Dialect, turns: Vec<ScriptedTurn>) -> Self {
        let played = Mutex::new(vec![false; turns.len()]);
        Self { dialect, turns, played }
    }

    /// Returns the number of the turn that answers `body`: the next one whose `when` matches, otherwise the next one
    /// without `when`.
    fn next_turn(&self, body: &str) -> usize {
        let mut played = self.played.lock();
        let open = |(at, _): &(usize, &ScriptedTurn)| !played[*at];
        let is_for =
            |turn: &ScriptedTurn| turn.when.as_ref().is_some_and(|words| body.contains(words.as_str()));
        let mut turns = self.turns.iter().enumerate().filter(open);
        let next = turns
            .clone()
            .find(|(_, turn)| is_for(turn))
            .or_else(|| turns.find(|(_, turn)| turn.when.is_none()));
        let next = next.map(|(at, _)| at);
        if let Some(at) = next {
            played[at] = true;
        }
        next.unwrap_or(self.turns.len())
    }

    /// Returns the response to a request. A request without tools asks for a summary or a title, and consumes no
    /// turn.
    pub(crate) fn respond_to(&self, dialect: Dialect, body: &str) -> ScriptedResponse {
        let request: Value = serde_json::from_str(body).unwrap_or_default();
        let offers_tools = offers_tools(&request);
        let number = if offers_tools { self.next_turn(body) } else { usize::MAX };
        let turn = self.turns.get(number).cloned().unwrap_or_else(ScriptedTurn::final_turn);
        if let Some(status) = turn.status {
            let body = serde_json::json!({"error": {"message": "the script says so", "type": "scripted"}});
            return ScriptedResponse::Refused {
                status,
                retry_after: turn.retry_after,
                body: body.to_string(),
            };
        }
        let length = u64::try_from(body.len()).unwrap_or(u64::MAX) / 4;
        let usage = TokenUsage { input: length, cached: 0, output: 10, reasoning: 0 };
        let id = format!("{:04}", number.min(9999));
        let lines = turn.mock_outputs(number);
        let whole = (request["stream"] != true).then(|| dialect.mock_response(&id, &lines, usage));
        let mut events = dialect.mock_stream(&id, &lines, usage);
        let breaks = turn.break_after.is_some_and(|after| after < events.len());
        if let Some(after) = turn.break_after.or(turn.end_after) {
            events.truncate(after);
        }
        let [delay, pace] = [turn.delay_ms, turn.pace_ms].map(Duration::from_millis);
        ScriptedResponse::Streamed { delay, pace, events, breaks, whole }
    }
}

/// Returns true if the request offers tools: on top, or in an `additional_tools` item of its input, as Codex sends
/// them to its newer models.
fn offers_tools(request: &Value) -> bool {
    let has_tools = |holder: &Value| holder["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let mut input = request["input"].as_array().into_iter().flatten();
    has_tools(request) || input.any(|item| item["type"] == "additional_tools" && has_tools(item))
}

impl ModelBackend for ScriptedBackend {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn respond(&self, body: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>> {
        Box::pin(async move {
            match self.respond_to(self.dialect, &body) {
                ScriptedResponse::Refused { status, retry_after, body } => {
                    Err(self.dialect.http_error(status, retry_after.as_deref(), &body))
                }
                ScriptedResponse::Streamed { delay, pace, events, breaks, whole: _ } => {
                    sleep_unless_zero(delay).await;
                    let end = breaks.then(|| Err(broken_stream("the script says so")));
                    let events = iter(events.into_iter().map(Ok).chain(end));
                    Ok(events
                        .then(move |event| async move {
                            sleep_unless_zero(pace).await;
                            event
                        })
                        .boxed())
                }
            }
        })
    }
}

/// Sleeps, unless the time is zero: even a zero sleep costs a timer tick.
pub(crate) async fn sleep_unless_zero(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_that_offers_tools_takes_a_turn() {
        let script = "{\"items\": [{\"type\": \"message\", \"text\": \"scripted\"}]}\n";
        let tool = json!({ "type": "function", "name": "f" });
        for (request, takes_turn) in [
            (json!({ "tools": [tool] }), true),
            (
                json!({ "input": [{ "type": "additional_tools", "role": "developer", "tools": [tool] }] }),
                true,
            ),
            (json!({ "input": [{ "type": "additional_tools", "tools": [] }] }), false),
            (json!({ "input": [{ "type": "message", "tools": [tool] }] }), false),
            (json!({ "tools": [], "input": "a title" }), false),
        ] {
            let model = ScriptedBackend::new(Dialect::Responses, ScriptedTurn::parse_script(script).unwrap());
            let ScriptedResponse::Streamed { whole, .. } =
                model.respond_to(Dialect::Responses, &request.to_string())
            else {
                panic!("refused")
            };
            assert_eq!(whole.unwrap().to_string().contains("scripted"), takes_turn, "{request}");
        }
    }

    #[test]
    fn a_script_is_read_a_turn_a_line() {
        let text =
            "// a comment\n\n{\"items\": [{\"type\": \"message\", \"text\": \"a\"}]}\n{\"status\": 500}\n";
        assert_eq!(ScriptedTurn::parse_script(text).unwrap().len(), 2);
        let fault = ScriptedTurn::parse_script("{}\n{\"item\": []}").unwrap_err();
        insta::assert_snapshot!(fault, @"line 2 of the script cannot be read: unknown field `item`, expected one of `items`, `when`, `delay_ms`, `pace_ms`, `break_after`, `end_after`, `status`, `retry_after` at line 1 column 7");
    }

    #[test]
    fn a_turn_may_be_for_one_conversation() {
        let turn = |text: &str, when: &str| {
            format!(r#"{{"items": [{{"type": "message", "text": "{text}"}}]{when}}}"#)
        };
        let text =
            [turn("any", ""), turn("first", r#", "when": "alpha""#), turn("second", r#", "when": "alpha""#)]
                .join("\n");
        let script = ScriptedBackend::new(Dialect::Chat, ScriptedTurn::parse_script(&text).unwrap());
        let said = |words: &str| match script
            .respond_to(Dialect::Chat, &format!(r#"{{"tools": [1], "messages": "{words}"}}"#))
        {
            ScriptedResponse::Streamed { events, .. } => {
                let events = format!("{events:?}");
                ["any", "first", "second", "done"].into_iter().find(|text| events.contains(text)).unwrap()
            }
            ScriptedResponse::Refused { .. } => panic!("it is refused"),
        };
        assert_eq!(
            ["alpha", "beta", "beta", "alpha", "alpha"].map(said),
            ["first", "any", "done", "second", "done"]
        );
    }

    #[test]
    fn a_request_without_tools_consumes_no_turn() {
        let turns = ScriptedTurn::parse_script(
            r#"{"items": [{"type": "function_call", "name": "t", "arguments": {}}]}"#,
        )
        .unwrap();
        let script = ScriptedBackend::new(Dialect::Chat, turns);
        let said = |body: &str| match script.respond_to(Dialect::Chat, body) {
            ScriptedResponse::Streamed { events, .. } => format!("{events:?}").contains("tool_calls"),
            ScriptedResponse::Refused { .. } => panic!("it is refused"),
        };
        assert!(!said("{}"));
        assert!(said(r#"{"tools": [1]}"#));
        assert!(!said(r#"{"tools": [1]}"#));
    }
}
