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
    pub(super) fn decode_event(&mut self, json: &Value, notes: &mut ResponseAccumulator) {
        match json["type"].as_str() {
            Some("message_start") => notes.update_usage(&json["message"]["usage"]),
            Some("content_block_start") => self.start_block(json, notes),
            Some("content_block_delta") => self.apply_delta(json, notes),
            Some("content_block_stop") => {
                if let Some(block) = self.find_open_block(json).map(|at| self.open_blocks.remove(at)) {
                    keep_block(block, notes);
                }
            }
            Some("message_delta") => {
                self.record_stop_reason(&json["delta"]);
                notes.update_usage(&json["usage"]);
            }
            Some("message_stop") => notes.set_end(self.response_end()),
            Some("error") => notes.set_end(ResponseEnd::Failed(notes.dialect().stream_error(json))),
            Some("message") | None if json["content"].is_array() => self.decode_message(json, notes),
            None if is_fault(&json["error"]) => {
                notes.set_end(ResponseEnd::Failed(notes.dialect().stream_error(json)));
            }
            Some(_) | None => {}
        }
    }

    /// Keeps open text blocks, which are valid as far as they go. Open thinking blocks have no signature and are
    /// dropped.
    pub(super) fn finish(&mut self, notes: &mut ResponseAccumulator) -> ResponseEnd {
        for block in self.open_blocks.drain(..).filter(|block| block.json["type"] == "text") {
            keep_block(block, notes);
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

    fn decode_message(&mut self, message: &Value, notes: &mut ResponseAccumulator) {
        for json in message["content"].as_array().into_iter().flatten() {
            emit_block(json, notes);
            keep_block(OpenContentBlock { index: None, json: json.clone(), input: String::new() }, notes);
        }
        notes.update_usage(&message["usage"]);
        self.record_stop_reason(message);
        notes.set_end(self.response_end());
    }

    fn start_block(&mut self, event: &Value, notes: &mut ResponseAccumulator) {
        let json = event["content_block"].clone();
        emit_block(&json, notes);
        notes.charge_bytes(json.to_string().len());
        if self.open_blocks.len() < MAX_OPEN_BLOCKS && json.is_object() {
            self.open_blocks.push(OpenContentBlock { index: event["index"].as_u64(), json, input: String::new() });
        }
    }

    fn apply_delta(&mut self, event: &Value, notes: &mut ResponseAccumulator) {
        let Some(at) = self.find_open_block(event) else { return };
        let (block, delta) = (&mut self.open_blocks[at], &event["delta"]);
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match delta["type"].as_str() {
            Some("text_delta") => {
                notes.emit_text(piece("text"));
                block.append_to_field("text", piece("text"), notes);
            }
            Some("thinking_delta") => {
                notes.emit_thought(piece("thinking"));
                block.append_to_field("thinking", piece("thinking"), notes);
            }
            Some("signature_delta") => block.append_to_field("signature", piece("signature"), notes),
            Some("citations_delta") => block.add_citation(&delta["citation"], notes),
            // The call reader accumulates the input of our own calls.
            Some("input_json_delta") if block.json["type"] != "tool_use" => {
                notes.charge_bytes(piece("partial_json").len());
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
    fn append_to_field(&mut self, field: &str, piece: &str, notes: &mut ResponseAccumulator) {
        notes.charge_bytes(piece.len());
        match &mut self.json[field] {
            Value::String(text) => text.push_str(piece),
            other => *other = json!(piece),
        }
    }

    fn add_citation(&mut self, citation: &Value, notes: &mut ResponseAccumulator) {
        notes.charge_bytes(citation.to_string().len());
        match &mut self.json["citations"] {
            Value::Array(citations) => citations.push(citation.clone()),
            other => *other = json!([citation]),
        }
    }
}

/// Emits the initial content of a block.
fn emit_block(block: &Value, notes: &mut ResponseAccumulator) {
    match block["type"].as_str() {
        Some("text") => notes.emit_text(block["text"].as_str().unwrap_or_default()),
        Some("thinking") => notes.emit_thought(block["thinking"].as_str().unwrap_or_default()),
        Some(_) | None => {}
    }
}

/// Keeps a completed block.
fn keep_block(block: OpenContentBlock, notes: &mut ResponseAccumulator) {
    let OpenContentBlock { mut json, input, .. } = block;
    if !input.is_empty() {
        json["input"] = serde_json::from_str(&input).unwrap_or_else(|_| Value::Object(Map::new()));
    }
    match json["type"].as_str() {
        Some("text") => {
            let text = json["text"].as_str().unwrap_or_default().to_owned();
            let cites = json["citations"].as_array().is_some_and(|citations| !citations.is_empty());
            notes.keep_text(text, cites.then_some(&json));
        }
        Some("tool_use") => notes.place_call(json["id"].as_str(), Some(&json)),
        Some("thinking") if json["signature"].as_str().is_none_or(str::is_empty) => {}
        Some("thinking" | "redacted_thinking") => notes.keep_item(&json),
        Some(kind) => notes.keep_hosted(kind, &json),
        None => {}
    }
}
