//! What all dialects share in writing: schemas, wrapped freeform tools, text and pictures.

pub(crate) mod anthropic;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod mcp;
pub(crate) mod responses;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tool::{FreeformSpec, FunctionSpec, Image, Item, JsonSchema, ToolOutput, ToolSpec};

use crate::{Integers, Style};

/// What a model reads when a tool has nothing to say: APIs refuse blank text.
const NO_OUTPUT: &str = "(no output)";

/// What a model reads of a person who sent nothing.
const NO_WORDS: &str = "(an empty message)";

/// A tool as an API that knows only functions sees it.
struct Declared {
    name: String,
    description: String,
    parameters: Value,
}

impl Declared {
    /// The tool as a function, if it can be one.
    fn of(spec: &ToolSpec, style: &Style) -> Option<Self> {
        match spec {
            ToolSpec::Function(function) => Some(Self::function(function, style)),
            ToolSpec::Freeform(freeform) => Some(Self::wrapped(freeform)),
            ToolSpec::LocalShell | ToolSpec::WebSearch { .. } => None,
        }
    }

    fn function(function: &FunctionSpec, style: &Style) -> Self {
        let parameters = schema(&function.parameters, style);
        Self { name: function.name.clone(), description: function.description.clone(), parameters }
    }

    /// A freeform tool as a function with one string. Nobody enforces its grammar, so the model reads what its description
    /// shows and is spared the rest, which it would pay for in every request.
    fn wrapped(freeform: &FreeformSpec) -> Self {
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

/// The schema of a tool's arguments. OpenAI refuses an object without `properties`, Anthropic a root without `type`.
fn schema(schema: &JsonSchema, style: &Style) -> Value {
    let written = match style.integers {
        Integers::Keep => serde_json::to_value(schema),
        Integers::AsNumber => serde_json::to_value(schema.fold_integers()),
    };
    let mut value = written.expect("a schema is maps with string keys, lists and scalars");
    if let Value::Object(root) = &mut value {
        root.entry("type").or_insert_with(|| json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
    }
    value
}

/// All text of an answer, or the words for none.
fn text_of(output: &ToolOutput) -> String {
    let text = output.joined_text();
    if text.trim().is_empty() { NO_OUTPUT.to_owned() } else { text }
}

/// The pictures of an answer.
fn images_of(output: &ToolOutput) -> impl Iterator<Item = &Image> {
    output.items.iter().filter_map(|item| match item {
        Item::Text(_) => None,
        Item::Image(image) => Some(image),
    })
}

/// The pieces of an answer that has pictures, without blank texts.
fn pieces_of(output: &ToolOutput) -> impl Iterator<Item = &Item> {
    output.items.iter().filter(|item| item.as_text().is_none_or(|text| !text.trim().is_empty()))
}

/// The words of a person; none if pictures say it all.
fn words_of<'a>(text: &'a str, pictures: &[Image]) -> Option<&'a str> {
    match (text.trim().is_empty(), pictures.is_empty()) {
        (false, _) => Some(text),
        (true, true) => Some(NO_WORDS),
        (true, false) => None,
    }
}

fn base64_of(image: &Image) -> String {
    STANDARD.encode(&image.bytes)
}

fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.mime, base64_of(image))
}

#[cfg(test)]
mod tests;
