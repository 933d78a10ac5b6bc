//! Parses tool calls of the Anthropic Messages API.

use serde_json::Value;

use super::ParsedCall;
use super::partial_call::{CallFieldPaths, CallTextEnd, OpenCalls, PartialCall, non_empty_str};
use crate::CallFaultReason;
use crate::fault::CallItemKind;

const TOOL_USE: CallFieldPaths = CallFieldPaths {
    id: "id",
    name: "name",
    text: "input",
    shape: "an object",
    kind: CallItemKind::Function,
};

/// Parser state: the open `tool_use` blocks.
#[derive(Debug, Default)]
pub(super) struct AnthropicCallReader {
    drafts: OpenCalls,
}

impl AnthropicCallReader {
    /// Parses a stream event, a message or a single block.
    pub(super) fn read_event(&mut self, json: &Value) -> Vec<ParsedCall> {
        match json["type"].as_str() {
            Some("content_block_start") => self.start_block(json),
            Some("content_block_delta") => {
                self.append_delta(json);
                Vec::new()
            }
            Some("content_block_stop") => {
                let stopped = self.find_draft(json).and_then(|at| self.drafts.remove(at));
                stopped.map(|draft| draft.finish(CallTextEnd::Complete)).into_iter().collect()
            }
            Some("message_stop") => self.finish(),
            Some("tool_use") => {
                whole_block_draft(json).map(|draft| draft.finish(CallTextEnd::Complete)).into_iter().collect()
            }
            Some("message") | None => parse_message(json),
            Some(_) => Vec::new(),
        }
    }

    /// Closes all open calls at the end of a stream.
    pub(super) fn finish(&mut self) -> Vec<ParsedCall> {
        self.drafts.drain().into_iter().map(|draft| draft.finish(CallTextEnd::Cut)).collect()
    }

    fn start_block(&mut self, event: &Value) -> Vec<ParsedCall> {
        let Some(mut draft) = block_draft(&event["content_block"]) else { return Vec::new() };
        draft.index = event["index"].as_u64();
        draft.set_fallback(&event["content_block"]["input"]);
        self.drafts.open(draft).err().map(|refused| *refused).into_iter().collect()
    }

    fn append_delta(&mut self, event: &Value) {
        let Some(at) = self.find_draft(event) else { return };
        if let Some(piece) = event["delta"]["partial_json"].as_str() {
            self.drafts.append_text(at, piece);
        }
    }

    fn find_draft(&self, event: &Value) -> Option<usize> {
        match event["index"].as_u64() {
            Some(index) => self.drafts.find_newest(|draft| draft.index == Some(index)),
            None => self.drafts.find_newest(|_| true),
        }
    }
}

/// Parses a whole message. If the model ran out of tokens, the input of the last block looks complete but is not.
fn parse_message(message: &Value) -> Vec<ParsedCall> {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let cut = matches!(message["stop_reason"].as_str(), Some("max_tokens" | "model_context_window_exceeded"));
    let readings = blocks.iter().enumerate().filter_map(|(at, json)| {
        let mut draft = whole_block_draft(json)?;
        if cut && at + 1 == blocks.len() {
            draft.fail(TOOL_USE.text, CallFaultReason::Unfinished);
        }
        Some(draft.finish(CallTextEnd::Complete))
    });
    readings.collect()
}

/// Returns the draft of a whole `tool_use` block; `None` for other blocks.
fn whole_block_draft(json: &Value) -> Option<PartialCall> {
    let mut draft = block_draft(json)?;
    draft.set_text(&json["input"]);
    Some(draft)
}

/// Returns the draft of a `tool_use` block without its input.
fn block_draft(block: &Value) -> Option<PartialCall> {
    if block["type"] != "tool_use" {
        return None;
    }
    let mut draft = PartialCall::new(TOOL_USE);
    draft.id = non_empty_str(&block["id"]).map(str::to_owned);
    draft.set_name(&block["name"]);
    Some(draft)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::super::tests::describe_stream;
    use super::*;
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
        let told = describe_stream(
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
        let told = describe_stream(
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
        let told = describe_stream(
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
        let used =
            |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"z": 1, "a": [2]}});
        let told = describe_stream(
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
}
