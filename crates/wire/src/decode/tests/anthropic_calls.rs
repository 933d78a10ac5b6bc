//! Call tests with streams, messages and blocks of the Messages API.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::describe_calls;
use crate::Dialect::Anthropic;

fn start(at: u64, input: &Value) -> Value {
    let block = json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": "read", "input": input});
    json!({"type": "content_block_start", "index": at, "content_block": block})
}

fn delta(at: u64, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": text}})
}

fn stop(at: u64) -> Value {
    json!({"type": "content_block_stop", "index": at})
}

#[test]
fn blocks_are_put_together_by_index() {
    let told = describe_calls(
        Anthropic,
        &[
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
            stop(0),
            start(1, &json!({})),
            start(2, &json!({})),
            delta(1, ""),
            delta(2, "{\"b\":"),
            delta(1, "{\"a\": \"\\u00"),
            delta(1, "e9\"}"),
            delta(2, "2}"),
            stop(2),
            stop(1),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
            json!({"id": "m", "type": "message", "content": [{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"a": "é"}}]}),
        ],
    );
    assert_snapshot!(told, @r#"
    toolu_2 function read {"b":2}
    toolu_1 function read {"a": "\u00e9"}
    "#);
}

#[test]
fn without_deltas_the_first_input_counts() {
    let told = describe_calls(
        Anthropic,
        &[
            start(0, &json!({})),
            stop(0),
            start(1, &json!({"a": 1})),
            stop(1),
            start(2, &json!({"a": 1})),
            delta(2, "{\"b\": 2}"),
            stop(2),
        ],
    );
    assert_snapshot!(told, @r#"
    toolu_0 function read {}
    toolu_1 function read {"a":1}
    toolu_2 function read {"b": 2}
    "#);
}

#[test]
fn a_stream_that_breaks_off_leaves_calls_and_faults() {
    let told = describe_calls(
        Anthropic,
        &[start(0, &json!({})), start(1, &json!({})), delta(0, "{\"a\":1}"), delta(1, "{\"a\"")],
    );
    assert_snapshot!(told, @r#"
    toolu_0 function read {"a":1}
    toolu_1 fault the call of `read` cannot be read at `input`: the response ended before the call was complete; send it again, in smaller calls if it is long
    "#);
}

#[test]
fn whole_messages_and_bare_blocks_are_read() {
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"z": 1, "a": [2]}});
    let told = describe_calls(
        Anthropic,
        &[
            used("t0"),
            json!({"role": "assistant", "content": [{"type": "thinking"}, used("t0"), used("t1")]}),
            json!({"type": "message", "content": [{"type": "server_tool_use", "id": "s"}, used("t2"), used("t3")], "stop_reason": "max_tokens"}),
            json!({"role": "user", "content": "hello"}),
            json!({"type": "tool_use", "name": "read", "input": {}}),
            json!({"type": "tool_use", "id": "t4", "input": {}}),
            json!({"type": "tool_use", "id": "t5", "name": "read", "input": 5}),
            json!({"type": "tool_use", "id": "t6", "name": "read", "input": "{\"a\": 1}"}),
            json!({"type": "tool_use", "id": "t6", "name": "write", "input": {"b": 2}}),
        ],
    );
    assert_snapshot!(told, @r#"
    t0 function read {"a":[2],"z":1}
    t0 function read {"a":[2],"z":1}
    t1 function read {"a":[2],"z":1}
    t2 function read {"a":[2],"z":1}
    t3 fault the call of `read` cannot be read at `input`: the response ended before the call was complete; send it again, in smaller calls if it is long
    - fault the call of `read` cannot be read at `id`: it is missing
    t4 fault the call cannot be read at `name`: it is missing
    t5 fault the call of `read` cannot be read at `input`: expected an object, found a number
    t6 function read {"a": 1}
    t6 function write {"b":2}
    "#);
}
