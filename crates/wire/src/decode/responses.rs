//! Decodes responses of the OpenAI Responses API.
//!
//! `response.output_item.done` carries the items of the history. Text that was streamed without such an event is kept
//! at the end. Some servers stream nothing else, so items that only come with the end are kept too.

use std::collections::HashSet;

use serde_json::Value;

use super::ResponseEnd;
use super::accumulator::ResponseAccumulator;
use crate::ModelError;
use crate::call_reader::call_id;

/// Decoder state of a Responses response.
#[derive(Debug, Default)]
pub(super) struct ResponsesStreamDecoder {
    /// Open texts, by output index.
    open_texts: Vec<(Option<u64>, String)>,
    /// Output indices and ids of completed items.
    completed_indices: HashSet<u64>,
    completed_ids: HashSet<String>,
    /// Set when the reasoning of the next item has already been emitted as deltas.
    reasoning_emitted: bool,
}

impl ResponsesStreamDecoder {
    /// Decodes one stream event, or a whole response.
    pub(super) fn decode_event(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        let delta = json["delta"].as_str().unwrap_or_default();
        match json["type"].as_str() {
            Some("response.output_text.delta" | "response.refusal.delta") => {
                self.append_delta(json["output_index"].as_u64(), delta, accumulator);
            }
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                self.reasoning_emitted = true;
                accumulator.emit_thought(delta);
            }
            Some("response.reasoning_summary_part.added") => {
                let first = json["summary_index"].as_u64().unwrap_or(0) == 0;
                accumulator.emit_thought(if first { "" } else { "\n\n" });
            }
            Some("response.output_item.done") => {
                self.decode_item(&json["item"], json["output_index"].as_u64(), accumulator);
            }
            Some(event @ ("response.completed" | "response.done" | "response.incomplete")) => {
                self.decode_response(&json["response"], event, accumulator);
            }
            Some(event @ ("response.failed" | "response.cancelled")) => {
                self.decode_response(&json["response"], event, accumulator);
            }
            Some("error") => {
                accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(json)));
            }
            Some(_) | None if json["output"].is_array() => self.decode_response(json, "", accumulator),
            None if is_fault(&json["error"]) => {
                accumulator.set_end(ResponseEnd::Failed(accumulator.dialect().stream_error(json)));
            }
            Some(_) | None => {}
        }
    }

    /// Keeps partial text.
    pub(super) fn finish(&mut self, accumulator: &mut ResponseAccumulator) -> ResponseEnd {
        for (_, text) in self.open_texts.drain(..) {
            accumulator.keep_text(text, None);
        }
        ResponseEnd::Failed(ModelError::stream_ended_early())
    }

    fn append_delta(
        &mut self,
        output_index: Option<u64>,
        piece: &str,
        accumulator: &mut ResponseAccumulator,
    ) {
        accumulator.charge_bytes(piece.len());
        accumulator.emit_text(piece);
        match self.open_texts.iter_mut().rfind(|(other, _)| *other == output_index) {
            Some((_, text)) => text.push_str(piece),
            None => self.open_texts.push((output_index, piece.to_owned())),
        }
    }

    fn decode_item(
        &mut self,
        item: &Value,
        output_index: Option<u64>,
        accumulator: &mut ResponseAccumulator,
    ) {
        self.completed_indices.extend(output_index);
        self.completed_ids.extend(item["id"].as_str().map(str::to_owned));
        match item["type"].as_str() {
            Some("message") => self.decode_message(item, output_index, accumulator),
            Some("function_call" | "custom_tool_call" | "local_shell_call") => {
                accumulator.place_call(call_id(item), Some(item));
            }
            Some("reasoning") => self.decode_reasoning(item, accumulator),
            Some(kind) => accumulator.keep_hosted(kind, item),
            None => {}
        }
    }

    fn decode_message(
        &mut self,
        item: &Value,
        output_index: Option<u64>,
        accumulator: &mut ResponseAccumulator,
    ) {
        let parts = item["content"].as_array().into_iter().flatten();
        let text: String =
            parts.filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str())).collect();
        let open_before = self.open_texts.len();
        self.open_texts.retain(|(other, _)| other.is_some() && *other != output_index);
        if self.open_texts.len() == open_before {
            accumulator.emit_text(&text);
        }
        accumulator.charge_bytes(text.len());
        accumulator.keep_text(text, Some(item));
    }

    fn decode_reasoning(&mut self, item: &Value, accumulator: &mut ResponseAccumulator) {
        if !self.reasoning_emitted {
            let parts = ["summary", "content"].map(|field| item[field].as_array().into_iter().flatten());
            let texts: Vec<&str> =
                parts.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
            accumulator.emit_thought(&texts.join("\n\n"));
        }
        self.reasoning_emitted = false;
        accumulator.keep_item(item);
    }

    /// Decodes the end of a stream, which repeats its items, or a whole response.
    fn decode_response(&mut self, response: &Value, event: &str, accumulator: &mut ResponseAccumulator) {
        let items = response["output"].as_array().into_iter().flatten();
        for (item, output_index) in items.zip(0..) {
            let known = item["id"].as_str().is_some_and(|id| self.completed_ids.contains(id));
            if !known && !self.completed_indices.contains(&output_index) {
                self.decode_item(item, Some(output_index), accumulator);
            }
        }
        accumulator.update_usage(&response["usage"]);
        let why = response["incomplete_details"]["reason"].as_str();
        let end = match (event, response["status"].as_str()) {
            ("response.failed", _) | (_, Some("failed")) => {
                ResponseEnd::Failed(accumulator.dialect().stream_error(&response["error"]))
            }
            ("response.cancelled", _) | (_, Some("cancelled")) => {
                ResponseEnd::CutShort { why: "cancelled".to_owned() }
            }
            ("response.incomplete", _) | (_, Some("incomplete")) => {
                ResponseEnd::CutShort { why: why.unwrap_or("incomplete").to_owned() }
            }
            (_, Some(_) | None) => ResponseEnd::Done,
        };
        accumulator.set_end(end);
    }
}

/// Returns whether an `error` field contains an error.
pub(super) fn is_fault(error: &Value) -> bool {
    error.is_object() || error.is_string()
}
