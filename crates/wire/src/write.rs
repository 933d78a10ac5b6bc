//! Writers of tool declarations, messages and tool answers: one submodule per API, and the code that they share.

pub(crate) mod anthropic;
pub(crate) mod call_fields;
pub(crate) mod chat;
pub(crate) mod mcp;
pub(crate) mod responses;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tool::{FreeformSpec, FunctionSpec, JsonSchema, OutputImage, OutputItem, ToolOutput, ToolSpec};

use crate::{ApiCompat, IntegerSpelling};

/// Stands for an empty tool output, because APIs reject blank text.
const NO_OUTPUT: &str = "(no output)";

/// Stands for an empty user message.
const EMPTY_MESSAGE: &str = "(an empty message)";

/// A tool declared as a function, for APIs that only have functions.
struct FunctionDeclaration {
    name: String,
    description: String,
    parameters: Value,
}

impl FunctionDeclaration {
    /// Returns the declaration, if the tool can be a function.
    fn from_spec(spec: &ToolSpec, compat: &ApiCompat) -> Option<Self> {
        match spec {
            ToolSpec::Function(function) => Some(Self::from_function(function, compat)),
            ToolSpec::Freeform(freeform) => Some(Self::from_freeform(freeform)),
            ToolSpec::LocalShell | ToolSpec::WebSearch { .. } => None,
        }
    }

    fn from_function(function: &FunctionSpec, compat: &ApiCompat) -> Self {
        let parameters = argument_schema(&function.parameters, compat);
        Self { name: function.name.clone(), description: function.description.clone(), parameters }
    }

    /// Wraps a freeform tool as a function with one string parameter. No API enforces the grammar of a function. It is
    /// left out, because the model would pay for it in every request and the description shows the format.
    fn from_freeform(freeform: &FreeformSpec) -> Self {
        let FreeformSpec { name, description, .. } = freeform;
        let description = description.clone();
        let parameters = json!({
            "type": "object",
            "properties": { "input": { "type": "string" } },
            "required": ["input"],
            "additionalProperties": false,
        });
        Self { name: name.clone(), description, parameters }
    }
}

/// Returns the schema of a tool's arguments. OpenAI rejects an object without `properties`, Anthropic a root without
/// `type`.
fn argument_schema(schema: &JsonSchema, compat: &ApiCompat) -> Value {
    let written = match compat.integers {
        IntegerSpelling::Keep => serde_json::to_value(schema),
        IntegerSpelling::AsNumber => serde_json::to_value(schema.fold_integers()),
    };
    let mut value = written.expect("a schema is maps with string keys, lists and scalars");
    if let Value::Object(root) = &mut value {
        root.entry("type").or_insert_with(|| json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
    }
    value
}

/// Returns all text of an output, or the placeholder for empty text.
fn output_text(output: &ToolOutput) -> String {
    let text = output.joined_text();
    if text.trim().is_empty() { NO_OUTPUT.to_owned() } else { text }
}

/// Returns the images of an output.
fn output_images(output: &ToolOutput) -> impl Iterator<Item = &OutputImage> {
    output.items.iter().filter_map(|item| match item {
        OutputItem::Text(_) => None,
        OutputItem::Image(image) => Some(image),
    })
}

/// Returns the items of an output that has images, without blank texts.
fn non_blank_items(output: &ToolOutput) -> impl Iterator<Item = &OutputItem> {
    output.items.iter().filter(|item| item.as_text().is_none_or(|text| !text.trim().is_empty()))
}

/// Returns the text of a user message; `None` for a message of images alone.
fn message_text<'a>(text: &'a str, pictures: &[OutputImage]) -> Option<&'a str> {
    match (text.trim().is_empty(), pictures.is_empty()) {
        (false, _) => Some(text),
        (true, true) => Some(EMPTY_MESSAGE),
        (true, false) => None,
    }
}

fn encode_base64(image: &OutputImage) -> String {
    STANDARD.encode(&image.bytes)
}

fn data_url(image: &OutputImage) -> String {
    format!("data:{};base64,{}", image.mime, encode_base64(image))
}

#[cfg(test)]
mod tests;
