//! Call reader tests with several responses: the ids of calls, and repetitions.

use serde_json::{Value, json};

use super::describe_calls;
use crate::Dialect;

fn calls(dialect: Dialect, stream: &[Value]) -> usize {
    describe_calls(dialect, stream).lines().count()
}

#[test]
fn chat_may_use_its_ids_again_in_the_next_response_and_repeat_itself_in_this_one() {
    let call = json!({"index": 0, "id": "c0", "function": {"name": "go", "arguments": "{}"}});
    let chunk = |id: Option<&str>, end: Option<&str>| {
        let delta = if end.is_some() { json!({}) } else { json!({"tool_calls": [call]}) };
        json!({"id": id, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    };
    let usage = json!({"id": "a", "choices": [], "usage": {}});
    let whole = |id: Option<&str>| json!({"id": id, "choices": [{"message": {"tool_calls": [call]}}]});
    let message = json!({"role": "assistant", "tool_calls": [call]});
    let turn = |id| [chunk(id, None), chunk(id, Some("tool_calls")), usage.clone()];
    assert_eq!(calls(Dialect::Chat, &[turn(None), turn(None), turn(None)].concat()), 3);
    assert_eq!(calls(Dialect::Chat, &[turn(Some("a")), turn(Some("b")), turn(Some("b"))].concat()), 2);
    for id in [None, Some("a")] {
        assert_eq!(calls(Dialect::Chat, &[whole(id), whole(id)]), 2, "{id:?}");
    }
    let stream = [chunk(Some("a"), None), chunk(Some("a"), Some("tool_calls")), usage];
    assert_eq!(calls(Dialect::Chat, &[&stream[..], &[whole(Some("a"))]].concat()), 1);
    assert_eq!(calls(Dialect::Chat, &[chunk(Some("a"), None), chunk(Some("b"), None)]), 1);
    assert_eq!(calls(Dialect::Chat, &[message.clone(), message]), 2);
}

#[test]
fn responses_may_use_its_ids_again_in_the_next_response_and_repeat_itself_in_this_one() {
    let item = json!({"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{}"});
    let done = json!({"type": "response.output_item.done", "item": item});
    let created = |id: &str| json!({"type": "response.created", "response": {"id": id}});
    let completed =
        |id: &str| json!({"type": "response.completed", "response": {"id": id, "output": [item]}});
    let whole = json!({"id": "r", "output": [item]});
    let turn = |start: &str, end: &str| [created(start), done.clone(), completed(end)];
    assert_eq!(calls(Dialect::Responses, &[turn("a", "a"), turn("b", "b"), turn("b", "b")].concat()), 3);
    assert_eq!(calls(Dialect::Responses, &[turn("", "a"), turn("", "b")].concat()), 2);
    assert_eq!(calls(Dialect::Responses, &[completed("a"), completed("b")]), 2);
    assert_eq!(calls(Dialect::Responses, &[whole.clone(), whole]), 2);
    assert_eq!(calls(Dialect::Responses, &[item.clone(), item.clone(), completed("a")]), 3);
    let other = json!({"type": "function_call", "call_id": "c0", "name": "go", "arguments": "{\"a\":1}"});
    let told = describe_calls(Dialect::Responses, &[json!({"id": "r", "output": [item, other]})]);
    assert!(told.contains("already has the id `c0`"), "{told}");
}

#[test]
fn anthropic_may_use_its_ids_again_in_the_next_message_and_repeat_itself_in_this_one() {
    let block = json!({"type": "tool_use", "id": "t0", "name": "go", "input": {}});
    let start = |id: Option<&str>| json!({"type": "message_start", "message": {"id": id, "content": []}});
    let parts = [
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_stop"}),
    ];
    let message = |id: Option<&str>| json!({"id": id, "role": "assistant", "content": [block]});
    for id in [None, Some("m")] {
        let turn = [&[start(id)][..], &parts].concat();
        assert_eq!(calls(Dialect::Anthropic, &[turn.clone(), turn].concat()), 2, "{id:?}");
        assert_eq!(calls(Dialect::Anthropic, &[message(id), message(id)]), 2, "{id:?}");
    }
    assert_eq!(calls(Dialect::Anthropic, &[parts.clone(), parts.clone()].concat()), 2);
    assert_eq!(
        calls(Dialect::Anthropic, &[&[start(Some("m"))][..], &parts, &[message(Some("m"))]].concat()),
        1
    );
}

#[test]
fn a_reader_has_no_limit_on_text() {
    let text = "x".repeat(1 << 20);
    let long = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let mut reader = Dialect::Chat.call_reader();
    assert!((0..70).all(|_| reader.push(&long).is_empty()));
    let call = json!({"index": 0, "id": "c", "function": {"name": "go", "arguments": "{}"}});
    let last = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "stop"}]});
    assert_eq!(reader.push(&last).len(), 1);
}
