//! Converts the types of `rmcp` to ours.

use std::error::Error;

use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents, ServerPeerInfo, Tool};
use serde::Serialize;
use serde_json::Value;

use crate::peer::{AnswerBlock, CallAnswer, ListPage, ListedTool, PeerError, ServerDescription};

pub(super) fn server_description(info: &ServerPeerInfo) -> ServerDescription {
    let server = info.server_info.as_ref();
    ServerDescription {
        protocol: info.protocol_version.to_string(),
        name: server.map(|server| server.name.clone()).unwrap_or_default(),
        version: server.map(|server| server.version.clone()).unwrap_or_default(),
        resources: info.capabilities.resources.is_some(),
    }
}

pub(super) fn listed_tool(tool: Tool) -> ListedTool {
    let object = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone());
    ListedTool {
        name: tool.name.into_owned(),
        title: tool.title,
        description: tool.description.unwrap_or_default().into_owned(),
        input_schema: object(&tool.input_schema),
        output_schema: tool.output_schema.as_deref().map(object),
        annotations: tool.annotations.and_then(|hints| serde_json::to_value(hints).ok()),
    }
}

/// Maximum number of unreadable tools on a page that are reported.
const MAX_REPORTED_TOOLS: usize = 50;

/// Parses a page of tools and skips invalid ones.
pub(super) fn tool_page(result: &Value) -> Result<ListPage<ListedTool>, PeerError> {
    let Some(tools) = result.get("tools").and_then(Value::as_array) else {
        return Err(PeerError::ProtocolViolation("it does not list its tools".to_owned()));
    };
    let (mut items, mut parse_faults) = (Vec::new(), Vec::new());
    for tool in tools {
        match serde_json::from_value(tool.clone()) {
            Ok(tool) => items.push(listed_tool(tool)),
            Err(_) if parse_faults.len() == MAX_REPORTED_TOOLS => {}
            Err(fault) => {
                let name = tool.get("name").and_then(Value::as_str).unwrap_or("a tool without a name");
                let name: String = name.chars().take(80).collect();
                parse_faults.push(format!(
                    "the definition of `{name}` does not follow the protocol: {}",
                    definition_fault(tool, &fault)
                ));
            }
        }
    }
    let next_cursor = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok(ListPage { items, parse_faults, next_cursor })
}

/// Describes the error in the definition of a tool.
fn definition_fault(tool: &Value, fault: &serde_json::Error) -> String {
    match tool.get("inputSchema") {
        _ if !tool.is_object() => "it is not a JSON object".to_owned(),
        None => "it has no `inputSchema`".to_owned(),
        Some(schema) if !schema.is_object() => "its `inputSchema` is not a JSON object".to_owned(),
        Some(_) => fault.to_string().chars().take(200).collect(),
    }
}

pub(super) fn call_answer(result: CallToolResult) -> CallAnswer {
    CallAnswer {
        blocks: result.content.into_iter().map(answer_block).collect(),
        structured: result.structured_content,
        failed: result.is_error == Some(true),
    }
}

/// Parses an answer that `rmcp` cannot, so that a block of an unknown type does not invalidate the others.
pub(super) fn untyped_answer(result: &Value) -> Result<CallAnswer, PeerError> {
    let content = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent").filter(|structured| !structured.is_null());
    if content.is_none() && structured.is_none() {
        return Err(PeerError::ProtocolViolation("it answers a call with something else".to_owned()));
    }
    let known = |value: &Value| match serde_json::from_value(value.clone()) {
        Ok(known) => answer_block(known),
        Err(_) => {
            let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
            AnswerBlock::Unknown { kind: kind.to_owned() }
        }
    };
    Ok(CallAnswer {
        blocks: content.into_iter().flatten().map(known).collect(),
        structured: structured.cloned(),
        failed: result.get("isError").and_then(Value::as_bool) == Some(true),
    })
}

fn answer_block(block: ContentBlock) -> AnswerBlock {
    match block {
        ContentBlock::Text(text) => AnswerBlock::Text(text.text),
        ContentBlock::Image(image) => AnswerBlock::Image { mime: image.mime_type, data: image.data },
        ContentBlock::Audio(audio) => AnswerBlock::Audio { mime: audio.mime_type, data: audio.data },
        ContentBlock::ResourceLink(link) => {
            AnswerBlock::Link { uri: link.uri, name: link.name, about: link.description }
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                AnswerBlock::Resource { uri, mime: mime_type, text: Some(text), blob: None }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                AnswerBlock::Resource { uri, mime: mime_type, text: None, blob: Some(blob) }
            }
            other => AnswerBlock::Text(to_json_text(&other)),
        },
        other => AnswerBlock::Text(to_json_text(&other)),
    }
}

fn to_json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn to_values<T: Serialize>(items: Vec<T>) -> Vec<Value> {
    items.into_iter().filter_map(|item| serde_json::to_value(item).ok()).collect()
}

pub(super) fn resource_contents(result: ReadResourceResult) -> Value {
    Value::Array(to_values(result.contents))
}

/// Joins the messages of an error and its sources.
pub(super) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let message = error.to_string();
    // Removes the names of our Rust types.
    let mut message = message.split_once("] error: ").map_or(message.clone(), |(_, why)| why.to_owned());
    let mut source = error.source();
    // ends: an error has a finite chain of sources
    while let Some(cause) = source {
        let more = cause.to_string();
        if !message.contains(&more) {
            message = format!("{message}: {more}");
        }
        source = cause.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_of_an_unknown_kind_takes_no_other_down() {
        let text = json!({"type": "text", "text": "hi"});
        let odd = json!({"type": "hologram", "data": 7});
        let answer = untyped_answer(&json!({"content": [text, odd, 7], "isError": true})).unwrap();
        let unknown = |kind: &str| AnswerBlock::Unknown { kind: kind.to_owned() };
        assert_eq!(answer.blocks, [AnswerBlock::Text("hi".to_owned()), unknown("hologram"), unknown("")]);
        assert!(answer.failed && answer.structured.is_none());
        assert!(untyped_answer(&json!({"contents": []})).is_err());
    }
}
