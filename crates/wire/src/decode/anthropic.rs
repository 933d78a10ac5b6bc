//! Decodes responses of the Anthropic Messages API, whose content blocks grow by deltas until they stop.

use serde_json::{Map, Value, json};

use super::accumulator::ResponseAccumulator;
use super::partial_call::{CallFieldPaths, CallTextEnd, OpenCalls, PartialCall, non_empty_str};
use super::{DialectDecoder, ResponseEnd, ResponseFragment, is_error};
use crate::fault::CallItemKind;
use crate::{CallFaultReason, ModelError};

/// Maximum number of open blocks; the API sends blocks one after the other.
const MAX_OPEN_BLOCKS: usize = 1024;

const TOOL_USE: CallFieldPaths = CallFieldPaths {
    id: "id",
    name: "name",
    text: "input",
    shape: "an object",
    kind: CallItemKind::Function,
};

/// Decoder state of a message: open blocks and the stop reason.
#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    /// The open `tool_use` blocks.
    open_calls: OpenCalls,
    /// All other open blocks.
    open_blocks: Vec<OpenContentBlock>,
    stop_reason: Option<String>,
}

/// An open content block that is no call.
#[derive(Debug)]
struct OpenContentBlock {
    index: Option<u64>,
    json: Value,
    /// The accumulated JSON text of its `input`.
    input: String,
}

impl DialectDecoder for AnthropicDecoder {
    fn decode(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        match json["type"].as_str() {
            Some("message_start") => accumulator.update_usage(&json["message"]["usage"]),
            Some("content_block_start") => self.start_block(json, accumulator),
            Some("content_block_delta") => self.apply_delta(json, accumulator),
            Some("content_block_stop") => self.stop_block(json, accumulator),
            Some("message_delta") => {
                self.record_stop_reason(&json["delta"]);
                accumulator.update_usage(&json["usage"]);
            }
            Some("message_stop") => {
                accumulator.set_end(self.response_end());
                self.finish(accumulator);
            }
            Some("error") => accumulator.fail(json),
            Some("tool_use") => {
                if let Some(call) = whole_call(json) {
                    accumulator.add_single_call(call.finish(CallTextEnd::Complete));
                }
            }
            Some("message") | None if json["content"].is_array() => self.decode_message(json, accumulator),
            None if is_error(&json["error"]) => accumulator.fail(json),
            Some(_) | None => {}
        }
    }

    /// Keeps open text blocks, which are valid as far as they go. Open thinking blocks have no signature and are
    /// dropped.
    fn finish(&mut self, accumulator: &mut ResponseAccumulator) {
        for block in self.open_blocks.drain(..).filter(|block| block.json["type"] == "text") {
            keep_block(&block.into_json(), accumulator);
        }
        for call in self.open_calls.drain() {
            accumulator.add_call(call.finish(CallTextEnd::Cut), None);
        }
        accumulator.set_end(match self.stop_reason {
            Some(_) => self.response_end(),
            None => ResponseEnd::Failed(ModelError::stream_ended_early()),
        });
    }

    fn classify<'a>(&self, json: &'a Value) -> ResponseFragment<'a> {
        match json["type"].as_str() {
            Some("message_start") => ResponseFragment::Start(json["message"]["id"].as_str()),
            Some("message_stop") => ResponseFragment::End(None),
            Some("tool_use") => ResponseFragment::Item,
            Some(event) if event.starts_with("content_block_") => ResponseFragment::Part(None),
            Some(_) | None if json["content"].is_array() => ResponseFragment::Whole(json["id"].as_str()),
            Some(_) | None => ResponseFragment::Other,
        }
    }
}

impl AnthropicDecoder {
    fn record_stop_reason(&mut self, message: &Value) {
        if let Some(reason) = message["stop_reason"].as_str() {
            self.stop_reason = Some(reason.to_owned());
        }
    }

    fn response_end(&self) -> ResponseEnd {
        match self.stop_reason.as_deref() {
            Some("end_turn" | "tool_use" | "stop_sequence") | None => ResponseEnd::Done,
            Some(why) => ResponseEnd::CutShort { why: why.to_owned() },
        }
    }

    /// Decodes a whole message. If the model ran out of tokens, the input of the last block looks complete but is not.
    fn decode_message(&mut self, message: &Value, accumulator: &mut ResponseAccumulator) {
        self.record_stop_reason(message);
        let cut =
            matches!(message["stop_reason"].as_str(), Some("max_tokens" | "model_context_window_exceeded"));
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        for (at, block) in blocks.iter().enumerate() {
            let Some(mut call) = whole_call(block) else {
                emit_block(block, accumulator);
                keep_block(block, accumulator);
                continue;
            };
            if cut && at + 1 == blocks.len() {
                call.fail(TOOL_USE.text, CallFaultReason::Unfinished);
            }
            accumulator.add_call(call.finish(CallTextEnd::Complete), Some(block));
        }
        accumulator.update_usage(&message["usage"]);
        accumulator.set_end(self.response_end());
    }

    fn start_block(&mut self, event: &Value, accumulator: &mut ResponseAccumulator) {
        let (index, block) = (event["index"].as_u64(), &event["content_block"]);
        emit_block(block, accumulator);
        let keeps = accumulator.charge_json(block);
        if let Some(mut call) = partial_call(block) {
            call.index = index;
            call.set_fallback(&block["input"]);
            call.raw = keeps.then(|| block.clone());
            if let Err(refused) = self.open_calls.open(call) {
                accumulator.add_call(*refused, None);
            }
        } else if keeps && block.is_object() && self.open_blocks.len() < MAX_OPEN_BLOCKS {
            self.open_blocks.push(OpenContentBlock { index, json: block.clone(), input: String::new() });
        }
    }

    fn apply_delta(&mut self, event: &Value, accumulator: &mut ResponseAccumulator) {
        let delta = &event["delta"];
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        if let Some(at) = self.find_open_call(event) {
            self.open_calls.append_text(at, piece("partial_json"));
        }
        let Some(at) = self.find_open_block(event) else { return };
        let block = &mut self.open_blocks[at];
        match delta["type"].as_str() {
            Some("text_delta") => {
                accumulator.emit_text(piece("text"));
                block.append_to_field("text", piece("text"), accumulator);
            }
            Some("thinking_delta") => {
                accumulator.emit_thought(piece("thinking"));
                block.append_to_field("thinking", piece("thinking"), accumulator);
            }
            Some("signature_delta") => block.append_to_field("signature", piece("signature"), accumulator),
            Some("citations_delta") => block.add_citation(&delta["citation"], accumulator),
            Some("input_json_delta") => {
                accumulator.charge_bytes(piece("partial_json").len());
                block.input.push_str(piece("partial_json"));
            }
            Some(_) | None => {}
        }
    }

    fn stop_block(&mut self, event: &Value, accumulator: &mut ResponseAccumulator) {
        if let Some(at) = self.find_open_block(event) {
            keep_block(&self.open_blocks.remove(at).into_json(), accumulator);
        }
        if let Some(mut call) = self.find_open_call(event).and_then(|at| self.open_calls.remove(at)) {
            let raw = call.raw.take();
            accumulator.add_call(call.finish(CallTextEnd::Complete), raw.as_ref());
        }
    }

    fn find_open_call(&self, event: &Value) -> Option<usize> {
        let index = event["index"].as_u64();
        self.open_calls.find_newest(|call| index.is_none() || call.index == index)
    }

    fn find_open_block(&self, event: &Value) -> Option<usize> {
        let index = event["index"].as_u64();
        self.open_blocks.iter().rposition(|block| index.is_none() || block.index == index)
    }
}

impl OpenContentBlock {
    fn append_to_field(&mut self, field: &str, piece: &str, accumulator: &mut ResponseAccumulator) {
        accumulator.charge_bytes(piece.len());
        match &mut self.json[field] {
            Value::String(text) => text.push_str(piece),
            other => *other = json!(piece),
        }
    }

    fn add_citation(&mut self, citation: &Value, accumulator: &mut ResponseAccumulator) {
        accumulator.charge_json(citation);
        match &mut self.json["citations"] {
            Value::Array(citations) => citations.push(citation.clone()),
            other => *other = json!([citation]),
        }
    }

    /// Returns the block with its accumulated input.
    fn into_json(self) -> Value {
        let Self { mut json, input, .. } = self;
        if !input.is_empty() {
            json["input"] = serde_json::from_str(&input).unwrap_or_else(|_| Value::Object(Map::new()));
        }
        json
    }
}

/// Emits the initial content of a block.
fn emit_block(block: &Value, accumulator: &mut ResponseAccumulator) {
    match block["type"].as_str() {
        Some("text") => accumulator.emit_text(block["text"].as_str().unwrap_or_default()),
        Some("thinking") => accumulator.emit_thought(block["thinking"].as_str().unwrap_or_default()),
        Some(_) | None => {}
    }
}

/// Keeps a completed block that is no call.
fn keep_block(block: &Value, accumulator: &mut ResponseAccumulator) {
    match block["type"].as_str() {
        Some("text") => {
            let text = block["text"].as_str().unwrap_or_default().to_owned();
            let cites = block["citations"].as_array().is_some_and(|citations| !citations.is_empty());
            accumulator.keep_text(text, cites.then_some(block));
        }
        Some("thinking") if block["signature"].as_str().is_none_or(str::is_empty) => {}
        Some("thinking" | "redacted_thinking") => accumulator.keep_item(block),
        Some(kind) => accumulator.keep_hosted(kind, block),
        None => {}
    }
}

/// Returns the call of a whole `tool_use` block; `None` for other blocks.
fn whole_call(block: &Value) -> Option<PartialCall> {
    let mut call = partial_call(block)?;
    call.set_text(&block["input"]);
    Some(call)
}

/// Returns the call of a `tool_use` block without its input.
fn partial_call(block: &Value) -> Option<PartialCall> {
    if block["type"] != "tool_use" {
        return None;
    }
    let mut call = PartialCall::new(TOOL_USE);
    call.id = non_empty_str(&block["id"]).map(str::to_owned);
    call.set_name(&block["name"]);
    Some(call)
}
