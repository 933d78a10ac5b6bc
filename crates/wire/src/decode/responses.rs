//! Decodes responses of the OpenAI Responses API.
//!
//! `response.output_item.done` is authoritative. The deltas before it are used only if no finished item arrives: some
//! streams break off, and some servers omit the event or send items only with the end of the response.

use std::collections::HashSet;

use serde_json::Value;

use super::accumulator::ResponseAccumulator;
use super::partial_call::{CallFieldPaths, CallTextEnd, OpenCalls, PartialCall, is_blank, non_empty_str};
use super::{DialectDecoder, ParsedCall, ResponseEnd, ResponseFragment, is_error, local_shell};
use crate::fault::CallItemKind;
use crate::{CallFaultReason, ModelError};

const FUNCTION: CallFieldPaths = CallFieldPaths {
    id: "call_id",
    name: "name",
    text: "arguments",
    shape: "a string",
    kind: CallItemKind::Function,
};
const CUSTOM: CallFieldPaths = CallFieldPaths {
    id: "call_id",
    name: "name",
    text: "input",
    shape: "a string",
    kind: CallItemKind::Custom,
};

/// Decoder state of a Responses response.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    open_calls: OpenCalls,
    /// Open texts, by output index.
    open_texts: Vec<(Option<u64>, String)>,
    /// Output indices and ids of completed items.
    completed_indices: HashSet<u64>,
    completed_ids: HashSet<String>,
    /// Set when the reasoning of the next item has already been emitted as deltas.
    reasoning_emitted: bool,
}

impl DialectDecoder for ResponsesDecoder {
    fn decode(&mut self, json: &Value, accumulator: &mut ResponseAccumulator) {
        let index = json["output_index"].as_u64();
        let delta = json["delta"].as_str().unwrap_or_default();
        match json["type"].as_str() {
            Some("response.output_text.delta" | "response.refusal.delta") => {
                self.append_text(index, delta, accumulator);
            }
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                self.reasoning_emitted = true;
                accumulator.emit_thought(delta);
            }
            Some("response.reasoning_summary_part.added") => {
                let first = json["summary_index"].as_u64().unwrap_or(0) == 0;
                accumulator.emit_thought(if first { "" } else { "\n\n" });
            }
            Some("response.output_item.added") => self.open_call(&json["item"], index, accumulator),
            Some("response.function_call_arguments.delta" | "response.custom_tool_call_input.delta") => {
                if let Some(at) = self.find_open_call(json) {
                    self.open_calls.append_text(at, delta);
                }
            }
            Some("response.function_call_arguments.done") => self.end_call_text(json, &json["arguments"]),
            Some("response.custom_tool_call_input.done") => self.end_call_text(json, &json["input"]),
            Some("response.output_item.done") => self.decode_item(&json["item"], index, accumulator),
            Some(event) if call_text_end(event).is_some() => {
                self.decode_response(&json["response"], event, accumulator);
            }
            Some("error") => accumulator.fail(json),
            Some("response") | None if json["output"].is_array() => {
                self.decode_response(json, "", accumulator);
            }
            None if is_error(&json["error"]) => accumulator.fail(json),
            Some(_) | None => {
                if let Some(call) = self.read_call(json, None) {
                    accumulator.add_single_call(call);
                }
            }
        }
    }

    fn finish(&mut self, accumulator: &mut ResponseAccumulator) {
        self.close(CallTextEnd::Cut, accumulator);
        accumulator.set_end(ResponseEnd::Failed(ModelError::stream_ended_early()));
    }

    fn classify<'a>(&self, json: &'a Value) -> ResponseFragment<'a> {
        let id = json["response"]["id"].as_str();
        match json["type"].as_str() {
            Some("response.created") => ResponseFragment::Start(id),
            Some(event) if call_text_end(event).is_some() => ResponseFragment::End(id),
            Some(_) if call_field_paths(json).is_some() => ResponseFragment::Item,
            Some(event) if event.starts_with("response.") => ResponseFragment::Part(id),
            Some(_) | None if json["output"].is_array() => ResponseFragment::Whole(json["id"].as_str()),
            Some(_) | None => ResponseFragment::Other,
        }
    }
}

impl ResponsesDecoder {
    fn append_text(&mut self, index: Option<u64>, piece: &str, accumulator: &mut ResponseAccumulator) {
        accumulator.emit_text(piece);
        if !accumulator.charge_bytes(piece.len()) {
            return;
        }
        match self.open_texts.iter_mut().rfind(|(other, _)| *other == index) {
            Some((_, text)) => text.push_str(piece),
            None => self.open_texts.push((index, piece.to_owned())),
        }
    }

    /// Decodes a completed item.
    fn decode_item(&mut self, item: &Value, index: Option<u64>, accumulator: &mut ResponseAccumulator) {
        let id = item["id"].as_str();
        if accumulator.charge_bytes(id.map_or(0, str::len)) {
            self.completed_indices.extend(index);
            self.completed_ids.extend(id.map(str::to_owned));
        }
        if let Some(call) = self.read_call(item, index) {
            return accumulator.add_call(call, Some(item));
        }
        match item["type"].as_str() {
            Some("message") => self.decode_message(item, index, accumulator),
            Some("reasoning") => self.decode_reasoning(item, accumulator),
            Some(kind) => accumulator.keep_hosted(kind, item),
            None => {}
        }
    }

    fn decode_message(&mut self, item: &Value, index: Option<u64>, accumulator: &mut ResponseAccumulator) {
        let parts = item["content"].as_array().into_iter().flatten();
        let text: String =
            parts.filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str())).collect();
        let open_before = self.open_texts.len();
        self.open_texts.retain(|(other, _)| other.is_some() && *other != index);
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
        for (item, index) in items.zip(0..) {
            let known = self.completed_indices.contains(&index)
                || item["id"].as_str().is_some_and(|id| self.completed_ids.contains(id));
            if !known {
                self.decode_item(item, Some(index), accumulator);
            } else if let Some(call) = self.read_call(item, Some(index)) {
                // A repeated call is recognised by its call id alone.
                accumulator.add_call(call, None);
            }
        }
        // Streamed calls that the response lacks.
        self.close(call_text_end(event).unwrap_or(CallTextEnd::Cut), accumulator);
        accumulator.update_usage(&response["usage"]);
        let why = response["incomplete_details"]["reason"].as_str();
        match (event, response["status"].as_str()) {
            ("response.failed", _) | (_, Some("failed")) => accumulator.fail(&response["error"]),
            ("response.cancelled", _) | (_, Some("cancelled")) => {
                accumulator.set_end(ResponseEnd::CutShort { why: "cancelled".to_owned() });
            }
            ("response.incomplete", _) | (_, Some("incomplete")) => {
                accumulator.set_end(ResponseEnd::CutShort { why: why.unwrap_or("incomplete").to_owned() });
            }
            (_, Some(_) | None) => accumulator.set_end(ResponseEnd::Done),
        }
    }

    /// Keeps open texts, and closes all open calls.
    fn close(&mut self, end: CallTextEnd, accumulator: &mut ResponseAccumulator) {
        for (_, text) in self.open_texts.drain(..) {
            accumulator.keep_text(text, None);
        }
        for call in self.open_calls.drain() {
            accumulator.add_call(call.finish(end), None);
        }
    }

    fn open_call(&mut self, item: &Value, index: Option<u64>, accumulator: &mut ResponseAccumulator) {
        let Some(mut call) = partial_call(item) else { return };
        call.index = index;
        match item["type"].as_str() {
            // This item has no deltas.
            Some(local_shell::ITEM_TYPE) => {
                call.name = local_shell::TOOL_NAME.to_owned();
                call.fail(call.paths.text, CallFaultReason::Unfinished);
            }
            Some(_) | None => call.set_fallback(&item[call.paths.text]),
        }
        if let Err(refused) = self.open_calls.open(call) {
            accumulator.add_call(*refused, None);
        }
    }

    fn end_call_text(&mut self, event: &Value, text: &Value) {
        let Some(at) = self.find_open_call(event) else { return };
        if !text.is_null() {
            self.open_calls.replace_text(at, text);
        }
        if let Some(call) = self.open_calls.get_mut(at) {
            call.mark_ended();
        }
    }

    /// Finds the open call of an event. The index takes precedence, because some proxies give an item another id in
    /// every event.
    fn find_open_call(&self, event: &Value) -> Option<usize> {
        let index = event["output_index"].as_u64();
        let item = non_empty_str(&event["item_id"]);
        let placed = index.and_then(|index| self.open_calls.find_newest(|call| call.index == Some(index)));
        let named = || {
            item.and_then(|item| self.open_calls.find_newest(|call| call.item_id.as_deref() == Some(item)))
        };
        let last = || match (index, item) {
            (None, None) => self.open_calls.find_newest(|_| true),
            (Some(_), _) | (None, Some(_)) => None,
        };
        placed.or_else(named).or_else(last)
    }

    /// Reads a finished call, which replaces its streamed parts. Returns `None` for other items.
    fn read_call(&mut self, item: &Value, index: Option<u64>) -> Option<ParsedCall> {
        let mut whole = partial_call(item)?;
        let streamed = self.find_streamed_call(&whole, index).and_then(|at| self.open_calls.remove(at));
        if item["type"] == local_shell::ITEM_TYPE {
            return Some(local_shell::read_item(item));
        }
        let text = &item[whole.paths.text];
        match streamed {
            Some(streamed) if is_blank(text) => whole.inherit_text(streamed),
            Some(_) | None => whole.set_text(text),
        }
        if item["status"] == "incomplete" {
            whole.fail(whole.paths.text, CallFaultReason::Unfinished);
        }
        Some(whole.finish(CallTextEnd::Complete))
    }

    fn find_streamed_call(&self, whole: &PartialCall, index: Option<u64>) -> Option<usize> {
        self.open_calls.find_newest(|call| {
            let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
            same(&call.id, &whole.id)
                || same(&call.item_id, &whole.item_id)
                || (index.is_some() && call.index == index && call.name == whole.name)
        })
    }
}

/// Returns how the event that ends a response leaves the calls that are still open; `None` for other events.
fn call_text_end(event: &str) -> Option<CallTextEnd> {
    match event {
        "response.completed" | "response.done" => Some(CallTextEnd::Complete),
        "response.incomplete" | "response.failed" | "response.cancelled" => Some(CallTextEnd::Cut),
        _ => None,
    }
}

/// Returns the fields of a call; `None` for other items.
fn call_field_paths(item: &Value) -> Option<CallFieldPaths> {
    match item["type"].as_str()? {
        "function_call" => Some(FUNCTION),
        "custom_tool_call" => Some(CUSTOM),
        local_shell::ITEM_TYPE => Some(local_shell::FIELD_PATHS),
        _ => None,
    }
}

/// Returns a call without its text; `None` for other items.
fn partial_call(item: &Value) -> Option<PartialCall> {
    let mut call = PartialCall::new(call_field_paths(item)?);
    call.item_id = non_empty_str(&item["id"]).map(str::to_owned);
    call.id = call_id(item).map(str::to_owned);
    call.set_name(&item["name"]);
    let space = non_empty_str(&item["namespace"]).filter(|space| *space != "functions");
    if let Some(space) = space.filter(|_| !call.name.is_empty()) {
        call.name = flat_name(space, &call.name);
    }
    Some(call)
}

/// Returns the id that pairs a call with its answer.
pub(super) fn call_id(item: &Value) -> Option<&str> {
    non_empty_str(&item["call_id"]).or_else(|| non_empty_str(&item["id"]))
}

/// Joins a namespace and a tool name: `mcp__files` and `read` become `mcp__files__read`.
pub(crate) fn flat_name(space: &str, name: &str) -> String {
    let joint = if space.ends_with("__") { "" } else { "__" };
    format!("{space}{joint}{name}")
}
