//! Writes tools, user messages and call outputs for the Responses API; `assistant_items.rs` writes assistant turns.
//!
//! A `local_shell_call` is answered by a `function_call_output`. The API also has `local_shell_call_output`, which
//! carries text only. The API's own documents disagree on whether that item is paired by `id` or by `call_id`. Codex
//! always answered with `function_call_output`, which every client's types accept.

mod assistant_items;

use serde_json::{Value, json};
use tool::{OutputImage, OutputItem, StrictMode, ToolCall, ToolOutput, ToolPayload, ToolSpec};

use super::{FunctionDeclaration, data_url, message_text, non_blank_items, output_images, output_text};
use crate::{ApiCompat, FreeformDeclaration};

pub(crate) use assistant_items::assistant_items;

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
