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
use crate::write::chat::{REASONING_DETAILS_FIELD, EXTRA_CONTENT_FIELD, REASONING_FIELDS};

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
    pub(super) fn decode_event(&mut self, json: &Value, notes: &mut ResponseAccumulator) {
        notes.update_usage(&json["x_groq"]["usage"]);
        notes.update_usage(&json["usage"]);
        if is_fault(&json["error"]) {
            return notes.set_end(ResponseEnd::Failed(notes.dialect().stream_error(json)));
        }
        let Some(choices) = json["choices"].as_array() else { return };
        let Some(choice) = first_choice(json) else {
            if choices.is_empty() && json["usage"].is_object() && self.finish_reason.is_some() {
                notes.set_end(self.response_end());
            }
            return;
        };
        if is_fault(&choice["error"]) {
            return notes.set_end(ResponseEnd::Failed(notes.dialect().stream_error(choice)));
        }
        let whole = is_whole_response(choice);
        self.decode_message(if whole { &choice["message"] } else { &choice["delta"] }, notes);
        if let Some(reason) = finish_reason(choice) {
            self.finish_reason = Some(reason.to_owned());
        }
        if self.finish_reason.is_some() || whole {
            self.keep_complete(notes);
        }
        if whole {
            notes.set_end(self.response_end());
        }
    }

    /// Keeps partial text and reasoning.
    pub(super) fn finish(&mut self, notes: &mut ResponseAccumulator) -> ResponseEnd {
        self.keep_complete(notes);
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
    fn decode_message(&mut self, message: &Value, notes: &mut ResponseAccumulator) {
        let thought =
            REASONING_FIELDS.into_iter().find(|name| message[name].as_str().is_some_and(|it| !it.is_empty()));
        if let Some(name) = thought {
            self.append_reasoning(name, &message[name], notes);
        }
        self.append_details(&message[REASONING_DETAILS_FIELD], notes);
        match &message["content"] {
            Value::String(text) => self.append_text(text, notes),
            // Mistral's reasoning models send content parts.
            Value::Array(parts) => parts.iter().for_each(|part| self.decode_part(part, notes)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        self.append_text(message["refusal"].as_str().unwrap_or_default(), notes);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if let (Some(id), extra @ Value::Object(_)) = (call["id"].as_str(), &call[EXTRA_CONTENT_FIELD]) {
                notes.charge_bytes(extra.to_string().len());
                self.call_extras.insert(id.to_owned(), json!({ EXTRA_CONTENT_FIELD: extra }));
            }
        }
    }

    fn decode_part(&mut self, part: &Value, notes: &mut ResponseAccumulator) {
        if let Some(text) = part["text"].as_str() {
            self.append_text(text, notes);
        }
        for thought in part["thinking"].as_array().into_iter().flatten() {
            notes.emit_thought(thought["text"].as_str().unwrap_or_default());
        }
    }

    fn append_text(&mut self, piece: &str, notes: &mut ResponseAccumulator) {
        notes.charge_bytes(piece.len());
        notes.emit_text(piece);
        self.text.push_str(piece);
    }

    fn append_reasoning(&mut self, name: &str, piece: &Value, notes: &mut ResponseAccumulator) {
        let piece = piece.as_str().unwrap_or_default();
        notes.charge_bytes(piece.len());
        notes.emit_thought(piece);
        append_string(&mut self.message_extras, name, piece);
    }

    /// Merges consecutive parts of the same index, which are fragments of one part.
    fn append_details(&mut self, details: &Value, notes: &mut ResponseAccumulator) {
        for detail in details.as_array().into_iter().flatten().filter_map(Value::as_object) {
            notes.charge_bytes(Value::Object(detail.clone()).to_string().len());
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
    fn keep_complete(&mut self, notes: &mut ResponseAccumulator) {
        if !self.message_extras.is_empty() {
            notes.keep_item(&Value::Object(mem::take(&mut self.message_extras)));
        }
        if !self.text.is_empty() {
            notes.keep_text(mem::take(&mut self.text), None);
        }
        notes.place_remaining_calls(|id| self.call_extras.get(id).cloned());
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
