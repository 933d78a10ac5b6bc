//! Tests of complete request bodies: one per dialect, the prefix shared by successive requests, and allocation.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tool::{OutputImage, ToolOutput};

use super::*;
use crate::AssistantTurn;

/// Returns a question, a turn of two calls, their answers, and a further user message.
fn items(dialect: Dialect) -> Vec<SerializedItem> {
    let call = |id: &str| json!({"call": {"id": id, "name": "read", "payload": {"arguments": "{\"a\": 1}"}}});
    let saved = json!({"dialect": dialect.as_str(), "pieces": [{"text": "Reading."}, call("a"), call("b")]});
    let turn = AssistantTurn::from_saved_json(&saved).unwrap();
    let picture = OutputImage { mime: "image/png", bytes: vec![1] };
    let mut items = vec![dialect.user_message("Read.", &[])];
    items.extend(dialect.assistant_turn(&turn));
    items.extend(
        dialect.turn_replies(
            &turn,
            [(&"b".into(), &ToolOutput::text("B")), (&"a".into(), &ToolOutput::text("A"))],
        ),
    );
    items.push(dialect.user_message("Faster!", &[picture]));
    items.iter().map(|item| dialect.serialize_item(item)).collect()
}

fn request<'a>(items: &'a [SerializedItem]) -> ModelRequest<'a> {
    ModelRequest {
        model: "m",
        instructions: "Be \"brief\".\n",
        items,
        tools: r#"[{"name":"list"},{"name":"read"}]"#,
        max_output_tokens: Some(9),
        cache_key: Some("s1"),
        reasoning: ReasoningMode::Keep,
    }
}

fn tell(dialect: Dialect) -> String {
    let body = dialect.request_body(&request(&items(dialect)));
    let read: Result<Value, _> = serde_json::from_str(&body);
    assert!(read.is_ok(), "{body}");
    body
}

#[test]
fn requests_of_every_dialect() {
    assert_snapshot!(tell(Dialect::Responses), @r#"{"model":"m","store":false,"stream":true,"include":["reasoning.encrypted_content"],"max_output_tokens":9,"prompt_cache_key":"s1","tool_choice":"auto","parallel_tool_calls":true,"tools":[{"name":"list"},{"name":"read"}],"instructions":"Be \"brief\".\n","input":[{"content":[{"text":"Read.","type":"input_text"}],"role":"user","type":"message"},{"content":"Reading.","role":"assistant","type":"message"},{"arguments":"{\"a\": 1}","call_id":"a","name":"read","type":"function_call"},{"arguments":"{\"a\": 1}","call_id":"b","name":"read","type":"function_call"},{"call_id":"a","output":"A","type":"function_call_output"},{"call_id":"b","output":"B","type":"function_call_output"},{"content":[{"text":"Faster!","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AQ==","type":"input_image"}],"role":"user","type":"message"}]}"#);
    assert_snapshot!(tell(Dialect::Chat), @r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"tools":[{"name":"list"},{"name":"read"}],"messages":[{"role":"system","content":"Be \"brief\".\n"},{"content":"Read.","role":"user"},{"content":"Reading.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\": 1}","name":"read"},"id":"a","type":"function"},{"function":{"arguments":"{\"a\": 1}","name":"read"},"id":"b","type":"function"}]},{"content":"A","role":"tool","tool_call_id":"a"},{"content":"B","role":"tool","tool_call_id":"b"},{"content":[{"text":"Faster!","type":"text"},{"image_url":{"url":"data:image/png;base64,AQ=="},"type":"image_url"}],"role":"user"}]}"#);
    assert_snapshot!(tell(Dialect::Anthropic), @r#"{"model":"m","stream":true,"max_tokens":9,"tools":[{"name":"list"},{"name":"read","cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"Be \"brief\".\n","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"text":"Read.","type":"text","cache_control":{"type":"ephemeral"}}]},{"content":[{"text":"Reading.","type":"text"},{"id":"a","input":{"a":1},"name":"read","type":"tool_use"},{"id":"b","input":{"a":1},"name":"read","type":"tool_use"}],"role":"assistant"},{"role":"user","content":[{"content":"A","tool_use_id":"a","type":"tool_result"},{"content":"B","tool_use_id":"b","type":"tool_result"},{"text":"Faster!","type":"text"},{"source":{"data":"AQ==","media_type":"image/png","type":"base64"},"type":"image","cache_control":{"type":"ephemeral"}}]}]}"#);
}

#[test]
fn absent_options_are_not_written() {
    let told = Dialect::ALL.map(|dialect| {
        let entries = [dialect.serialize_item(&dialect.user_message("hi", &[]))];
        let bare = ModelRequest {
            instructions: "",
            tools: "[]",
            max_output_tokens: None,
            cache_key: None,
            ..request(&entries)
        };
        dialect.request_body(&ModelRequest { reasoning: ReasoningMode::None, ..bare })
    });
    assert_snapshot!(told.join("\n"), @r#"
    {"model":"m","store":false,"stream":true,"input":[{"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}]}
    {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"content":"hi","role":"user"}]}
    {"model":"m","stream":true,"max_tokens":32000,"messages":[{"role":"user","content":[{"text":"hi","type":"text","cache_control":{"type":"ephemeral"}}]}]}
    "#);
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    for dialect in Dialect::ALL {
        let items = items(dialect);
        let bodies: Vec<String> = (1..=items.len())
            .map(|count| dialect.request_body(&request(&items[..count])).replace(CACHE_MARK, ""))
            .collect();
        for pair in bodies.windows(2) {
            let known = pair[0].trim_end_matches(['}', ']']);
            assert!(pair[1].starts_with(known), "{dialect}:\n{}\n{}", pair[0], pair[1]);
        }
    }
}

#[test]
fn nothing_is_allocated_twice() {
    let items: Vec<SerializedItem> = items(Dialect::Anthropic).into_iter().cycle().take(1000).collect();
    let body = Dialect::Anthropic.request_body(&request(&items));
    assert!(body.capacity() < body.len() + 1000 * (CACHE_MARK.len() + 2) + BODY_OVERHEAD_BYTES);
}
