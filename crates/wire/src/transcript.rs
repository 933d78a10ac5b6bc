//! Extracts readable text and reasoning from the raw items of a model response, for logs.

use serde_json::Value;

/// Maximum nesting depth: a message, its content, and provider wrappers.
const MAX_DEPTH: usize = 4;

/// One readable part of a model response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptItem {
    /// Text for the user.
    Text(String),
    /// Reasoning, or its summary.
    Thought(String),
    /// The type name of an item without text, e.g. `web_search_call`.
    Other(String),
    /// The id of a call.
    Call(String),
}

/// Returns the readable parts of `items`, in order. Items may come from any API or from
/// [`AssistantTurn::to_saved_json`](crate::AssistantTurn::to_saved_json). A call without an id is left out.
pub fn transcript_items(items: &[Value]) -> Vec<TranscriptItem> {
    let mut found = Vec::new();
    items.iter().for_each(|item| collect_item(item, MAX_DEPTH, &mut found));
    found.retain(|words| match words {
        TranscriptItem::Text(text)
        | TranscriptItem::Thought(text)
        | TranscriptItem::Other(text)
        | TranscriptItem::Call(text) => !text.trim().is_empty(),
    });
    found
}

fn collect_item(item: &Value, depth: usize, found: &mut Vec<TranscriptItem>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let text = |name: &str| item[name].as_str().map(str::to_owned);
    // In Chat, reasoning has several field names and stands beside the text.
    found.extend(text("reasoning_content").or_else(|| text("reasoning")).map(TranscriptItem::Thought));
    match item["type"].as_str() {
        Some("thinking") => found.extend(text("thinking").map(TranscriptItem::Thought)),
        Some("reasoning") => collect_reasoning(item, found),
        Some("refusal") => found.extend(text("refusal").map(TranscriptItem::Text)),
        Some("text" | "output_text") => found.extend(text("text").map(TranscriptItem::Text)),
        Some("message") | None => collect_message(item, depth, found),
        // Every API names the id of a call in its own way.
        Some(kind) if is_call(kind) => {
            found.extend(text("call_id").or_else(|| text("id")).map(TranscriptItem::Call));
        }
        Some(kind) => found.push(TranscriptItem::Other(kind.to_owned())),
    }
}

/// Collects the parts of a message, or of a saved turn.
fn collect_message(item: &Value, depth: usize, found: &mut Vec<TranscriptItem>) {
    let text = |name: &str| item[name].as_str().map(str::to_owned);
    // A saved call, whose raw item says nothing more.
    if let Some(id) = item["call"]["id"].as_str() {
        found.push(TranscriptItem::Call(id.to_owned()));
        return;
    }
    match &item["content"] {
        Value::String(text) => found.push(TranscriptItem::Text(text.clone())),
        content => list(content).iter().for_each(|part| collect_item(part, depth, found)),
    }
    found.extend(text("refusal").map(TranscriptItem::Text));
    list(&item["pieces"]).iter().for_each(|piece| collect_item(piece, depth, found));
    match text("text") {
        Some(text) => found.push(TranscriptItem::Text(text)),
        None if item["raw"].is_object() => collect_item(&item["raw"], depth, found),
        None => {}
    }
    let calls = list(&item["tool_calls"]).iter().filter_map(|call| call["id"].as_str());
    found.extend(calls.map(|id| TranscriptItem::Call(id.to_owned())));
}

/// Collects the reasoning of a Responses item: the full text, or else the summary.
fn collect_reasoning(item: &Value, found: &mut Vec<TranscriptItem>) {
    let text = |part: &Value| part["text"].as_str().map(|text| TranscriptItem::Thought(text.to_owned()));
    let before = found.len();
    for name in ["content", "summary"] {
        if found.len() == before {
            found.extend(list(&item[name]).iter().filter_map(text));
        }
    }
}

fn is_call(kind: &str) -> bool {
    const CALL_TYPES: &[&str] = &["function_call", "custom_tool_call", "local_shell_call", "tool_use"];
    CALL_TYPES.contains(&kind)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Dialect;

    fn text(text: &str) -> TranscriptItem {
        TranscriptItem::Text(text.to_owned())
    }

    fn call(id: &str) -> TranscriptItem {
        TranscriptItem::Call(id.to_owned())
    }

    fn thought(text: &str) -> TranscriptItem {
        TranscriptItem::Thought(text.to_owned())
    }

    #[test]
    fn items_of_every_api_are_displayed() {
        let other = TranscriptItem::Other("web_search_call".to_owned());
        for (items, expected) in [
            (
                json!([
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
                    {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
                    {"type": "web_search_call", "id": "w"},
                ]),
                vec![thought("hm"), text("yes"), call("c"), other],
            ),
            (
                json!([{"role": "assistant", "reasoning_content": "hm", "content": "yes", "tool_calls": [{}, {"id": "c"}]}]),
                vec![thought("hm"), text("yes"), call("c")],
            ),
            (
                json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}, {"type": "tool_use", "name": "n"}]),
                vec![thought("hm"), text("yes")],
            ),
            (json!([{"role": "assistant", "content": [{"type": "text", "text": "yes"}]}]), vec![text("yes")]),
            (json!([{"type": "message", "content": [1.5, null]}, 7, "x", {"text": " "}]), vec![]),
        ] {
            assert_eq!(transcript_items(items.as_array().unwrap()), expected, "{items}");
        }
    }

    #[test]
    fn saved_turn_gives_the_same_transcript() {
        let mut decoder = Dialect::Anthropic.stream_decoder();
        let tool_use = json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let content = json!([thinking, {"type": "text", "text": "yes"}, tool_use]);
        decoder.push(&json!({"type": "message", "content": content, "stop_reason": "tool_use"}));
        let saved = decoder.into_turn().to_saved_json();
        assert_eq!(transcript_items(&[saved]), [thought("hm"), text("yes"), call("t")]);
    }

    #[test]
    fn deeply_nested_items_are_not_followed() {
        let deep = (0..100).fold(json!({"text": "x"}), |inner, _| json!({"pieces": [inner]}));
        assert_eq!(transcript_items(&[deep]), []);
    }
}
