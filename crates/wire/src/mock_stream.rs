//! Writes mock model responses, streamed or whole, for scripted models: in tests, in the demo, and behind a URL.

use std::borrow::Cow;

use serde_json::{Value, json};
use tool::{ToolCall, ToolPayload};

use crate::decode::responses::flat_name;
use crate::dialect::with_sorted_keys;
use crate::write::call_fields::{arguments_object, arguments_text};
use crate::{Dialect, TokenUsage};

/// Approximate bytes of a text delta.
const DELTA_BYTES: usize = 24;

/// One output of a mock model.
#[derive(Debug, Clone, PartialEq)]
pub enum MockOutput {
    /// Text for the user.
    Text(String),
    /// A call.
    Call(ToolCall),
    /// A call of a tool in a namespace, as Codex declares the tools of MCP servers.
    NamespacedCall {
        /// The namespace, such as `mcp__files`.
        namespace: String,
        /// The call; its name is the tool's name in the namespace.
        call: ToolCall,
    },
}

impl Dialect {
    /// Returns the stream events of a response with these outputs. The response id is derived from `id`.
    pub fn mock_stream(self, id: &str, outputs: &[MockOutput], usage: TokenUsage) -> Vec<Value> {
        let events = match self {
            Self::Responses => responses_events(id, outputs, usage),
            Self::Chat => chat_events(id, outputs, usage),
            Self::Anthropic => anthropic_events(id, outputs, usage),
        };
        events.into_iter().map(with_sorted_keys).collect()
    }
}

impl Dialect {
    /// Returns the response as a whole, for requests that do not stream.
    pub fn mock_response(self, id: &str, outputs: &[MockOutput], usage: TokenUsage) -> Value {
        let calls = outputs.iter().any(|line| line.as_call().is_some());
        let text: String = outputs.iter().filter_map(MockOutput::as_text).collect();
        let last = self.mock_stream(id, outputs, usage).pop().unwrap_or_default();
        with_sorted_keys(match self {
            Self::Responses => last["response"].clone(),
            Self::Chat => {
                let calls_made: Vec<Value> = outputs.iter().filter_map(MockOutput::as_call).map(|call| {
                    json!({"id": call.id.as_str(), "type": "function", "function": {"name": call.name, "arguments": arguments_text(&call)}})
                }).collect();
                let mut message = json!({"role": "assistant", "content": text});
                if calls {
                    message["tool_calls"] = json!(calls_made);
                }
                let why = if calls { "tool_calls" } else { "stop" };
                json!({"id": format!("chatcmpl_{id}"), "object": "chat.completion", "created": 0, "model": "script", "usage": last["usage"],
                    "choices": [{"index": 0, "message": message, "finish_reason": why}]})
            }
            Self::Anthropic => {
                let block = |line: &MockOutput| match line.as_call() {
                    None => json!({"type": "text", "text": line.as_text()}),
                    Some(call) => {
                        json!({"type": "tool_use", "id": call.id.as_str(), "name": call.name, "input": arguments_object(&call)})
                    }
                };
                let blocks: Vec<Value> = outputs.iter().map(block).collect();
                let usage = json!({"input_tokens": usage.input.saturating_sub(usage.cached), "cache_read_input_tokens": usage.cached, "output_tokens": usage.output});
                json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "script", "content": blocks,
                    "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null, "usage": usage})
            }
        })
    }
}

impl MockOutput {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Call(_) | Self::NamespacedCall { .. } => None,
        }
    }

    /// Returns the call with its name as APIs without namespaces write it.
    fn as_call(&self) -> Option<Cow<'_, ToolCall>> {
        match self {
            Self::Text(_) => None,
            Self::Call(call) => Some(Cow::Borrowed(call)),
            Self::NamespacedCall { namespace, call } => {
                Some(Cow::Owned(ToolCall { name: flat_name(namespace, &call.name), ..call.clone() }))
            }
        }
    }
}

/// Splits text into pieces at word boundaries.
fn split_at_words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > DELTA_BYTES {
        let from = rest.ceil_char_boundary(DELTA_BYTES);
        let Some(blank) = rest[from..].find(char::is_whitespace) else { break };
        let (piece, left) = rest.split_at(from + blank);
        pieces.push(piece);
        rest = left;
    }
    pieces.push(rest);
    pieces
}

fn responses_events(id: &str, outputs: &[MockOutput], usage: TokenUsage) -> Vec<Value> {
    let open =
        json!({"id": format!("resp_{id}"), "object": "response", "status": "in_progress", "output": []});
    let mut events = vec![json!({"type": "response.created", "response": open})];
    let mut output = Vec::new();
    for (at, line) in outputs.iter().enumerate() {
        let item = responses_item(&format!("{id}_{at}"), line);
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": item}));
        if let MockOutput::Text(text) = line {
            events.extend(split_at_words(text).into_iter().map(|piece| {
                json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": at, "content_index": 0, "delta": piece})
            }));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        output.push(item);
    }
    let usage = json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    });
    let done = json!({"id": format!("resp_{id}"), "object": "response", "status": "completed", "output": output, "usage": usage});
    events.push(json!({"type": "response.completed", "response": done}));
    events
}

fn responses_item(id: &str, line: &MockOutput) -> Value {
    let (call, namespace) = match line {
        MockOutput::Text(text) => {
            return json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]});
        }
        MockOutput::Call(call) => (call, None),
        MockOutput::NamespacedCall { namespace, call } => (call, Some(namespace)),
    };
    let (kind, field, text) = match &call.payload {
        ToolPayload::LocalShell(shell) => {
            return json!({"type": "local_shell_call", "id": format!("lsh_{id}"), "call_id": call.id.as_str(),
                "status": "completed", "action": shell.to_action_json()});
        }
        ToolPayload::Custom { input } => ("custom_tool_call", "input", input.as_str().into()),
        ToolPayload::Function { .. } | ToolPayload::Mcp { .. } => {
            ("function_call", "arguments", arguments_text(call))
        }
    };
    let mut item = json!({"type": kind, "id": format!("fc_{id}"), "call_id": call.id.as_str(), "name": call.name, "status": "completed"});
    item[field] = json!(text);
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn chat_events(id: &str, outputs: &[MockOutput], usage: TokenUsage) -> Vec<Value> {
    let chunk = |choices: Value| json!({"id": format!("chatcmpl_{id}"), "object": "chat.completion.chunk", "choices": choices});
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for line in outputs {
        match line.as_call() {
            None => {
                let text = line.as_text().unwrap_or_default();
                events
                    .extend(split_at_words(text).into_iter().map(|piece| delta(json!({ "content": piece }))));
            }
            Some(call) => {
                let function = json!({"name": call.name, "arguments": arguments_text(&call)});
                let call =
                    json!({"index": calls, "id": call.id.as_str(), "type": "function", "function": function});
                events.push(delta(json!({ "tool_calls": [call] })));
                calls += 1;
            }
        }
    }
    let why = if calls > 0 { "tool_calls" } else { "stop" };
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": why}])));
    let mut last = chunk(json!([]));
    last["usage"] = json!({
        "prompt_tokens": usage.input, "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output, "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    });
    events.push(last);
    events
}

fn anthropic_events(id: &str, outputs: &[MockOutput], usage: TokenUsage) -> Vec<Value> {
    let fresh = usage.input.saturating_sub(usage.cached);
    let start = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "content": [],
        "usage": {"input_tokens": fresh, "cache_read_input_tokens": usage.cached, "output_tokens": 1}});
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (at, line) in outputs.iter().enumerate() {
        let (block, deltas): (Value, Vec<Value>) = match line.as_call() {
            None => {
                let deltas = split_at_words(line.as_text().unwrap_or_default())
                    .into_iter()
                    .map(|piece| json!({"type": "text_delta", "text": piece}));
                (json!({"type": "text", "text": ""}), deltas.collect())
            }
            Some(call) => {
                let input =
                    json!({"type": "input_json_delta", "partial_json": arguments_object(&call).to_string()});
                let block =
                    json!({"type": "tool_use", "id": call.id.as_str(), "name": call.name, "input": {}});
                (block, vec![input])
            }
        };
        events.push(json!({"type": "content_block_start", "index": at, "content_block": block}));
        let deltas = deltas.into_iter();
        events
            .extend(deltas.map(|delta| json!({"type": "content_block_delta", "index": at, "delta": delta})));
        events.push(json!({"type": "content_block_stop", "index": at}));
    }
    let calls = outputs.iter().any(|line| line.as_call().is_some());
    let why = if calls { "tool_use" } else { "end_turn" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": usage.output}}));
    events.push(json!({"type": "message_stop"}));
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelStreamEvent, ParsedCall, ResponseEnd};

    #[test]
    fn mock_stream_decodes_to_its_outputs() {
        let patch = ToolPayload::Custom { input: "*** Begin Patch".to_owned() };
        let shell =
            tool::LocalShellCall { command: vec!["ls".to_owned()], ..tool::LocalShellCall::default() };
        let shell = ToolPayload::LocalShell(shell);
        let lines = [
            MockOutput::Text("Some words that are long enough to come in more than one piece.".to_owned()),
            MockOutput::Call(ToolCall::function("c1", "read_file", r#"{"path":"a"}"#)),
            MockOutput::Call(ToolCall { id: "c2".into(), name: "apply_patch".to_owned(), payload: patch }),
            MockOutput::Call(ToolCall { id: "c3".into(), name: "local_shell".to_owned(), payload: shell }),
            MockOutput::NamespacedCall {
                namespace: "mcp__files".to_owned(),
                call: ToolCall::function("c4", "read", "{}"),
            },
        ];
        let usage = TokenUsage { input: 9, cached: 4, output: 3, reasoning: 0 };
        for dialect in Dialect::ALL {
            let mut decoder = dialect.stream_decoder();
            let mut events: Vec<ModelStreamEvent> = dialect
                .mock_stream("1", &lines, usage)
                .iter()
                .flat_map(|event| decoder.push(event))
                .collect();
            events.extend(decoder.finish());
            assert!(events.contains(&ModelStreamEvent::Usage(usage)), "{dialect}");
            assert_eq!(events.last(), Some(&ModelStreamEvent::End(ResponseEnd::Done)), "{dialect}");
            let turn = decoder.into_turn();
            let MockOutput::Text(text) = &lines[0] else { unreachable!() };
            assert_eq!(turn.text(), *text, "{dialect}");
            let calls: Vec<(&str, &str)> =
                turn.calls().map(|call| (call.id.as_str(), call.name.as_str())).collect();
            assert_eq!(
                calls,
                [
                    ("c1", "read_file"),
                    ("c2", "apply_patch"),
                    ("c3", "local_shell"),
                    ("c4", "mcp__files__read")
                ],
                "{dialect}"
            );
            // The whole response gives equal results.
            let whole = dialect.mock_response("1", &lines, usage);
            let read: Vec<String> = dialect
                .call_reader()
                .push(&whole)
                .into_iter()
                .filter_map(
                    |reading| if let ParsedCall::Call(call) = reading { Some(call.name) } else { None },
                )
                .collect();
            assert_eq!(
                read,
                ["read_file", "apply_patch", "local_shell", "mcp__files__read"],
                "{dialect}: {whole}"
            );
            assert!(whole.to_string().contains(text), "{dialect}: {whole}");
        }
    }

    #[test]
    fn text_is_cut_where_words_end() {
        assert_eq!(split_at_words(""), [""]);
        let text = "éééééééééééééééééééééééééééééé ab  cdefghijklmnopqrstuvwxyzabc d";
        assert_eq!(split_at_words(text).concat(), text);
        assert_eq!(split_at_words(text).len(), 3);
    }
}
