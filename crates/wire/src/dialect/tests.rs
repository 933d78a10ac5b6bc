//! Tests of dialects: their names, and user messages, turns and replies in every dialect.

use insta::assert_snapshot;
use serde_json::json;
use tool::{OutputItem, ToolPayload};

use super::*;

fn lines(items: &[Value]) -> String {
    items.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn user_messages_in_every_dialect() {
    let picture = [OutputImage { mime: "image/png", bytes: vec![0, 1, 254] }];
    let told = Dialect::ALL.map(|dialect| {
        lines(&[
            dialect.user_message("hi", &[]),
            dialect.user_message("see", &picture),
            dialect.user_message(" ", &picture),
            dialect.user_message("", &[]),
        ])
    });
    assert_snapshot!(told.join("\n\n"), @r#"
    {"content":[{"text":"hi","type":"input_text"}],"role":"user","type":"message"}
    {"content":[{"text":"see","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AAH+","type":"input_image"}],"role":"user","type":"message"}
    {"content":[{"detail":"auto","image_url":"data:image/png;base64,AAH+","type":"input_image"}],"role":"user","type":"message"}
    {"content":[{"text":"(an empty message)","type":"input_text"}],"role":"user","type":"message"}

    {"content":"hi","role":"user"}
    {"content":[{"text":"see","type":"text"},{"image_url":{"url":"data:image/png;base64,AAH+"},"type":"image_url"}],"role":"user"}
    {"content":[{"image_url":{"url":"data:image/png;base64,AAH+"},"type":"image_url"}],"role":"user"}
    {"content":"(an empty message)","role":"user"}

    {"content":[{"text":"hi","type":"text"}],"role":"user"}
    {"content":[{"text":"see","type":"text"},{"source":{"data":"AAH+","media_type":"image/png","type":"base64"},"type":"image"}],"role":"user"}
    {"content":[{"source":{"data":"AAH+","media_type":"image/png","type":"base64"},"type":"image"}],"role":"user"}
    {"content":[{"text":"(an empty message)","type":"text"}],"role":"user"}
    "#);
}

/// Returns a turn with calls of every kind, one unreadable and one lost.
fn sample_turn(dialect: Dialect) -> AssistantTurn {
    let call = |id: &str, name: &str, payload: Value| json!({"id": id, "name": name, "payload": payload});
    let pieces = json!([
        {"call": call("a", "functions.read:0", json!({"arguments": "{oops"}))},
        {"text": "and"},
        {"call": call("b.1", "patch", json!({"input": "*** Begin"}))},
        {"call": call("c", "local_shell", json!({"command": ["ls"]}))},
        {"unread": call("d", "", json!({"arguments": "{}"})), "why": "the call cannot be read"},
        {"lost": "the call of `x` cannot be read at `id`: it is missing"},
    ]);
    AssistantTurn::from_saved_json(&json!({"dialect": dialect.as_str(), "pieces": pieces})).unwrap()
}

#[test]
fn a_turn_and_its_replies_in_every_dialect() {
    let told = Dialect::ALL.map(|dialect| {
        let turn = sample_turn(Dialect::Responses);
        let output = ToolOutput::text("ok");
        let ids: Vec<CallId> = ["c", "a", "a", "stranger"].map(CallId::from).to_vec();
        let replies = dialect.turn_replies(&turn, ids.iter().map(|id| (id, &output)));
        format!("{}\n--\n{}", lines(&dialect.assistant_turn(&turn)), lines(&replies))
    });
    assert_snapshot!(told.join("\n\n"), @r#"
    {"arguments":"{oops","call_id":"a","name":"functions_read_0","type":"function_call"}
    {"content":"and","role":"assistant","type":"message"}
    {"call_id":"b.1","input":"*** Begin","name":"patch","type":"custom_tool_call"}
    {"arguments":"{\"command\":[\"ls\"]}","call_id":"c","name":"local_shell","type":"function_call"}
    {"arguments":"{}","call_id":"d","name":"unknown","type":"function_call"}
    --
    {"call_id":"a","output":"ok","type":"function_call_output"}
    {"call_id":"b.1","output":"the call was interrupted before it came to an answer; what it did until then is unknown","type":"custom_tool_call_output"}
    {"call_id":"c","output":"ok","type":"function_call_output"}
    {"call_id":"d","output":"the call cannot be read","type":"function_call_output"}
    {"content":[{"text":"the call of `x` cannot be read at `id`: it is missing","type":"input_text"}],"role":"user","type":"message"}

    {"content":"and","role":"assistant","tool_calls":[{"function":{"arguments":"{oops","name":"functions_read_0"},"id":"a","type":"function"},{"function":{"arguments":"{\"input\":\"*** Begin\"}","name":"patch"},"id":"b.1","type":"function"},{"function":{"arguments":"{\"command\":[\"ls\"]}","name":"local_shell"},"id":"c","type":"function"},{"function":{"arguments":"{}","name":"unknown"},"id":"d","type":"function"}]}
    --
    {"content":"ok","role":"tool","tool_call_id":"a"}
    {"content":"the call was interrupted before it came to an answer; what it did until then is unknown","role":"tool","tool_call_id":"b.1"}
    {"content":"ok","role":"tool","tool_call_id":"c"}
    {"content":"the call cannot be read","role":"tool","tool_call_id":"d"}
    {"content":"the call of `x` cannot be read at `id`: it is missing","role":"user"}

    {"content":[{"text":"and","type":"text"},{"id":"a","input":{},"name":"functions_read_0","type":"tool_use"},{"id":"b_1_ff76db1912939d00","input":{"input":"*** Begin"},"name":"patch","type":"tool_use"},{"id":"c","input":{"command":["ls"]},"name":"local_shell","type":"tool_use"},{"id":"d","input":{},"name":"unknown","type":"tool_use"}],"role":"assistant"}
    --
    {"content":"ok","tool_use_id":"a","type":"tool_result"}
    {"content":"the call was interrupted before it came to an answer; what it did until then is unknown","is_error":true,"tool_use_id":"b_1_ff76db1912939d00","type":"tool_result"}
    {"content":"ok","tool_use_id":"c","type":"tool_result"}
    {"content":"the call cannot be read","is_error":true,"tool_use_id":"d","type":"tool_result"}
    {"content":[{"text":"the call of `x` cannot be read at `id`: it is missing","type":"text"}],"role":"user"}
    "#);
}

#[test]
fn empty_turn_writes_no_item() {
    for dialect in Dialect::ALL {
        let lost = json!({"dialect": "chat", "pieces": [{"lost": "no id"}]});
        let turn = AssistantTurn::from_saved_json(&lost).unwrap();
        assert_eq!(dialect.assistant_turn(&turn), [] as [Value; 0], "{dialect}");
        assert_eq!(dialect.turn_replies(&turn, []), [dialect.user_message("no id", &[])], "{dialect}");
    }
}

#[test]
fn a_shell_call_goes_back_as_it_came_and_to_others_as_a_function() {
    let raw = json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}});
    let mut decoder = Dialect::Responses.stream_decoder();
    decoder.push(&json!({"type": "response.output_item.done", "output_index": 0, "item": raw}));
    let turn = decoder.into_turn();
    assert!(turn.calls().all(|call| matches!(call.payload, ToolPayload::LocalShell(_))));
    assert_eq!(Dialect::Responses.assistant_turn(&turn), [raw]);
    assert_snapshot!(lines(&Dialect::Chat.assistant_turn(&turn)), @r#"{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{\"command\":[\"ls\"]}","name":"local_shell"},"id":"c","type":"function"}]}"#);
}

#[test]
fn names_are_read_and_written() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
    }
    let error = "Chat".parse::<Dialect>().unwrap_err();
    insta::assert_snapshot!(error, @"there is no dialect `Chat`; there are `responses`, `chat` and `anthropic`");
}

#[test]
fn tool_messages_come_before_the_images_of_any() {
    let image = OutputItem::Image(OutputImage { mime: "image/png", bytes: vec![1] });
    let picture = ToolOutput { items: vec![image], ..ToolOutput::text("") };
    let text = ToolOutput::text("b");
    let calls = ["a", "b"].map(|id| ToolCall::function(id, "t", "{}"));
    let items = Dialect::Chat.answers([(&calls[0], &picture), (&calls[1], &text)]);
    let roles: Vec<&str> = items.iter().filter_map(|item| item["role"].as_str()).collect();
    assert_eq!(roles, ["tool", "tool", "user"]);
}
