//! Decoding tests with streams of Chat Completions servers.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{check_cut_streams, tell};
use crate::Dialect::Chat;

fn chunk(delta: &Value, reason: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

fn call(arguments: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": arguments}}]})
}

fn usage() -> Value {
    json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}})
}

#[test]
fn openai_sends_a_role_first_and_usage_last() {
    let stream = [
        chunk(&json!({"role": "assistant", "content": "", "refusal": null}), None),
        chunk(&json!({"content": "Hel"}), None),
        chunk(&json!({"content": "lo"}), None),
        chunk(&call("{\"a\""), None),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}), None),
        chunk(&json!({}), Some("tool_calls")),
        usage(),
    ];
    check_cut_streams(Chat, &stream);
    assert_snapshot!(tell(Chat, &stream), @r#"
    text "Hel"
    text "lo"
    call call_1 read {"a":1}
    usage 9 4 3 2
    done
    --
    {"content":"Hello","role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":1}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
}

#[test]
fn servers_that_think_aloud_get_their_thoughts_back_with_calls() {
    let deepseek = [
        chunk(&json!({"role": "assistant", "content": null, "reasoning_content": "Let me"}), None),
        chunk(&json!({"reasoning_content": " see"}), None),
        chunk(&call("{}"), None),
        chunk(&json!({"content": ""}), Some("tool_calls")),
    ];
    assert_snapshot!(tell(Chat, &deepseek), @r#"
    thought "Let me"
    thought " see"
    call call_1 read {}
    done
    --
    {"content":"","reasoning_content":"Let me see","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
    let detail = |text: &str, signature: Value| json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text, "signature": signature}]});
    let openrouter = [
        chunk(&detail("Hm", Value::Null), None),
        chunk(&detail("m", json!("sig")), None),
        chunk(&call("{}"), Some("tool_calls")),
    ];
    assert_snapshot!(tell(Chat, &openrouter), @r#"
    thought "Hm"
    thought "m"
    call call_1 read {}
    done
    --
    {"content":"","reasoning":"Hmm","reasoning_details":[{"index":0,"signature":"sig","text":"Hmm","type":"reasoning.text"}],"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
    let vllm =
        [chunk(&json!({"reasoning_content": "Hm"}), None), chunk(&json!({"content": "Hi"}), Some("stop"))];
    assert_snapshot!(tell(Chat, &vllm), @r#"
    thought "Hm"
    text "Hi"
    done
    --
    {"content":"Hi","role":"assistant"}
    "#);
}

#[test]
fn gemini_gets_the_signature_of_its_call_back() {
    let mut signed = call("{}");
    signed["tool_calls"][0]["extra_content"] = json!({"google": {"thought_signature": "s"}});
    assert_snapshot!(tell(Chat, &[chunk(&signed, None), chunk(&json!({}), Some("stop"))]), @r#"
    call call_1 read {}
    done
    --
    {"content":"","role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"s"}},"function":{"arguments":"{}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
}

#[test]
fn usage_may_come_with_the_end_or_all_along() {
    let mut last = chunk(&json!({}), Some("stop"));
    last["usage"] = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let mut first = chunk(&json!({"content": "ok"}), None);
    first["usage"] = json!({"prompt_tokens": 100, "completion_tokens": 1});
    assert_snapshot!(tell(Chat, &[first, last]), @r#"
    text "ok"
    usage 100 0 10 0
    done
    --
    {"content":"ok","role":"assistant"}
    "#);
}

#[test]
fn a_whole_completion_is_heard() {
    let message = json!({"role": "assistant", "content": "Hello", "tool_calls": call("{}")["tool_calls"]});
    let mut whole = usage();
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": "tool_calls"}]);
    assert_snapshot!(tell(Chat, &[whole]), @r#"
    text "Hello"
    call call_1 read {}
    usage 9 4 3 2
    done
    --
    {"content":"Hello","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
}

#[test]
fn a_response_ends_in_many_ways() {
    let text = chunk(&json!({"content": "x"}), None);
    let told = [
        vec![text.clone(), chunk(&json!({}), Some("length"))],
        vec![text.clone(), chunk(&json!({}), Some("content_filter")), usage()],
        vec![text.clone()],
        vec![text, json!({"error": {"message": "Provider returned error", "code": 502}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]})],
        vec![json!({"error": {"message": "Overloaded", "type": "overloaded_error"}})],
        vec![json!({"error": "model requires more system memory"})],
        vec![],
    ]
    .map(|stream| tell(Chat, &stream));
    assert_snapshot!(told.join("\n\n"), @r#"
    text "x"
    cut short: length
    --
    {"content":"x","role":"assistant"}

    text "x"
    usage 9 4 3 2
    cut short: content_filter
    --
    {"content":"x","role":"assistant"}

    text "x"
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    {"content":"x","role":"assistant"}

    text "x"
    failed: Server Soon something went wrong inside the model API (502): Provider returned error; try again in a while
    --
    {"content":"x","role":"assistant"}

    failed: Overloaded Soon the model API has too much to do (overloaded_error): Overloaded; try again in a while
    --


    failed: Server Soon something went wrong inside the model API: model requires more system memory; try again in a while
    --


    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    "#);
}

#[test]
fn arguments_that_are_no_json_stay_as_they_are_and_half_a_call_is_told() {
    let stream = [chunk(&call("{\"a\": oops"), None), chunk(&json!({}), Some("tool_calls"))];
    assert_snapshot!(tell(Chat, &stream), @r#"
    call call_1 read {"a": oops
    done
    --
    {"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\": oops","name":"read"},"id":"call_1","type":"function"}]}
    "#);
    assert_snapshot!(tell(Chat, &stream[..1]), @r#"
    fault the call of `read` cannot be read at `function.arguments`: the response ended before the call was complete; send it again, in smaller calls if it is long
    failed: Broken Soon the stream of the model ended before its response did; send the request again
    --
    {"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"read"},"id":"call_1","type":"function"}]}
    "#);
}

#[test]
fn chunks_that_say_nothing_end_nothing() {
    let silent = [
        json!({}),
        json!(null),
        json!({"index": 0, "message": {}}),
        json!({"delta": {}, "finish_reason": ""}),
    ];
    for choice in silent {
        let between = json!({ "choices": [choice] });
        let stream = [
            chunk(&json!({"content": "Hel"}), None),
            between.clone(),
            chunk(&json!({"content": "lo"}), None),
            chunk(&json!({}), Some("length")),
        ];
        let told = tell(Chat, &stream);
        assert!(told.contains(r#"{"content":"Hello","role":"assistant"}"#), "{between}: {told}");
    }
}
