//! Decodes responses of the Chat Completions API, as OpenAI and its many imitators stream it.
//!
//! Only choice 0 counts. A response does not end with its `finish_reason`: usage follows in a chunk without choices, or
//! comes in the same chunk, or never. The response ends with the usage chunk or with the stream.

use std::mem;

use serde_json::{Map, Value, json};

use super::ResponseEnd;
use super::accumulator::ResponseAccumulator;
use super::responses::is_fault;
use crate::ModelError;
use crate::call_reader::{finish_reason, first_choice, is_whole_response};
use crate::write::chat::{EXTRA_CONTENT_FIELD, REASONING_DETAILS_FIELD, REASONING_FIELDS};

/// Decoder state of a Chat Completions response.
#[derive(Debug, Default)]
pub(super) struct ChatStreamDecoder {
    text: String,
    /// Fields of the message that must be sent back with it.
    message_extras: Map<String, Value>,
    /// Fields that must be sent back with calls, by call id.
    call_extras: Map<String, Value>,
    finish_reason: Option<String>,
}

impl ChatStreamDecoder {
    /// Decodes one chunk, or a whole response.
    pub(super) fn decode_event(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        accumulator.update_usage(&json["x_groq"]["usage"]);
        accumulator.update_usage(&json["usage"]);
        if is_fault(&json["error"]) {
            return accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(json)));
        }
        let Some(choices) = json["choices"].as_array() else { return };
        let Some(choice) = first_choice(json) else {
            if choices.is_empty() && json["usage"].is_object() && self.finish_reason.is_some() {
                accumulator.set_end(self.response_end());
            }
            return;
        };
        if is_fault(&choice["error"]) {
            return accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(choice)));
        }
        let whole = is_whole_response(choice);
        self.decode_message(if whole { &choice["message"] } else { &choice["delta"] }, accumulator);
        if let Some(reason) = finish_reason(choice) {
            self.finish_reason = Some(reason.to_owned());
        }
        if self.finish_reason.is_some() || whole {
            self.keep_complete(accumulator);
        }
        if whole {
            accumulator.set_end(self.response_end());
        }
    }

    /// Keeps partial text and reasoning.
    pub(super) fn finish(&mut self, accumulator: &mut ResponseAccumulator) -> ResponseEnd {
        self.keep_complete(accumulator);
        match self.finish_reason {
            Some(_) => self.response_end(),
            None => ResponseEnd::Failed(ModelError::stream_ended_early()),
        }
    }

    fn response_end(&self) -> ResponseEnd {
        match self.finish_reason.as_deref() {
            Some(why @ ("length" | "content_filter" | "max_tokens")) => {
                ResponseEnd::CutShort { why: why.to_owned() }
            }
            Some(_) | None => ResponseEnd::Done,
        }
    }

    /// Decodes a message or the delta of a chunk.
    fn decode_message(&mut self, message: &Value, accumulator: &mut ResponseAccumulator) {
        let thought =
            REASONING_FIELDS.into_iter().find(|name| message[name].as_str().is_some_and(|it| !it.is_empty()));
        if let Some(name) = thought {
            self.append_reasoning(name, &message[name], accumulator);
        }
        self.append_details(&message[REASONING_DETAILS_FIELD], accumulator);
        match &message["content"] {
            Value::String(text) => self.append_text(text, accumulator),
            // Mistral's reasoning models send content parts.
            Value::Array(parts) => parts.iter().for_each(|part| self.decode_part(part, accumulator)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        self.append_text(message["refusal"].as_str().unwrap_or_default(), accumulator);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if let (Some(id), extra @ Value::Object(_)) = (call["id"].as_str(), &call[EXTRA_CONTENT_FIELD]) {
                accumulator.charge_bytes(extra.to_string().len());
                self.call_extras.insert(id.to_owned(), json!({ EXTRA_CONTENT_FIELD: extra }));
            }
        }
    }

    fn decode_part(&mut self, part: &Value, accumulator: &mut ResponseAccumulator) {
        if let Some(text) = part["text"].as_str() {
            self.append_text(text, accumulator);
        }
        for thought in part["thinking"].as_array().into_iter().flatten() {
            accumulator.emit_thought(thought["text"].as_str().unwrap_or_default());
        }
    }

    fn append_text(&mut self, piece: &str, accumulator: &mut ResponseAccumulator) {
        accumulator.charge_bytes(piece.len());
        accumulator.emit_text(piece);
        self.text.push_str(piece);
    }

    fn append_reasoning(&mut self, name: &str, piece: &Value, accumulator: &mut ResponseAccumulator) {
        let piece = piece.as_str().unwrap_or_default();
        accumulator.charge_bytes(piece.len());
        accumulator.emit_thought(piece);
        append_string(&mut self.message_extras, name, piece);
    }

    /// Merges consecutive parts of the same index, which are fragments of one part.
    fn append_details(&mut self, details: &Value, accumulator: &mut ResponseAccumulator) {
        for detail in details.as_array().into_iter().flatten().filter_map(Value::as_object) {
            accumulator.charge_bytes(Value::Object(detail.clone()).to_string().len());
            let kept = self.message_extras.entry(REASONING_DETAILS_FIELD).or_insert_with(|| json!([]));
            let Some(kept) = kept.as_array_mut() else { return };
            let same = |last: &Value| detail.get("index").is_some_and(|at| last["index"] == *at);
            match kept.last_mut().filter(|last| same(last)).and_then(Value::as_object_mut) {
                Some(last) => merge_fields(last, detail),
                None => kept.push(Value::Object(detail.clone())),
            }
        }
    }

    /// Keeps what is complete: reasoning, text, calls.
    fn keep_complete(&mut self, accumulator: &mut ResponseAccumulator) {
        if !self.message_extras.is_empty() {
            accumulator.keep_item(&Value::Object(mem::take(&mut self.message_extras)));
        }
        if !self.text.is_empty() {
            accumulator.keep_text(mem::take(&mut self.text), None);
        }
        accumulator.place_remaining_calls(|id| self.call_extras.get(id).cloned());
    }
}

fn append_string(map: &mut Map<String, Value>, name: &str, piece: &str) {
    match map.get_mut(name) {
        Some(Value::String(text)) => text.push_str(piece),
        Some(_) | None => {
            map.insert(name.to_owned(), Value::from(piece));
        }
    }
}

/// Appends text fields, and replaces all other fields by the newer value.
fn merge_fields(part: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (name, value) in piece {
        match (name.as_str(), value) {
            ("text" | "summary" | "data", Value::String(text)) => append_string(part, name, text),
            (_, Value::Null) => {}
            (_, value) => {
                part.insert(name.clone(), value.clone());
            }
        }
    }
}
