//! Writing for the Anthropic Messages API.

use serde_json::{Value, json};
use tool::{Item, ToolCall, ToolOutput, ToolSpec};

use super::{Declared, base64_of, images_of, pieces_of, text_of};
use crate::Style;

pub(crate) fn tool(spec: &ToolSpec, style: &Style) -> Option<Value> {
    let Declared { name, description, parameters } = Declared::of(spec, style)?;
    Some(json!({ "name": name, "description": description, "input_schema": parameters }))
}

pub(crate) fn answer(call: &ToolCall, output: &ToolOutput) -> Value {
    let has_images = images_of(output).next().is_some();
    let content = match (output.success, has_images) {
        (true, true) => pieces_of(output).map(block).collect(),
        (true, false) | (false, false) => json!(text_of(output)),
        // The API takes nothing but text in a result that is an error.
        (false, true) => json!(format!("{}\n(a picture was left out)", output.joined_text()).trim_start()),
    };
    let mut result = json!({ "type": "tool_result", "tool_use_id": call.id.as_str(), "content": content });
    if !output.success {
        result["is_error"] = json!(true);
    }
    result
}

fn block(item: &Item) -> Value {
    match item {
        Item::Text(text) => json!({ "type": "text", "text": text }),
        Item::Image(image) => {
            let source = json!({ "type": "base64", "media_type": image.mime, "data": base64_of(image) });
            json!({ "type": "image", "source": source })
        }
    }
}
