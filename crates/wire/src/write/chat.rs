//! Writes tools, messages and tool answers for the Chat Completions API.
//!
//! A tool message carries text only. Some servers accept `image_url` parts in it, but OpenAI's own API and its client
//! types do not. Images therefore go into a user message after it, and the tool message says so.

use serde_json::{Value, json};
use tool::{OutputImage, StrictMode, ToolCall, ToolOutput, ToolSpec};

use super::{FunctionDeclaration, call_fields, data_url, message_text, output_images, output_text};
use crate::assistant_turn::{TurnContent, TurnPiece};
use crate::{ApiCompat, AssistantTurn, Dialect};

/// Field names of a message's reasoning; a server uses one of them.
pub(crate) const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Reasoning in parts, which OpenRouter requires back unchanged.
pub(crate) const REASONING_DETAILS_FIELD: &str = "reasoning_details";

/// Extra fields of a call that a server requires back.
pub(crate) const EXTRA_CONTENT_FIELD: &str = "extra_content";

/// Writes a tool declaration; `None` for tools that cannot be functions.
pub(crate) fn tool_declaration(spec: &ToolSpec, compat: &ApiCompat) -> Option<Value> {
    let FunctionDeclaration { name, description, parameters } = FunctionDeclaration::from_spec(spec, compat)?;
    let mut function = json!({ "name": name, "description": description, "parameters": parameters });
    // Written only if true: many servers that imitate this API do not know the field.
    if let ToolSpec::Function(spec) = spec
        && spec.strict == StrictMode::Yes
    {
        function["strict"] = json!(true);
    }
    Some(json!({ "type": "function", "function": function }))
}

/// Writes a user message.
pub(crate) fn user_message(text: &str, pictures: &[OutputImage]) -> Value {
    let words = message_text(text, pictures);
    if pictures.is_empty() {
        return json!({ "role": "user", "content": words });
    }
    let words = words.map(|text| json!({ "type": "text", "text": text }));
    let content: Vec<Value> = words.into_iter().chain(pictures.iter().map(image_part)).collect();
    json!({ "role": "user", "content": content })
}

/// Writes one message with all text and all calls.
pub(crate) fn assistant_message(turn: &AssistantTurn) -> Option<Value> {
    let own = turn.dialect() == Dialect::Chat;
    let calls: Vec<Value> = turn.pieces().iter().filter_map(|piece| tool_call(piece, own)).collect();
    let text = turn.text();
    let mut message = match (text.is_empty(), calls.is_empty()) {
        (true, true) => return None,
        (false, true) => return Some(json!({ "role": "assistant", "content": text })),
        // OpenAI accepts an absent content; some self-hosted servers reject it.
        (true, false) => json!({ "role": "assistant", "content": "" }),
        (false, false) => json!({ "role": "assistant", "content": text }),
    };
    message["tool_calls"] = Value::Array(calls);
    // Reasoning is sent back only with the calls that it led to. DeepSeek and others require it there, and some servers
    // reject it elsewhere.
    let items = turn.pieces().iter().filter(|piece| own && piece.content == TurnContent::Item);
    for item in items.filter_map(|piece| piece.raw.as_ref()) {
        copy_fields(item, &REASONING_FIELDS, &mut message);
        copy_fields(item, &[REASONING_DETAILS_FIELD], &mut message);
    }
    Some(message)
}

/// Writes a call, with the extra fields that its own server requires back, e.g. Gemini's thought signature.
fn tool_call(piece: &TurnPiece, own: bool) -> Option<Value> {
    let (TurnContent::Call(call) | TurnContent::Unread(call, _)) = &piece.content else { return None };
    let function = json!({ "name": call_fields::valid_name(&call.name), "arguments": call_fields::arguments_text(call) });
    let mut written = json!({ "id": call.id.as_str(), "type": "function", "function": function });
    if let Some(raw) = piece.raw.as_ref().filter(|_| own) {
        copy_fields(raw, &[EXTRA_CONTENT_FIELD], &mut written);
    }
    Some(written)
}

fn copy_fields(from: &Value, fields: &[&str], to: &mut Value) {
    for field in fields {
        if let Some(value) = from.get(field) {
            to[field] = value.clone();
        }
    }
}

/// Writes the tool message of a call, and a user message with its images.
pub(crate) fn tool_messages(call: &ToolCall, output: &ToolOutput) -> Vec<Value> {
    let id = call.id.as_str();
    let message = |text: String| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let images: Vec<Value> = output_images(output).map(image_part).collect();
    if images.is_empty() {
        return vec![message(output_text(output))];
    }
    let text =
        format!("{}\n(pictures in a user message below: {})", output.joined_text().trim_end(), images.len());
    let mut parts = vec![json!({ "type": "text", "text": format!("Pictures from the tool call {id}:") })];
    parts.extend(images);
    vec![message(text.trim_start().to_owned()), json!({ "role": "user", "content": parts })]
}

fn image_part(image: &OutputImage) -> Value {
    json!({ "type": "image_url", "image_url": { "url": data_url(image) } })
}
