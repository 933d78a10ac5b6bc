//! A sample conversation as a request in every dialect, for tests against real clients.

use serde_json::{Value, json};
use tool::{OutputImage, ToolOutput, ToolSpec};
use toolgate_wire::{ApiCompat, AssistantTurn, Dialect, ModelRequest, ReasoningMode, SerializedItem};

use crate::samples::specs;

/// Returns a decoded turn of this dialect. The Responses and Anthropic turns also contain reasoning and a search.
fn sample_turn(dialect: Dialect) -> AssistantTurn {
    let mut decoder = dialect.stream_decoder();
    decoder.push(&match dialect {
        Dialect::Responses => responses(),
        Dialect::Chat => chat(),
        Dialect::Anthropic => anthropic(),
    });
    decoder.into_turn()
}

fn responses() -> Value {
    let call = |kind: &str, at: u32| json!({"type": kind, "id": format!("i_{at}"), "call_id": format!("call_{at}"), "name": "read"});
    let mut function = call("function_call", 1);
    function["arguments"] = json!("{\"path\": 1");
    function["status"] = json!("completed");
    let mut custom = call("custom_tool_call", 2);
    custom["input"] = json!("x");
    let text = json!({"type": "output_text", "text": "Reading.", "annotations": []});
    json!({"status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e", "status": null},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]},
        function,
        custom,
    ]})
}

fn chat() -> Value {
    let call = |at: u32, arguments: &str| json!({"id": format!("call_{at}"), "type": "function", "function": {"name": "read", "arguments": arguments}});
    let calls = [call(3, "{\"path\": 1"), call(4, "{}")];
    json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": calls}}]})
}

fn anthropic() -> Value {
    let citation = json!({"type": "web_search_result_location", "url": "u", "title": "t", "encrypted_index": "i", "cited_text": "c"});
    let found = json!({"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e", "page_age": null});
    json!({"type": "message", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]},
        {"type": "text", "text": "Reading.", "citations": [citation]},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}},
    ]})
}

/// Returns a request in this dialect, after one turn of every dialect.
pub(crate) fn sample_request(dialect: Dialect) -> Value {
    let picture = OutputImage { mime: "image/png", bytes: b"\x89PNG".to_vec() };
    let mut items = vec![dialect.user_message("Read.", &[])];
    for said in Dialect::ALL.map(sample_turn) {
        let output = ToolOutput::image("see", picture.clone());
        items.extend(dialect.assistant_turn(&said));
        items.extend(dialect.turn_replies(&said, said.calls().take(1).map(|call| (&call.id, &output))));
        items.push(dialect.user_message("Faster!", std::slice::from_ref(&picture)));
    }
    let entries: Vec<SerializedItem> = items.iter().map(|item| dialect.serialize_item(item)).collect();
    let specs = specs();
    let tools = dialect.tools(&specs.iter().collect::<Vec<&ToolSpec>>(), &ApiCompat::default()).to_string();
    let request = ModelRequest {
        model: "m",
        instructions: "Be brief.",
        items: &entries,
        tools: &tools,
        max_output_tokens: Some(9),
        cache_key: Some("s1"),
        reasoning: ReasoningMode::Keep,
    };
    serde_json::from_str(&dialect.request_body(&request)).expect("a request is JSON")
}
