//! Writing for the Chat Completions API.
//!
//! A tool message carries text only. Some servers take `image_url` parts in it, OpenAI's own API and its clients'
//! types do not, so pictures go into a user message behind it, and the tool message says so.

use serde_json::{Value, json};
use tool::{Image, Strict, ToolCall, ToolOutput, ToolSpec};

use super::{Declared, data_url, images_of, text_of};
use crate::Style;

pub(crate) fn tool(spec: &ToolSpec, style: &Style) -> Option<Value> {
    let Declared { name, description, parameters } = Declared::of(spec, style)?;
    let mut function = json!({ "name": name, "description": description, "parameters": parameters });
    // Only said when it is so: many servers that imitate this API do not know the word.
    if let ToolSpec::Function(spec) = spec
        && spec.strict == Strict::Yes
    {
        function["strict"] = json!(true);
    }
    Some(json!({ "type": "function", "function": function }))
}

pub(crate) fn answer(call: &ToolCall, output: &ToolOutput) -> Vec<Value> {
    let id = call.id.as_str();
    let message = |text: String| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let images: Vec<Value> = images_of(output).map(image).collect();
    if images.is_empty() {
        return vec![message(text_of(output))];
    }
    let text =
        format!("{}\n(pictures in a user message below: {})", output.joined_text().trim_end(), images.len());
    let mut parts = vec![json!({ "type": "text", "text": format!("Pictures from the tool call {id}:") })];
    parts.extend(images);
    vec![message(text.trim_start().to_owned()), json!({ "role": "user", "content": parts })]
}

fn image(image: &Image) -> Value {
    json!({ "type": "image_url", "image_url": { "url": data_url(image) } })
}
