//! Call tests with items, streams and whole responses of the Responses API.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::describe_calls;
use crate::Dialect::Responses;

fn added(at: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": at, "item": item})
}

fn delta(at: u64, text: &str) -> Value {
    let (kind, item) = ("response.function_call_arguments.delta", format!("fc_{at}"));
    json!({"type": kind, "output_index": at, "item_id": item, "delta": text})
}

fn call(at: u64, arguments: &str) -> Value {
    let (item, id) = (format!("fc_{at}"), format!("call_{at}"));
    json!({"type": "function_call", "id": item, "call_id": id, "name": "read", "arguments": arguments})
}

#[test]
fn bare_items_are_calls() {
    let told = describe_calls(
        Responses,
        &[
            call(1, r#"{"a":1}"#),
            json!({"type": "function_call", "id": "fc", "name": "x", "namespace": "mcp__files", "arguments": {"b": 2}}),
            json!({"type": "function_call", "call_id": "c2", "name": "x", "namespace": "functions"}),
            json!({"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin"}),
            json!({"type": "reasoning", "id": "r"}),
            json!({"type": "web_search_call", "id": "w"}),
            json!({"type": "message", "content": []}),
        ],
    );
    assert_snapshot!(told, @r#"
    call_1 function read {"a":1}
    fc function mcp__files__x {"b":2}
    c2 function x {}
    c3 custom apply_patch *** Begin
    "#);
}

#[test]
fn what_cannot_be_read_is_named_with_its_path() {
    let told = describe_calls(
        Responses,
        &[
            json!({"type": "function_call", "name": "x", "arguments": "{}"}),
            json!({"type": "function_call", "call_id": "c1", "arguments": "{}"}),
            json!({"type": "function_call", "call_id": "c2", "name": 7}),
            json!({"type": "function_call", "call_id": "c3", "name": "x", "arguments": [1]}),
            json!({"type": "custom_tool_call", "call_id": "c4", "name": "x"}),
            json!({"type": "function_call", "call_id": "c5", "name": "x", "arguments": "{\"a", "status": "incomplete"}),
        ],
    );
    assert_snapshot!(told, @r"
    - fault the call of `x` cannot be read at `call_id`: it is missing
    c1 fault the call cannot be read at `name`: it is missing
    c2 fault the call cannot be read at `name`: expected a string, found a number
    c3 fault the call of `x` cannot be read at `arguments`: expected a string, found an array
    c4 fault the call of `x` cannot be read at `input`: it is missing
    c5 fault the call of `x` cannot be read at `arguments`: the response ended before the call was complete; send it again, in smaller calls if it is long
    ");
}

#[test]
fn the_finished_item_counts_and_is_reported_once() {
    let told = describe_calls(
        Responses,
        &[
            json!({"type": "response.created", "response": {"object": "response", "output": []}}),
            added(0, &call(0, "")),
            delta(0, "{\"never\":"),
            json!({"type": "response.output_item.done", "output_index": 0, "item": call(0, r#"{"a":1}"#)}),
            json!({"type": "response.completed", "response": {"output": [call(0, r#"{ "a": 1 }"#), call(1, "{}")]}}),
        ],
    );
    assert_snapshot!(told, @r#"
    call_0 function read {"a":1}
    call_1 function read {}
    "#);
}

#[test]
fn deltas_are_used_where_no_finished_item_comes() {
    let custom = json!({"type": "custom_tool_call", "id": "ctc", "call_id": "c9", "name": "p", "input": ""});
    let told = describe_calls(
        Responses,
        &[
            added(0, &call(0, "")),
            added(1, &call(1, "")),
            added(2, &custom),
            added(
                3,
                &json!({"type": "local_shell_call", "id": "ls", "call_id": "c8", "status": "in_progress"}),
            ),
            added(4, &call(4, "")),
            delta(0, "{\"a\""),
            delta(1, "{\"b\""),
            delta(0, ":1}"),
            json!({"type": "response.custom_tool_call_input.delta", "item_id": "ctc", "delta": "half"}),
            json!({"type": "response.custom_tool_call_input.done", "item_id": "ctc", "input": "half a patch"}),
            json!({"type": "response.function_call_arguments.done", "output_index": 4, "item_id": "other", "arguments": ""}),
        ],
    );
    assert_snapshot!(told, @r#"
    call_0 function read {"a":1}
    call_1 fault the call of `read` cannot be read at `arguments`: the response ended before the call was complete; send it again, in smaller calls if it is long
    c9 custom p half a patch
    c8 fault the call of `local_shell` cannot be read at `action`: the response ended before the call was complete; send it again, in smaller calls if it is long
    call_4 function read {}
    "#);
}

#[test]
fn a_finished_item_without_arguments_keeps_the_streamed_ones() {
    let done = json!({"type": "response.output_item.done", "item": call(0, "")});
    let completed = json!({"type": "response.completed", "response": {"output": []}});
    let told = describe_calls(
        Responses,
        &[added(0, &call(0, "")), delta(0, r#"{"a":1}"#), done, added(1, &call(1, "")), completed],
    );
    assert_snapshot!(told, @r#"
    call_0 function read {"a":1}
    call_1 function read {}
    "#);
}

#[test]
fn a_whole_response_is_read() {
    let response =
        json!({"object": "response", "output": [{"type": "message"}, call(1, "{}"), call(2, "[]")]});
    assert_snapshot!(describe_calls(Responses, &[response]), @r"
    call_1 function read {}
    call_2 function read []
    ");
}
