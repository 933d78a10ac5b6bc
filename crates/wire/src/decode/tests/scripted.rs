//! Decoding tests with streams of the scripted server that our benchmarks use.

use insta::assert_snapshot;
use serde_json::Value;

use super::tell;
use crate::Dialect;

const RESPONSES: &str = r#"
{"response": {"id": "resp_0003", "object": "response", "status": "in_progress", "output": []}, "type": "response.created", "sequence_number": 0}
{"output_index": 0, "item": {"type": "message", "id": "msg_0003_00", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}, "type": "response.output_item.added", "sequence_number": 1}
{"item_id": "msg_0003_00", "output_index": 0, "content_index": 0, "delta": "hi", "type": "response.output_text.delta", "sequence_number": 2}
{"output_index": 0, "item": {"type": "message", "id": "msg_0003_00", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}, "type": "response.output_item.done", "sequence_number": 3}
{"output_index": 1, "item": {"type": "function_call", "id": "fc_0003_01", "call_id": "call_0003_01", "name": "exec_command", "arguments": "{\"cmd\": \"true\"}", "status": "completed"}, "type": "response.output_item.added", "sequence_number": 4}
{"output_index": 1, "item": {"type": "function_call", "id": "fc_0003_01", "call_id": "call_0003_01", "name": "exec_command", "arguments": "{\"cmd\": \"true\"}", "status": "completed"}, "type": "response.output_item.done", "sequence_number": 5}
{"output_index": 2, "item": {"type": "custom_tool_call", "id": "ctc_0003_02", "call_id": "call_0003_02", "name": "apply_patch", "input": "*** Begin", "status": "completed"}, "type": "response.output_item.added", "sequence_number": 6}
{"output_index": 2, "item": {"type": "custom_tool_call", "id": "ctc_0003_02", "call_id": "call_0003_02", "name": "apply_patch", "input": "*** Begin", "status": "completed"}, "type": "response.output_item.done", "sequence_number": 7}
{"response": {"id": "resp_0003", "object": "response", "status": "completed", "output": [{"type": "message", "id": "msg_0003_00", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}, {"type": "function_call", "id": "fc_0003_01", "call_id": "call_0003_01", "name": "exec_command", "arguments": "{\"cmd\": \"true\"}", "status": "completed"}, {"type": "custom_tool_call", "id": "ctc_0003_02", "call_id": "call_0003_02", "name": "apply_patch", "input": "*** Begin", "status": "completed"}], "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}}, "type": "response.completed", "sequence_number": 8}
"#;

const CHAT: &str = r#"
{"id": "chatcmpl_0003", "object": "chat.completion.chunk", "created": 1700000000, "model": "mock", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}
{"id": "chatcmpl_0003", "object": "chat.completion.chunk", "created": 1700000000, "model": "mock", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": null}]}
{"id": "chatcmpl_0003", "object": "chat.completion.chunk", "created": 1700000000, "model": "mock", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "call_0003_01", "type": "function", "function": {"name": "exec_command", "arguments": "{\"cmd\": \"true\"}"}}]}, "finish_reason": null}]}
{"id": "chatcmpl_0003", "object": "chat.completion.chunk", "created": 1700000000, "model": "mock", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}
"#;

fn events(lines: &str) -> Vec<Value> {
    lines.trim().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_scripted_server_is_understood() {
    assert_snapshot!(tell(Dialect::Responses, &events(RESPONSES)), @r#"
    text "hi"
    call call_0003_01 exec_command {"cmd": "true"}
    call call_0003_02 apply_patch *** Begin
    usage 100 0 10 0
    done
    --
    {"content":[{"annotations":[],"text":"hi","type":"output_text"}],"id":"msg_0003_00","role":"assistant","status":"completed","type":"message"}
    {"arguments":"{\"cmd\": \"true\"}","call_id":"call_0003_01","id":"fc_0003_01","name":"exec_command","status":"completed","type":"function_call"}
    {"call_id":"call_0003_02","id":"ctc_0003_02","input":"*** Begin","name":"apply_patch","status":"completed","type":"custom_tool_call"}
    "#);
    assert_snapshot!(tell(Dialect::Chat, &events(CHAT)), @r#"
    text "hi"
    call call_0003_01 exec_command {"cmd": "true"}
    usage 100 0 10 0
    done
    --
    {"content":"hi","role":"assistant","tool_calls":[{"function":{"arguments":"{\"cmd\": \"true\"}","name":"exec_command"},"id":"call_0003_01","type":"function"}]}
    "#);
}
