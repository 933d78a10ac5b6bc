//! Decoding tests with streams of the Responses API.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{check_cut_streams, decode_stream, tell};
use crate::Dialect::{self, Responses};

fn event(kind: &str, fields: &Value) -> Value {
    let mut event = fields.clone();
    event["type"] = json!(format!("response.{kind}"));
    event
}

fn done(place: u64, item: &Value) -> Value {
    event("output_item.done", &json!({"output_index": place, "item": item}))
}

fn call(at: u64) -> Value {
    json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": "read", "arguments": format!("{{\"at\": {at}}}"), "status": "completed"})
}

fn message(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]);
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
}

fn thought(encrypted: Option<&str>) -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "**Plan**"}, {"type": "summary_text", "text": "read"}], "encrypted_content": encrypted, "status": null})
}

fn search() -> Value {
    json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "rust"}})
}

fn usage() -> Value {
    json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 130})
}

fn end(kind: &str, output: &[Value]) -> Value {
    event(kind, &json!({"response": {"id": "resp_1", "output": output, "usage": usage()}}))
}

/// Reasoning, a search, text and two calls.
fn stream(encrypted: Option<&str>) -> Vec<Value> {
    let output = [thought(encrypted), search(), message("I will read."), call(1), call(2)];
    let mut call_1 = call(1);
    call_1["arguments"] = json!("");
    vec![
        event("created", &json!({"response": {"id": "resp_1", "status": "in_progress", "output": []}})),
        event("in_progress", &json!({"response": {"id": "resp_1"}})),
        event(
            "output_item.added",
            &json!({"output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        ),
        event(
            "reasoning_summary_part.added",
            &json!({"output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
        ),
        event(
            "reasoning_summary_text.delta",
            &json!({"output_index": 0, "summary_index": 0, "delta": "**Plan**"}),
        ),
        event("reasoning_summary_part.added", &json!({"output_index": 0, "summary_index": 1})),
        event(
            "reasoning_summary_text.delta",
            &json!({"output_index": 0, "summary_index": 1, "delta": "read"}),
        ),
        done(0, &output[0]),
        event("web_search_call.searching", &json!({"output_index": 1, "item_id": "ws_1"})),
        done(1, &output[1]),
        event(
            "output_item.added",
            &json!({"output_index": 2, "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": []}}),
        ),
        event(
            "content_part.added",
            &json!({"output_index": 2, "content_index": 0, "part": {"type": "output_text", "text": ""}}),
        ),
        event("output_text.delta", &json!({"output_index": 2, "content_index": 0, "delta": "I will "})),
        event("output_text.delta", &json!({"output_index": 2, "content_index": 0, "delta": "read."})),
        event("output_text.done", &json!({"output_index": 2, "content_index": 0, "text": "I will read."})),
        done(2, &output[2]),
        event("output_item.added", &json!({"output_index": 3, "item": call_1})),
        event(
            "function_call_arguments.delta",
            &json!({"output_index": 3, "item_id": "fc_1", "delta": "{\"at\": 1}"}),
        ),
        event(
            "function_call_arguments.done",
            &json!({"output_index": 3, "item_id": "fc_1", "arguments": "{\"at\": 1}"}),
        ),
        done(3, &output[3]),
        done(4, &output[4]),
        end("completed", &output),
    ]
}

#[test]
fn thoughts_searches_words_and_calls_are_heard_and_kept() {
    assert_snapshot!(tell(Responses, &stream(Some("gAAA"))), @r#"
    thought "**Plan**"
    thought "\n\n"
    thought "read"
    hosted web_search_call {"action":{"query":"rust","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    text "I will "
    text "read."
    call call_1 read {"at": 1}
    call call_2 read {"at": 2}
    usage 100 64 30 20
    done
    --
    {"encrypted_content":"gAAA","id":"rs_1","summary":[{"text":"**Plan**","type":"summary_text"},{"text":"read","type":"summary_text"}],"type":"reasoning"}
    {"action":{"query":"rust","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    {"content":[{"annotations":[],"logprobs":[],"text":"I will read.","type":"output_text"}],"id":"msg_1","role":"assistant","status":"completed","type":"message"}
    {"arguments":"{\"at\": 1}","call_id":"call_1","id":"fc_1","name":"read","status":"completed","type":"function_call"}
    {"arguments":"{\"at\": 2}","call_id":"call_2","id":"fc_2","name":"read","status":"completed","type":"function_call"}
    "#);
}

#[test]
fn a_thought_that_is_not_stored_is_left_out_with_the_ids_beside_it() {
    let (_, turn) = decode_stream(Responses, &stream(None));
    let items: Vec<String> = Responses.assistant_turn(&turn).iter().map(Value::to_string).collect();
    assert_snapshot!(items.join("\n"), @r#"
    {"action":{"query":"rust","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    {"content":"I will read.","role":"assistant","type":"message"}
    {"arguments":"{\"at\": 1}","call_id":"call_1","name":"read","status":"completed","type":"function_call"}
    {"arguments":"{\"at\": 2}","call_id":"call_2","name":"read","status":"completed","type":"function_call"}
    "#);
}

#[test]
fn a_call_is_heard_before_the_stream_ends() {
    let mut decoder = Responses.stream_decoder();
    let events: Vec<_> = stream(None)[..20].iter().flat_map(|json| decoder.push(json)).collect();
    assert!(events.iter().any(|heard| matches!(heard, crate::ModelStreamEvent::Call(_))));
}

#[test]
fn a_stream_may_break_off_anywhere() {
    check_cut_streams(Responses, &stream(Some("gAAA")));
}

#[test]
fn a_whole_response_says_the_same_as_its_stream() {
    let output = [thought(Some("gAAA")), search(), message("I will read."), call(1), call(2)];
    let whole = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output, "usage": usage()});
    assert_eq!(decode_stream(Responses, &[whole]).1, decode_stream(Responses, &stream(Some("gAAA"))).1);
    let only_the_end = end("completed", &output);
    assert_eq!(
        decode_stream(Responses, &[only_the_end]).1,
        decode_stream(Responses, &stream(Some("gAAA"))).1
    );
}

#[test]
fn what_broke_off_is_kept_as_far_as_it_came() {
    let stream = stream(Some("gAAA"));
    assert_snapshot!(tell(Responses, &stream[..14]), @r#"
    thought "**Plan**"
    thought "\n\n"
    thought "read"
    hosted web_search_call {"action":{"query":"rust","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    text "I will "
    text "read."
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    {"encrypted_content":"gAAA","id":"rs_1","summary":[{"text":"**Plan**","type":"summary_text"},{"text":"read","type":"summary_text"}],"type":"reasoning"}
    {"action":{"query":"rust","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}
    {"content":"I will read.","role":"assistant","type":"message"}
    "#);
    assert_snapshot!(tell(Responses, &[&stream[..8], &stream[16..18]].concat()), @r#"
    thought "**Plan**"
    thought "\n\n"
    thought "read"
    call call_1 read {"at": 1}
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    {"encrypted_content":"gAAA","id":"rs_1","summary":[{"text":"**Plan**","type":"summary_text"},{"text":"read","type":"summary_text"}],"type":"reasoning"}
    {"arguments":"{\"at\": 1}","call_id":"call_1","name":"read","type":"function_call"}
    "#);
}

#[test]
fn a_response_ends_in_many_ways() {
    let response = |kind: &str, response: Value| event(kind, &json!({ "response": response }));
    let told = [
        response("incomplete", json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}})),
        response("incomplete", json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}})),
        response("failed", json!({"status": "failed", "error": {"code": "server_error", "message": "The model is sick."}})),
        response("failed", json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}})),
        response("cancelled", json!({"status": "cancelled"})),
        json!({"type": "error", "code": "context_length_exceeded", "message": "Your input exceeds the context window.", "param": null}),
        json!({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "Too long."}}),
        json!({"error": {"message": "overloaded", "type": "server_error", "code": "server_is_overloaded"}}),
    ]
    .map(|end| tell(Responses, &[end]).trim_end_matches("\n--\n").to_owned());
    assert_snapshot!(told.join("\n"), @r#"
    cut short: max_output_tokens
    cut short: content_filter
    failed: Server Soon something went wrong inside the model API (server_error): The model is sick; try again in a while
    failed: RateLimit After(1.5s) the model API wants fewer requests for now (rate_limit_exceeded): Please try again in 1.5s; try again in a while
    cut short: cancelled
    failed: ContextLength Never the conversation is longer than the model can read (context_length_exceeded): Your input exceeds the context window; shorten the conversation, or begin a new one
    failed: ContextLength Never the conversation is longer than the model can read (context_length_exceeded): Too long; shorten the conversation, or begin a new one
    failed: Overloaded Soon the model API has too much to do (server_is_overloaded): overloaded; try again in a while
    "#);
}

#[test]
fn another_dialect_writes_the_words_and_the_calls() {
    let (_, turn) = decode_stream(Responses, &stream(Some("gAAA")));
    let told =
        [Dialect::Chat, Dialect::Anthropic].map(|dialect| dialect.assistant_turn(&turn)[0].to_string());
    assert_snapshot!(told.join("\n"), @r#"
    {"content":"I will read.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"at\": 1}","name":"read"},"id":"call_1","type":"function"},{"function":{"arguments":"{\"at\": 2}","name":"read"},"id":"call_2","type":"function"}]}
    {"content":[{"text":"I will read.","type":"text"},{"id":"call_1","input":{"at":1},"name":"read","type":"tool_use"},{"id":"call_2","input":{"at":2},"name":"read","type":"tool_use"}],"role":"assistant"}
    "#);
}
