//! A generator of hostile JSON for property tests.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use serde_json::Value;

/// Generates JSON that resembles API items in parts.
pub(crate) fn hostile_json() -> impl Strategy<Value = Value> {
    let words = [
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_use",
        "message",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_stop",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.created",
        "response.failed",
        "response.incomplete",
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "reasoning",
        "web_search_call",
        "function_call_output",
        "tool_result",
        "server_tool_use",
        "thinking",
        "text",
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "citations_delta",
        "input_json_delta",
        "message_start",
        "message_delta",
        "error",
        "stop",
        "tool_calls",
        "assistant",
        "user",
        "incomplete",
        "max_tokens",
        "length",
        "{",
        "}",
        "",
    ];
    let keys = [
        "type", "id", "call_id", "item_id", "name", "arguments", "input", "index", "output_index", "item",
        "delta", "response", "output", "action", "command", "choices", "message", "tool_calls", "function",
        "custom", "function_call", "finish_reason", "content", "content_block", "partial_json", "status",
        "stop_reason", "namespace", "role", "text", "thinking", "signature", "citation", "citations",
        "encrypted_content", "summary", "usage", "error", "code", "reasoning_content", "reasoning_details",
        "extra_content", "refusal",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..3u64).prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        let fields = vec((proptest::sample::select(keys.to_vec()), inner.clone()), 0..8);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            fields
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}
