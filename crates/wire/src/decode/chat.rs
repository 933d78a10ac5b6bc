//! Decodes responses of the Chat Completions API, as OpenAI and its many imitators stream it.
//!
//! Only choice 0 counts: further choices are alternatives, whose calls must not run too. A response does not end with
//! its `finish_reason`: usage follows in a chunk without choices, or comes in the same chunk, or never. The response
//! ends with the usage chunk or with the stream.

mod tool_call_delta;

use std::hash::{BuildHasher, RandomState};
use std::mem;

use serde_json::{Map, Value, json};

use super::accumulator::ResponseAccumulator;
use super::partial_call::{CallTextEnd, OpenCalls, PartialCall};
use super::{DialectDecoder, ParsedCall, ResponseEnd, ResponseFragment, is_error};
use crate::ModelError;
use crate::write::chat::{EXTRA_CONTENT_FIELD, REASONING_DETAILS_FIELD, REASONING_FIELDS};
use tool_call_delta::{LEGACY, ToolCallDelta, new_part, whole_call};

/// Decoder state of a Chat Completions response.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    open_calls: OpenCalls,
    invented_ids: u64,
    /// Random seed of the ids that replace missing ones, so that they differ between responses.
    id_seed: RandomState,
    text: String,
    /// Fields of the message that must be sent back with it.
    message_extras: Map<String, Value>,
    /// Fields that must be sent back with calls, by call id.
    call_extras: Map<String, Value>,
    finish_reason: Option<String>,
}

impl DialectDecoder for ChatDecoder {
    fn decode(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        accumulator.update_usage(&json["x_groq"]["usage"]);
        accumulator.update_usage(&json["usage"]);
        if is_error(&json["error"]) {
            accumulator.fail(json);
        }
        if let Some(choices) = json["choices"].as_array() {
            if let Some(choice) = first_choice(json) {
                self.decode_choice(choice, accumulator);
            } else if choices.is_empty() && json["usage"].is_object() && self.finish_reason.is_some() {
                accumulator.set_end(self.response_end());
            }
        } else if is_message(json) {
            self.decode_calls(json, CallTextEnd::Complete, accumulator);
        } else if json["function"].is_object()
            || json["custom"].is_object()
            || matches!(json["type"].as_str(), Some("function" | "custom"))
        {
            let call = self.finish_call(whole_call(json), CallTextEnd::Complete);
            accumulator.add_single_call(call);
        }
    }

    fn finish(&mut self, accumulator: &mut ResponseAccumulator) {
        self.keep_message(accumulator);
        self.close_calls(CallTextEnd::Cut, accumulator);
        accumulator.set_end(match self.finish_reason {
            Some(_) => self.response_end(),
            None => ResponseEnd::Failed(ModelError::stream_ended_early()),
        });
    }

    fn classify<'a>(&self, json: &'a Value) -> ResponseFragment<'a> {
        let id = json["id"].as_str().filter(|id| !id.is_empty());
        if !json["choices"].is_array() {
            return if is_message(json) { ResponseFragment::Whole(None) } else { ResponseFragment::Item };
        }
        match first_choice(json) {
            Some(choice) if is_whole_response(choice) => ResponseFragment::Whole(id),
            // The delta may be absent.
            Some(choice) if finish_reason(choice).is_some() => ResponseFragment::End(id),
            Some(choice) if choice["delta"].is_object() => ResponseFragment::Part(id),
            // Usage, a keep-alive or an alternative choice marks no boundary.
            Some(_) | None => ResponseFragment::Other,
        }
    }

    fn has_open_call(&self) -> bool {
        self.open_calls.len() > 0
    }
}

impl ChatDecoder {
    fn decode_choice(&mut self, choice: &Value, accumulator: &mut ResponseAccumulator) {
        if is_error(&choice["error"]) {
            accumulator.fail(choice);
        }
        let whole = is_whole_response(choice);
        let message = if whole { &choice["message"] } else { &choice["delta"] };
        let reason = finish_reason(choice);
        // A chunk that reports an error has no content.
        if !accumulator.is_ending() {
            self.decode_content(message, accumulator);
            self.finish_reason = reason.map(str::to_owned).or(self.finish_reason.take());
        }
        if whole || reason.or(self.finish_reason.as_deref()).is_some() {
            self.keep_message(accumulator);
        }
        let end = match reason {
            Some("length" | "content_filter") => CallTextEnd::Cut,
            Some(_) | None => CallTextEnd::Complete,
        };
        if whole {
            self.decode_calls(message, end, accumulator);
            accumulator.set_end(self.response_end());
            return;
        }
        // The last chunk of some servers has only a finish reason.
        self.append_call_deltas(message, accumulator);
        if reason.is_some() {
            self.close_calls(end, accumulator);
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

    /// Decodes text, reasoning and extra fields of a message or of the delta of a chunk.
    fn decode_content(&mut self, message: &Value, accumulator: &mut ResponseAccumulator) {
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
            if let (Some(id), extra @ Value::Object(_)) = (call["id"].as_str(), &call[EXTRA_CONTENT_FIELD])
                && accumulator.charge_json(extra)
            {
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
        accumulator.emit_text(piece);
        if accumulator.charge_bytes(piece.len()) {
            self.text.push_str(piece);
        }
    }

    fn append_reasoning(&mut self, name: &str, piece: &Value, accumulator: &mut ResponseAccumulator) {
        let piece = piece.as_str().unwrap_or_default();
        accumulator.emit_thought(piece);
        if accumulator.charge_bytes(piece.len()) {
            append_string(&mut self.message_extras, name, piece);
        }
    }

    /// Merges consecutive parts of the same index, which are fragments of one part.
    fn append_details(&mut self, details: &Value, accumulator: &mut ResponseAccumulator) {
        for part in details.as_array().into_iter().flatten() {
            let Some(detail) = part.as_object().filter(|_| accumulator.charge_json(part)) else { continue };
            let kept = self.message_extras.entry(REASONING_DETAILS_FIELD).or_insert_with(|| json!([]));
            let Some(kept) = kept.as_array_mut() else { return };
            let same = |last: &Value| detail.get("index").is_some_and(|at| last["index"] == *at);
            match kept.last_mut().filter(|last| same(last)).and_then(Value::as_object_mut) {
                Some(last) => merge_fields(last, detail),
                None => kept.push(part.clone()),
            }
        }
    }

    /// Keeps the reasoning and the text so far.
    fn keep_message(&mut self, accumulator: &mut ResponseAccumulator) {
        if !self.message_extras.is_empty() {
            accumulator.keep_item(&Value::Object(mem::take(&mut self.message_extras)));
        }
        if !self.text.is_empty() {
            accumulator.keep_text(mem::take(&mut self.text), None);
        }
    }

    /// Decodes the calls of a whole message.
    fn decode_calls(&mut self, message: &Value, end: CallTextEnd, accumulator: &mut ResponseAccumulator) {
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        for call in calls {
            self.add_call(whole_call(call), end, accumulator);
        }
        // Some servers send the same call in both forms.
        if calls.is_empty() && message[LEGACY].is_object() {
            self.add_call(whole_call(&json!({ "function": message[LEGACY] })), end, accumulator);
        }
    }

    fn append_call_deltas(&mut self, delta: &Value, accumulator: &mut ResponseAccumulator) {
        let calls = delta["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let mut pieces: Vec<ToolCallDelta<'_>> = calls.iter().map(ToolCallDelta::new).collect();
        if calls.len() > 1 {
            pieces.iter_mut().zip(0..).for_each(|(piece, at)| piece.position = Some(at));
        }
        if calls.is_empty() && delta[LEGACY].is_object() {
            pieces.push(ToolCallDelta::new_legacy(&delta[LEGACY]));
        }
        for piece in &pieces {
            self.append_call_delta(piece, accumulator);
        }
    }

    fn append_call_delta(&mut self, piece: &ToolCallDelta<'_>, accumulator: &mut ResponseAccumulator) {
        let at = match self.find_open_call(piece) {
            Some(at) => at,
            None => match self.open_calls.open(piece.new_call()) {
                Ok(at) => at,
                Err(refused) => return accumulator.add_call(*refused, None),
            },
        };
        let Some(call) = self.open_calls.get_mut(at) else { return };
        if call.id.is_none() {
            call.id = piece.id.map(str::to_owned);
        }
        let rest = piece.name.map(|name| new_part(&call.name, name));
        self.open_calls.extend_name(at, rest.unwrap_or_default());
        match piece.text {
            Value::Null => {}
            Value::String(text) => self.open_calls.append_text(at, text),
            whole => self.open_calls.replace_text(at, whole),
        }
    }

    /// Finds the open call of a delta by its `index`, else its `id`, else its position.
    fn find_open_call(&mut self, piece: &ToolCallDelta<'_>) -> Option<usize> {
        let last = self.open_calls.len().checked_sub(1);
        let same_id = |call: &PartialCall| piece.id.is_some() && call.id.as_deref() == piece.id;
        let at = match (piece.index, piece.position) {
            _ if piece.legacy => self.open_calls.find_newest(|call| call.item_id.as_deref() == Some(LEGACY)),
            (Some(index), _) => self.open_calls.find_newest(|call| call.index == Some(index)),
            (None, _) if piece.id.is_some() => self.open_calls.find_newest(same_id).or(last),
            (None, Some(position)) => Some(position),
            (None, None) => last,
        }?;
        let call = self.open_calls.get_mut(at)?;
        (!piece.starts_another(call)).then_some(at)
    }

    fn close_calls(&mut self, end: CallTextEnd, accumulator: &mut ResponseAccumulator) {
        for call in self.open_calls.drain() {
            self.add_call(call, end, accumulator);
        }
    }

    fn add_call(&mut self, call: PartialCall, end: CallTextEnd, accumulator: &mut ResponseAccumulator) {
        let call = self.finish_call(call, end);
        let extras = match &call {
            ParsedCall::Call(call) => self.call_extras.get(call.id.as_str()),
            ParsedCall::Fault(_) => None,
        };
        accumulator.add_call(call, extras);
    }

    /// Finishes a call. A missing id is invented.
    fn finish_call(&mut self, mut call: PartialCall, end: CallTextEnd) -> ParsedCall {
        if call.id.is_none() {
            self.invented_ids += 1;
            let mark = self.id_seed.hash_one(0_u8) >> 32;
            call.id = Some(format!("call_toolgate_{mark:08x}_{}", self.invented_ids));
        }
        call.finish(end)
    }
}

/// Returns choice 0 of a chunk or a response.
fn first_choice(json: &Value) -> Option<&Value> {
    let choices = json["choices"].as_array()?;
    let numbered = |(at, choice): &(u64, &Value)| choice["index"].as_u64().unwrap_or(*at) == 0;
    (0..).zip(choices).find(numbered).map(|(_, choice)| choice)
}

/// Returns whether a choice belongs to a whole response. A chunk may lack its delta, or have an empty message.
fn is_whole_response(choice: &Value) -> bool {
    let has_message = choice["message"].as_object().is_some_and(|message| !message.is_empty());
    has_message && !choice["delta"].is_object()
}

/// Returns whether `json` is an assistant message with calls, outside a response.
fn is_message(json: &Value) -> bool {
    json["tool_calls"].is_array() || json[LEGACY].is_object()
}

/// Returns the finish reason of a response that has ended. Some servers write `""` or `"null"` before the end.
fn finish_reason(choice: &Value) -> Option<&str> {
    choice["finish_reason"].as_str().filter(|reason| !matches!(*reason, "" | "null"))
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
