//! Writes tools, messages, call outputs and assistant turns for the Responses API.
//!
//! A `local_shell_call` is answered by a `function_call_output`. The API also has `local_shell_call_output`, which
//! carries text only. The API's own documents disagree on whether that item is paired by `id` or by `call_id`. Codex
//! always answered with `function_call_output`, which every client's types accept.
//!
//! Items of this API are sent back unchanged, with one exception. A reasoning item without `encrypted_content` is lost on the
//! server and is left out. The items of that turn then lose their ids too, or the API would miss the reasoning item
//! that belongs to them. The API also rejects a reasoning item that no other item follows.

use serde_json::{Value, json};
use tool::{OutputImage, OutputItem, StrictMode, ToolCall, ToolOutput, ToolPayload, ToolSpec};

use super::{
    FunctionDeclaration, call_fields, data_url, message_text, non_blank_items, output_images, output_text,
};
use crate::assistant_turn::{TurnContent, TurnPiece};
use crate::{ApiCompat, AssistantTurn, Dialect, FreeformDeclaration};

/// Writes a tool declaration.
pub(crate) fn tool_declaration(spec: &ToolSpec, compat: &ApiCompat) -> Value {
    match spec {
        ToolSpec::Function(spec) => {
            function_tool(FunctionDeclaration::from_function(spec, compat), spec.strict)
        }
        ToolSpec::LocalShell => json!({ "type": "local_shell" }),
        ToolSpec::WebSearch { external_web_access: None } => json!({ "type": "web_search" }),
        ToolSpec::WebSearch { external_web_access: Some(access) } => {
            json!({ "type": "web_search", "external_web_access": access })
        }
        ToolSpec::Freeform(spec) => match compat.freeform {
            FreeformDeclaration::Function => {
                function_tool(FunctionDeclaration::from_freeform(spec), StrictMode::No)
            }
            FreeformDeclaration::Custom => {
                let (syntax, definition) = (spec.grammar.syntax, spec.grammar.definition);
                let format = json!({ "type": "grammar", "syntax": syntax, "definition": definition });
                json!({ "type": "custom", "name": spec.name, "description": spec.description, "format": format })
            }
        },
    }
}

fn function_tool(declared: FunctionDeclaration, strict: StrictMode) -> Value {
    let FunctionDeclaration { name, description, parameters } = declared;
    let strict = strict == StrictMode::Yes;
    json!({ "type": "function", "name": name, "description": description, "strict": strict, "parameters": parameters })
}

/// Writes a user message.
pub(crate) fn user_message(text: &str, pictures: &[OutputImage]) -> Value {
    let words = message_text(text, pictures).map(input_text);
    let content: Vec<Value> = words.into_iter().chain(pictures.iter().map(input_image)).collect();
    json!({ "type": "message", "role": "user", "content": content })
}

/// Writes the output item of a call.
pub(crate) fn call_output(call: &ToolCall, output: &ToolOutput) -> Value {
    let kind = match call.payload {
        ToolPayload::Custom { .. } => "custom_tool_call_output",
        ToolPayload::Function { .. } | ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => {
            "function_call_output"
        }
    };
    let content = if output_images(output).next().is_some() {
        non_blank_items(output).map(output_part).collect()
    } else {
        json!(output_text(output))
    };
    json!({ "type": kind, "call_id": call.id.as_str(), "output": content })
}

fn output_part(item: &OutputItem) -> Value {
    match item {
        OutputItem::Text(text) => input_text(text),
        OutputItem::Image(image) => input_image(image),
    }
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn input_image(image: &OutputImage) -> Value {
    json!({ "type": "input_image", "image_url": data_url(image), "detail": "auto" })
}

/// States whether items keep the ids that the API gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemIds {
    Keep,
    Drop,
}

/// Writes an assistant turn as items.
pub(crate) fn assistant_items(turn: &AssistantTurn) -> Vec<Value> {
    if turn.dialect() != Dialect::Responses {
        return turn.pieces().iter().filter_map(foreign_item).collect();
    }
    let forgotten = turn.pieces().iter().filter_map(|piece| piece.raw.as_ref()).any(is_lost_reasoning);
    let ids = if forgotten { ItemIds::Drop } else { ItemIds::Keep };
    let mut items: Vec<Value> = turn.pieces().iter().filter_map(|piece| own_item(piece, ids)).collect();
    let end = items.iter().rposition(|item| !is_reasoning(item)).map_or(0, |last| last + 1);
    items.truncate(end);
    items
}

fn own_item(piece: &TurnPiece, ids: ItemIds) -> Option<Value> {
    let raw = piece.raw.as_ref().map(without_nulls);
    match &piece.content {
        TurnContent::Text(text) => Some(message_item(text, raw, ids)),
        TurnContent::Call(call) => Some(call_item(call, raw, ids)),
        TurnContent::Unread(..) | TurnContent::Lost(_) => foreign_item(piece),
        TurnContent::Item => raw.filter(|item| !is_lost_reasoning(item)),
    }
}

fn foreign_item(piece: &TurnPiece) -> Option<Value> {
    match &piece.content {
        TurnContent::Text(text) => Some(message_item(text, None, ItemIds::Drop)),
        TurnContent::Call(call) | TurnContent::Unread(call, _) => Some(call_item(call, None, ItemIds::Drop)),
        TurnContent::Lost(_) | TurnContent::Item => None,
    }
}

fn is_reasoning(item: &Value) -> bool {
    item["type"] == "reasoning"
}

fn is_lost_reasoning(item: &Value) -> bool {
    is_reasoning(item) && !item["encrypted_content"].is_string()
}

/// Removes null fields, because the API does not accept every `null` that it sends.
fn without_nulls(item: &Value) -> Value {
    let fields = item.as_object().into_iter().flatten();
    fields.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Writes a message. With an id it must be complete; without an id, role and text suffice.
fn message_item(text: &str, raw: Option<Value>, ids: ItemIds) -> Value {
    let raw = raw.unwrap_or_default();
    let whole = raw["id"].is_string() && raw["content"].is_array() && raw["role"] == "assistant";
    let mut item = if whole && ids == ItemIds::Keep {
        raw
    } else {
        let mut item = json!({ "role": "assistant", "content": text });
        if raw["phase"].is_string() {
            item["phase"] = raw["phase"].clone();
        }
        item
    };
    item["type"] = json!("message");
    if item["id"].is_string() && !item["status"].is_string() {
        item["status"] = json!("completed");
    }
    without_nulls(&item)
}

fn call_item(call: &ToolCall, raw: Option<Value>, ids: ItemIds) -> Value {
    let known = raw.is_some();
    let mut item = raw.unwrap_or_else(|| json!({}));
    item["call_id"] = json!(call.id.as_str());
    match &call.payload {
        // The API's own form includes its id.
        ToolPayload::LocalShell(_) if known => {
            item["type"] = json!("local_shell_call");
            return item;
        }
        ToolPayload::Custom { input } => {
            item["type"] = json!("custom_tool_call");
            item["input"] = json!(input);
        }
        ToolPayload::Function { .. } | ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => {
            item["type"] = json!("function_call");
            item["arguments"] = json!(call.payload.arguments());
        }
    }
    let in_a_namespace = item["namespace"].is_string();
    let name = item["name"].as_str().filter(|_| in_a_namespace).unwrap_or(&call.name);
    item["name"] = json!(call_fields::valid_name(name));
    if ids == ItemIds::Drop {
        item["id"] = Value::Null;
    }
    without_nulls(&item)
}
