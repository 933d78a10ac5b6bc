//! Call tests with streams of Chat Completions servers and their deviations.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::describe_calls;
use crate::Dialect::Chat;

fn chunk(calls: &Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": null}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn ends(chunks: &[Value]) -> String {
    let mut stream: Vec<Value> = chunks.iter().map(chunk).collect();
    stream.push(end("tool_calls"));
    describe_calls(Chat, &stream)
}

#[test]
fn openai_interleaves_by_index_and_cuts_anywhere() {
    let told = ends(&[
        json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}]),
        json!([{"index": 0, "function": {"arguments": "{\"p\": \"\\ud8"}}]),
        json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "list", "arguments": "{"}}]),
        json!([{"index": 0, "function": {"arguments": "3d\\ude00\"}"}}, {"index": 1, "function": {"arguments": "}"}}]),
        json!([{"index": 1, "function": {"arguments": ""}}]),
    ]);
    assert_snapshot!(told, @r#"
    a function read {"p": "\ud83d\ude00"}
    b function list {}
    "#);
}

#[test]
fn names_are_repeated_grown_or_cut() {
    let told = ends(&[
        json!([{"index": 0, "id": "repeated", "function": {"name": "read", "arguments": "{\"a\""}}]),
        json!([{"index": 0, "id": "repeated", "function": {"name": "read", "arguments": ":1}"}}]),
        json!([{"index": 1, "id": "grown", "function": {"name": "re"}}]),
        json!([{"index": 1, "id": "grown", "function": {"name": "read"}}]),
        json!([{"index": 2, "id": "cut", "function": {"name": "re"}}]),
        json!([{"index": 2, "function": {"name": "ad"}}]),
    ]);
    assert_snapshot!(told, @r#"
    repeated function read {"a":1}
    grown function read {}
    cut function read {}
    "#);
}

#[test]
fn one_index_for_all_calls_is_seen_through() {
    let told = ends(&[
        json!([{"index": 0, "id": "gemini-1", "function": {"name": "read", "arguments": "{}"}}]),
        json!([{"index": 0, "id": "gemini-2", "function": {"name": "read", "arguments": "{}"}}]),
    ]);
    assert_snapshot!(told, @r"
    gemini-1 function read {}
    gemini-2 function read {}
    ");
    let told = ends(&[
        json!([{"index": 0, "function": {"name": "read", "arguments": "{\"a\":{}}"}}]),
        json!([{"index": 0, "function": {"name": "read", "arguments": "{\"b\":2}"}}]),
        json!([{"index": 0, "function": {"name": "list", "arguments": "{\"c\":3}"}}]),
    ]);
    assert_snapshot!(told, @r#"
    call_toolgate_1 function read {"a":{}}
    call_toolgate_2 function read {"b":2}
    call_toolgate_3 function list {"c":3}
    "#);
}

#[test]
fn a_new_id_in_every_piece_is_seen_through() {
    let told = ends(&[
        json!([{"index": 0, "id": "vllm-1", "function": {"name": "read"}}]),
        json!([{"index": 0, "id": "vllm-2", "function": {"arguments": "{\"a\""}}]),
        json!([{"index": 0, "id": "vllm-3", "function": {"arguments": ":1}"}}]),
    ]);
    assert_snapshot!(told, @r#"vllm-1 function read {"a":1}"#);
}

#[test]
fn without_an_index_the_id_the_name_or_the_position_decides() {
    let by_id = ends(&[
        json!([{"id": "a", "function": {"name": "read", "arguments": "{\"x\""}}]),
        json!([{"id": "b", "function": {"name": "read", "arguments": "{\"y\""}}]),
        json!([{"id": "a", "function": {"arguments": ":1}"}}, {"id": "b", "function": {"arguments": ":2}"}}]),
    ]);
    assert_snapshot!(by_id, @r#"
    a function read {"x":1}
    b function read {"y":2}
    "#);
    let by_name = ends(&[
        json!([{"function": {"name": "read", "arguments": "{\"x\":"}}]),
        json!([{"function": {"arguments": "1}"}}]),
        json!([{"function": {"name": "list", "arguments": "{}"}}]),
        json!([{"function": {"name": "list", "arguments": {}}}]),
    ]);
    assert_snapshot!(by_name, @r#"
    call_toolgate_1 function read {"x":1}
    call_toolgate_2 function list {}
    call_toolgate_3 function list {}
    "#);
    let by_position = ends(&[
        json!([{"function": {"name": "read", "arguments": "{"}}, {"function": {"name": "read", "arguments": "{"}}]),
        json!([{"function": {"arguments": "\"x\":1}"}}, {"function": {"arguments": "\"y\":2}"}}]),
    ]);
    assert_snapshot!(by_position, @r#"
    call_toolgate_1 function read {"x":1}
    call_toolgate_2 function read {"y":2}
    "#);
}

#[test]
fn objects_customs_and_function_calls_are_read() {
    let told = describe_calls(
        Chat,
        &[
            chunk(
                &json!([{"index": 0, "id": "object", "function": {"name": "read", "arguments": {"a": 1}}}]),
            ),
            chunk(
                &json!([{"index": 1, "id": "custom", "type": "custom", "custom": {"name": "patch", "input": "*** "}}]),
            ),
            chunk(&json!([{"index": 1, "custom": {"input": "Begin"}}])),
            chunk(&json!([{"index": 2, "id": "number", "function": {"name": "read", "arguments": 5}}])),
            chunk(&json!([{"index": 3, "id": "nameless", "function": {"arguments": "{}"}}])),
            json!({"choices": [{"delta": {"function_call": {"name": "le", "arguments": ""}}}]}),
            json!({"choices": [{"delta": {"function_call": {"name": "gacy"}}}]}),
            json!({"choices": [{"delta": {"function_call": {"arguments": "{\"a\""}}}]}),
            json!({"choices": [{"delta": {"function_call": {"arguments": ":1}"}}, "finish_reason": "function_call"}]}),
            json!({"choices": [], "usage": {"total_tokens": 3}}),
        ],
    );
    assert_snapshot!(told, @r#"
    object function read {"a":1}
    custom custom patch *** Begin
    number fault the call of `read` cannot be read at `function.arguments`: expected a string, found a number
    nameless fault the call cannot be read at `function.name`: it is missing
    call_toolgate_1 function legacy {"a":1}
    "#);
}

/// llama-cpp-python sends both forms.
#[test]
fn a_call_that_is_said_in_both_ways_is_one_call() {
    let function = |arguments: &str| json!({"name": "read", "arguments": arguments});
    let both = |arguments: &str| {
        json!({"choices": [{"index": 0, "delta": {"function_call": function(arguments),
            "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function(arguments)}]}}]})
    };
    let stream = [both("{\"p\""), both(": 1}"), end("tool_calls")];
    assert_snapshot!(describe_calls(Chat, &stream), @r#"a function read {"p": 1}"#);
    let message =
        json!({"function_call": function("{}"), "tool_calls": [{"id": "b", "function": function("{}")}]});
    assert_snapshot!(describe_calls(Chat, &[json!({"choices": [{"message": message}]})]), @"b function read {}");
}

#[test]
fn generated_ids_differ_between_responses() {
    let id = || {
        let mut reader = Chat.call_reader();
        let readings =
            reader.push(&json!({"choices": [{"message": {"tool_calls": [{"function": {"name": "read"}}]}}]}));
        format!("{readings:?}")
    };
    assert_ne!(id(), id());
}

#[test]
fn a_cut_stream_leaves_whole_calls_and_faults() {
    let calls = [
        json!([{"index": 0, "id": "whole", "function": {"name": "read", "arguments": "{\"a\":1}"}}]),
        json!([{"index": 1, "id": "half", "function": {"name": "read", "arguments": "{\"a\""}}]),
        json!([{"index": 2, "id": "none", "function": {"name": "read"}}]),
        json!([{"index": 3, "id": "text", "custom": {"name": "patch", "input": "*** Be"}}]),
    ];
    let mut stream: Vec<Value> = calls.iter().map(chunk).collect();
    let broken_off = describe_calls(Chat, &stream);
    stream.push(end("length"));
    assert_eq!(describe_calls(Chat, &stream), broken_off);
    assert_snapshot!(broken_off, @r#"
    whole function read {"a":1}
    half fault the call of `read` cannot be read at `function.arguments`: the response ended before the call was complete; send it again, in smaller calls if it is long
    none fault the call of `read` cannot be read at `function.arguments`: the response ended before the call was complete; send it again, in smaller calls if it is long
    text fault the call of `patch` cannot be read at `custom.input`: the response ended before the call was complete; send it again, in smaller calls if it is long
    "#);
}

#[test]
fn whole_completions_messages_and_calls_are_read() {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call("b"), call("c")]});
    let told = describe_calls(
        Chat,
        &[
            call("a"),
            message.clone(),
            json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}),
            json!({"choices": [{"index": 1, "message": {"tool_calls": [call("alternative")]}}]}),
            json!({"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}}),
            json!({"id": "d", "type": "custom", "custom": {"name": "patch", "input": "x"}}),
            json!({"id": "e", "type": "function"}),
            json!({"id": "f", "type": "function", "function": "read"}),
            json!({"id": "", "function": {"name": "unnamed"}}),
            json!({"role": "tool", "tool_call_id": "a", "content": "x"}),
            json!({"error": {"message": "overloaded"}}),
        ],
    );
    assert_snapshot!(told, @"
    a function read {}
    b function read {}
    c function read {}
    b function read {}
    c function read {}
    call_toolgate_1 function old {}
    d custom patch x
    e fault the call cannot be read at `function`: it is missing
    f fault the call cannot be read at `function`: expected an object, found a string
    call_toolgate_2 function unnamed {}
    ");
}

#[test]
fn a_known_id_is_an_echo_or_a_fault_but_never_a_second_call() {
    let piece = |arguments: &str| {
        chunk(&json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": arguments}}]))
    };
    let named = |mut chunk: Value| {
        chunk["id"] = json!("completion");
        chunk
    };
    let told = describe_calls(
        Chat,
        &[
            piece("{\"a\":1}"),
            end("stop"),
            piece("{\"a\":1}"),
            end("stop"),
            piece(""),
            end("stop"),
            piece("{\"b\":2}"),
            end("stop"),
        ]
        .map(named),
    );
    assert_snapshot!(told, @r#"
    a function read {"a":1}
    - fault the call of `read` cannot be read at `id`: another call of this response already has the id `a`; give every call its own
    "#);
}

#[test]
fn chunks_that_say_nothing_are_passed_over() {
    let begin =
        chunk(&json!([{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{\"p\":"}}]));
    let rest = chunk(&json!([{"index": 0, "function": {"arguments": "1}"}}]));
    let silent = [
        json!({"index": 0, "finish_reason": null}),
        json!({}),
        json!(null),
        json!({"index": 0, "delta": null}),
        json!({"index": 0, "delta": null, "message": null, "finish_reason": null}),
        json!({"index": 0, "message": {}}),
        json!({"index": 0, "text": "", "logprobs": null}),
        json!({"index": 0, "delta": {}, "finish_reason": ""}),
        json!({"index": 0, "delta": {}, "finish_reason": "null"}),
        json!({"index": 1, "delta": {}, "finish_reason": "stop"}),
    ];
    for choice in silent {
        let between = json!({ "choices": [choice] });
        let told = describe_calls(Chat, &[begin.clone(), between.clone(), rest.clone(), end("tool_calls")]);
        assert_eq!(told, r#"c function read {"p":1}"#, "{between}");
    }
    let reason_alone = json!({"choices": [{"finish_reason": "tool_calls"}]});
    assert_eq!(describe_calls(Chat, &[begin, rest, reason_alone]), r#"c function read {"p":1}"#);
}
