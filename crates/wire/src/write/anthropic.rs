//! Writes tools, messages and tool results for the Anthropic Messages API.

use serde_json::{Value, json};
use tool::{OutputImage, OutputItem, ToolCall, ToolOutput, ToolSpec};

use super::{
    FunctionDeclaration, call_fields, encode_base64, message_text, non_blank_items, output_images,
    output_text,
};
use crate::assistant_turn::{TurnContent, TurnPiece};
use crate::{ApiCompat, AssistantTurn, Dialect};

/// Writes a tool declaration; `None` for tools that cannot be functions.
pub(crate) fn tool_declaration(spec: &ToolSpec, compat: &ApiCompat) -> Option<Value> {
    let FunctionDeclaration { name, description, parameters } = FunctionDeclaration::from_spec(spec, compat)?;
    Some(json!({ "name": name, "description": description, "input_schema": parameters }))
}

/// Writes a user message.
pub(crate) fn user_message(text: &str, pictures: &[OutputImage]) -> Value {
    let words = message_text(text, pictures).map(text_block);
    let content: Vec<Value> = words.into_iter().chain(pictures.iter().map(image_block)).collect();
    json!({ "role": "user", "content": content })
}

/// Writes the assistant message. Calls of another dialect's turn move to the end. Other APIs allow text after a call,
/// but here the results must follow.
pub(crate) fn assistant_message(turn: &AssistantTurn) -> Option<Value> {
    let content: Vec<Value> = if turn.dialect() == Dialect::Anthropic {
        turn.pieces().iter().filter_map(own_block).collect()
    } else {
        let (mut first, last): (Vec<Value>, Vec<Value>) =
            turn.pieces().iter().filter_map(foreign_block).partition(|block| block["type"] != "tool_use");
        first.extend(last);
        first
    };
    (!content.is_empty()).then(|| json!({ "role": "assistant", "content": content }))
}

fn own_block(piece: &TurnPiece) -> Option<Value> {
    match (&piece.content, &piece.raw) {
        // The raw block includes citations.
        (TurnContent::Text(_), Some(raw)) if raw["type"] == "text" => Some(raw.clone()),
        (TurnContent::Item, raw) => raw.clone(),
        (TurnContent::Call(call), raw) => Some(tool_use(call, raw.as_ref())),
        (TurnContent::Text(_) | TurnContent::Unread(..) | TurnContent::Lost(_), _) => foreign_block(piece),
    }
}

fn foreign_block(piece: &TurnPiece) -> Option<Value> {
    match &piece.content {
        TurnContent::Text(text) => Some(text_block(text)),
        TurnContent::Call(call) | TurnContent::Unread(call, _) => Some(tool_use(call, None)),
        TurnContent::Lost(_) | TurnContent::Item => None,
    }
}

fn tool_use(call: &ToolCall, raw: Option<&Value>) -> Value {
    let mut block = raw.filter(|raw| raw.is_object()).cloned().unwrap_or_else(|| json!({}));
    block["type"] = json!("tool_use");
    block["id"] = json!(call_fields::valid_id(&call.id));
    block["name"] = json!(call_fields::valid_name(&call.name));
    block["input"] = call_fields::arguments_object(call);
    block
}

/// Writes the `tool_result` block of a call.
pub(crate) fn tool_result(call: &ToolCall, output: &ToolOutput) -> Value {
    let has_images = output_images(output).next().is_some();
    let content = match (output.success, has_images) {
        (true, true) => non_blank_items(output).map(output_block).collect(),
        (true, false) | (false, false) => json!(output_text(output)),
        // The API accepts only text in an error result.
        (false, true) => json!(format!("{}\n(a picture was left out)", output.joined_text()).trim_start()),
    };
    let id = call_fields::valid_id(&call.id);
    let mut result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if !output.success {
        result["is_error"] = json!(true);
    }
    result
}

fn output_block(item: &OutputItem) -> Value {
    match item {
        OutputItem::Text(text) => text_block(text),
        OutputItem::Image(image) => image_block(image),
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image_block(image: &OutputImage) -> Value {
    let source = json!({ "type": "base64", "media_type": image.mime, "data": encode_base64(image) });
    json!({ "type": "image", "source": source })
}
