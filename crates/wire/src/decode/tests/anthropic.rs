//! Decoding tests with streams of the Messages API.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{check_cut_streams, decode_stream, tell};
use crate::Dialect::{self, Anthropic};

fn start(at: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": at, "content_block": block})
}

fn delta(at: u64, kind: &str, field: &str, piece: &Value) -> Value {
    json!({"type": "content_block_delta", "index": at, "delta": {"type": kind, field: piece}})
}

fn stop(at: u64) -> Value {
    json!({"type": "content_block_stop", "index": at})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ]
}

/// Reasoning, a search with its result, text that cites it, and a call.
fn stream() -> Vec<Value> {
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "e"}]});
    let citation = json!({"type": "web_search_result_location", "url": "https://a", "title": "A", "encrypted_index": "i", "cited_text": "c"});
    let mut stream = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}}),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, "thinking_delta", "thinking", &json!("Let me")),
        delta(0, "thinking_delta", "thinking", &json!(" see")),
        delta(0, "signature_delta", "signature", &json!("EqQB")),
        stop(0),
        start(1, &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(1, "input_json_delta", "partial_json", &json!("{\"query\":")),
        delta(1, "input_json_delta", "partial_json", &json!(" \"a\"}")),
        stop(1),
        start(2, &found),
        stop(2),
        start(3, &json!({"type": "text", "text": "", "citations": []})),
        delta(3, "citations_delta", "citation", &citation),
        delta(3, "text_delta", "text", &json!("So it is.")),
        stop(3),
        start(4, &json!({"type": "text", "text": ""})),
        stop(4),
        start(5, &json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(5, "input_json_delta", "partial_json", &json!("")),
        delta(5, "input_json_delta", "partial_json", &json!("{\"path\": \"a\"}")),
        stop(5),
    ];
    stream.extend(end("tool_use"));
    stream
}

#[test]
fn thoughts_searches_words_and_calls_are_heard_and_kept() {
    assert_snapshot!(tell(Anthropic, &stream()), @r#"
    thought "Let me"
    thought " see"
    hosted server_tool_use {"id":"srvtoolu_1","input":{"query":"a"},"name":"web_search","type":"server_tool_use"}
    hosted web_search_tool_result {"content":[{"encrypted_content":"e","title":"A","type":"web_search_result","url":"https://a"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"}
    text "So it is."
    call toolu_1 read {"path": "a"}
    usage 100 90 42 0
    done
    --
    {"content":[{"signature":"EqQB","thinking":"Let me see","type":"thinking"},{"id":"srvtoolu_1","input":{"query":"a"},"name":"web_search","type":"server_tool_use"},{"content":[{"encrypted_content":"e","title":"A","type":"web_search_result","url":"https://a"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"},{"citations":[{"cited_text":"c","encrypted_index":"i","title":"A","type":"web_search_result_location","url":"https://a"}],"text":"So it is.","type":"text"},{"id":"toolu_1","input":{"path":"a"},"name":"read","type":"tool_use"}],"role":"assistant"}
    "#);
}

#[test]
fn a_stream_may_break_off_anywhere() {
    check_cut_streams(Anthropic, &stream());
}

#[test]
fn a_whole_message_says_the_same_as_its_stream() {
    let (_, streamed) = decode_stream(Anthropic, &stream());
    let content = Anthropic.assistant_turn(&streamed)[0]["content"].clone();
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}});
    let (_, turn) = decode_stream(Anthropic, &[whole]);
    assert_eq!(Anthropic.assistant_turn(&turn), Anthropic.assistant_turn(&streamed));
}

#[test]
fn what_broke_off_is_kept_as_far_as_it_is_good() {
    let stream = stream();
    assert_snapshot!(tell(Anthropic, &stream[..5]), @r#"
    thought "Let me"
    thought " see"
    usage 100 90 1 0
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    "#);
    assert_snapshot!(tell(Anthropic, &[&stream[13..16], &stream[19..21]].concat()), @r#"
    text "So it is."
    fault the call of `read` cannot be read at `input`: the response ended before the call was complete; send it again, in smaller calls if it is long
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    {"content":[{"citations":[{"cited_text":"c","encrypted_index":"i","title":"A","type":"web_search_result_location","url":"https://a"}],"text":"So it is.","type":"text"},{"id":"toolu_1","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}
    "#);
}

#[test]
fn a_call_that_cannot_be_parsed_has_an_empty_input() {
    let call = start(0, &json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}));
    let stream = [call, delta(0, "input_json_delta", "partial_json", &json!("{\"a\": oops")), stop(0)];
    assert_snapshot!(tell(Anthropic, &[&stream[..], &end("tool_use")].concat()), @r#"
    call toolu_1 read {"a": oops
    usage 0 0 42 0
    done
    --
    {"content":[{"id":"toolu_1","input":{},"name":"read","type":"tool_use"}],"role":"assistant"}
    "#);
}

#[test]
fn a_message_ends_in_many_ways() {
    let told = ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "stop_sequence"]
        .map(|reason| tell(Anthropic, &end(reason)).trim_end_matches("\n--\n").to_owned());
    assert_snapshot!(told.join("\n"), @r#"
    usage 0 0 42 0
    cut short: max_tokens
    usage 0 0 42 0
    cut short: refusal
    usage 0 0 42 0
    cut short: pause_turn
    usage 0 0 42 0
    cut short: model_context_window_exceeded
    usage 0 0 42 0
    done
    "#);
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_snapshot!(tell(Anthropic, &[&stream()[..16], &[overloaded]].concat()), @r#"
    thought "Let me"
    thought " see"
    hosted server_tool_use {"id":"srvtoolu_1","input":{"query":"a"},"name":"web_search","type":"server_tool_use"}
    hosted web_search_tool_result {"content":[{"encrypted_content":"e","title":"A","type":"web_search_result","url":"https://a"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"}
    text "So it is."
    usage 100 90 1 0
    failed: Overloaded Soon the model API has too much to do (overloaded_error): Overloaded; try again in a while
    --
    {"content":[{"signature":"EqQB","thinking":"Let me see","type":"thinking"},{"id":"srvtoolu_1","input":{"query":"a"},"name":"web_search","type":"server_tool_use"},{"content":[{"encrypted_content":"e","title":"A","type":"web_search_result","url":"https://a"}],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"},{"citations":[{"cited_text":"c","encrypted_index":"i","title":"A","type":"web_search_result_location","url":"https://a"}],"text":"So it is.","type":"text"}],"role":"assistant"}
    "#);
}

#[test]
fn another_dialect_writes_the_words_and_the_calls() {
    let (_, turn) = decode_stream(Anthropic, &stream());
    let told = [Dialect::Responses, Dialect::Chat].map(|dialect| {
        dialect.assistant_turn(&turn).iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!(told.join("\n\n"), @r#"
    {"content":"So it is.","role":"assistant","type":"message"}
    {"arguments":"{\"path\": \"a\"}","call_id":"toolu_1","name":"read","type":"function_call"}

    {"content":"So it is.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\": \"a\"}","name":"read"},"id":"toolu_1","type":"function"}]}
    "#);
}
