//! Decodes responses of the Anthropic Messages API, whose content blocks grow by deltas until they stop.

use serde_json::{Map, Value, json};

use super::ResponseEnd;
use super::accumulator::ResponseAccumulator;
use super::responses::is_fault;
use crate::ModelError;

/// Maximum number of open blocks; the API sends blocks one after the other.
const MAX_OPEN_BLOCKS: usize = 1024;

/// Decoder state of a Messages response: open blocks and the stop reason.
#[derive(Debug, Default)]
pub(super) struct AnthropicStreamDecoder {
    open_blocks: Vec<OpenContentBlock>,
    stop_reason: Option<String>,
}

/// A content block that is still open.
#[derive(Debug)]
struct OpenContentBlock {
    index: Option<u64>,
    json: Value,
    /// The accumulated JSON text of its `input`.
    input: String,
}

impl AnthropicStreamDecoder {
    /// Decodes one stream event, or a whole message.
    pub(super) fn decode_event(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        match json["type"].as_str() {
            Some("message_start") => accumulator.update_usage(&json["message"]["usage"]),
            Some("content_block_start") => self.start_block(json, accumulator),
            Some("content_block_delta") => self.apply_delta(json, accumulator),
            Some("content_block_stop") => {
                if let Some(block) = self.find_open_block(json).map(|at| self.open_blocks.remove(at)) {
                    keep_block(block, accumulator);
                }
            }
            Some("message_delta") => {
                self.record_stop_reason(&json["delta"]);
                accumulator.update_usage(&json["usage"]);
            }
            Some("message_stop") => accumulator.set_end(self.response_end()),
            Some("error") => {
                accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(json)));
            }
            Some("message") | None if json["content"].is_array() => self.decode_message(json, accumulator),
            None if is_fault(&json["error"]) => {
                accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(json)));
            }
            Some(_) | None => {}
        }
    }

    /// Keeps open text blocks, which are valid as far as they go. Open thinking blocks have no signature and are
    /// dropped.
    pub(super) fn finish(&mut self, accumulator: &mut ResponseAccumulator) -> ResponseEnd {
        for block in self.open_blocks.drain(..).filter(|block| block.json["type"] == "text") {
            keep_block(block, accumulator);
        }
        match self.stop_reason {
            Some(_) => self.response_end(),
            None => ResponseEnd::Failed(ModelError::stream_ended_early()),
        }
    }

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

    fn decode_message(&mut self, message: &Value, accumulator: &mut ResponseAccumulator) {
        for json in message["content"].as_array().into_iter().flatten() {
            emit_block(json, accumulator);
            keep_block(
                OpenContentBlock { index: None, json: json.clone(), input: String::new() },
                accumulator,
            );
        }
        accumulator.update_usage(&message["usage"]);
        self.record_stop_reason(message);
        accumulator.set_end(self.response_end());
    }

    fn start_block(&mut self, event: &Value, accumulator: &mut ResponseAccumulator) {
        let json = event["content_block"].clone();
        emit_block(&json, accumulator);
        accumulator.charge_bytes(json.to_string().len());
        if self.open_blocks.len() < MAX_OPEN_BLOCKS && json.is_object() {
            self.open_blocks.push(OpenContentBlock {
                index: event["index"].as_u64(),
                json,
                input: String::new(),
            });
        }
    }

    fn apply_delta(&mut self, event: &Value, accumulator: &mut ResponseAccumulator) {
        let Some(at) = self.find_open_block(event) else { return };
        let (block, delta) = (&mut self.open_blocks[at], &event["delta"]);
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
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
            // The call reader accumulates the input of our own calls.
            Some("input_json_delta") if block.json["type"] != "tool_use" => {
                accumulator.charge_bytes(piece("partial_json").len());
                block.input.push_str(piece("partial_json"));
            }
            Some(_) | None => {}
        }
    }

    fn find_open_block(&self, event: &Value) -> Option<usize> {
        match event["index"].as_u64() {
            Some(index) => self.open_blocks.iter().rposition(|block| block.index == Some(index)),
            None => self.open_blocks.len().checked_sub(1),
        }
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
        accumulator.charge_bytes(citation.to_string().len());
        match &mut self.json["citations"] {
            Value::Array(citations) => citations.push(citation.clone()),
            other => *other = json!([citation]),
        }
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

/// Keeps a completed block.
fn keep_block(block: OpenContentBlock, accumulator: &mut ResponseAccumulator) {
    let OpenContentBlock { mut json, input, .. } = block;
    if !input.is_empty() {
        json["input"] = serde_json::from_str(&input).unwrap_or_else(|_| Value::Object(Map::new()));
    }
    match json["type"].as_str() {
        Some("text") => {
            let text = json["text"].as_str().unwrap_or_default().to_owned();
            let cites = json["citations"].as_array().is_some_and(|citations| !citations.is_empty());
            accumulator.keep_text(text, cites.then_some(&json));
        }
        Some("tool_use") => accumulator.place_call(json["id"].as_str(), Some(&json)),
        Some("thinking") if json["signature"].as_str().is_none_or(str::is_empty) => {}
        Some("thinking" | "redacted_thinking") => accumulator.keep_item(&json),
        Some(kind) => accumulator.keep_hosted(kind, &json),
        None => {}
    }
}
