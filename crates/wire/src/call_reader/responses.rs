//! Parses tool calls of the OpenAI Responses API.
//!
//! `response.output_item.done` is authoritative. The deltas before it are tracked for streams that break off and for
//! servers that omit the event. They are used only if no finished item arrives.

use serde_json::Value;

use super::partial_call::{CallFieldPaths, CallTextEnd, OpenCalls, PartialCall, is_blank, non_empty_str};
use super::{ParsedCall, local_shell};
use crate::CallFaultReason;
use crate::fault::CallItemKind;

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

/// Parser state: the open calls.
#[derive(Debug, Default)]
pub(super) struct ResponsesCallReader {
    drafts: OpenCalls,
}

impl ResponsesCallReader {
    /// Parses a stream event, a whole response or a single item.
    pub(super) fn read_event(&mut self, json: &Value) -> Vec<ParsedCall> {
        match json["type"].as_str() {
            Some("response.output_item.added") => self.open_item(json),
            Some("response.output_item.done") => {
                self.parse_item(&json["item"], json["output_index"].as_u64())
            }
            Some("response.function_call_arguments.delta" | "response.custom_tool_call_input.delta") => {
                self.append_delta(json);
                Vec::new()
            }
            Some("response.function_call_arguments.done") => self.finish_text(json, "arguments"),
            Some("response.custom_tool_call_input.done") => self.finish_text(json, "input"),
            Some("response.completed" | "response.done") => {
                self.parse_response(&json["response"], CallTextEnd::Complete)
            }
            Some("response.incomplete" | "response.failed" | "response.cancelled") => {
                self.parse_response(&json["response"], CallTextEnd::Cut)
            }
            None if json["output"].is_array() => self.parse_response(json, CallTextEnd::Cut),
            Some(_) | None => self.parse_item(json, None),
        }
    }

    /// Closes all open calls at the end of a stream.
    pub(super) fn finish(&mut self) -> Vec<ParsedCall> {
        self.close_all(CallTextEnd::Cut)
    }

    /// Parses a whole response; `end` applies to streamed calls that are missing in it.
    fn parse_response(&mut self, response: &Value, end: CallTextEnd) -> Vec<ParsedCall> {
        let items = response["output"].as_array().into_iter().flatten();
        let mut readings: Vec<ParsedCall> =
            items.zip(0..).flat_map(|(item, index)| self.parse_item(item, Some(index))).collect();
        readings.extend(self.close_all(end));
        readings
    }

    fn close_all(&mut self, end: CallTextEnd) -> Vec<ParsedCall> {
        self.drafts.drain().into_iter().map(|draft| draft.finish(end)).collect()
    }

    fn open_item(&mut self, event: &Value) -> Vec<ParsedCall> {
        let Some(mut draft) = item_draft(&event["item"]) else { return Vec::new() };
        draft.index = event["output_index"].as_u64();
        match event["item"]["type"].as_str() {
            // This item has no deltas.
            Some(local_shell::ITEM_TYPE) => {
                draft.name = local_shell::TOOL_NAME.to_owned();
                draft.fail(draft.paths.text, CallFaultReason::Unfinished);
            }
            Some(_) | None => draft.set_fallback(&event["item"][draft.paths.text]),
        }
        self.drafts.open(draft).err().map(|refused| *refused).into_iter().collect()
    }

    fn append_delta(&mut self, event: &Value) {
        if let (Some(at), Some(piece)) = (self.find_draft(event), event["delta"].as_str()) {
            self.drafts.append_text(at, piece);
        }
    }

    fn finish_text(&mut self, event: &Value, field: &str) -> Vec<ParsedCall> {
        let Some(at) = self.find_draft(event) else { return Vec::new() };
        if !event[field].is_null() {
            self.drafts.replace_text(at, &event[field]);
        }
        if let Some(draft) = self.drafts.get_mut(at) {
            draft.mark_ended();
        }
        Vec::new()
    }

    /// Finds the draft of an event. The index takes precedence, because some proxies give an item another id in every
    /// event.
    fn find_draft(&self, event: &Value) -> Option<usize> {
        let index = event["output_index"].as_u64();
        let item = non_empty_str(&event["item_id"]);
        let placed = index.and_then(|index| self.drafts.find_newest(|draft| draft.index == Some(index)));
        let named =
            || item.and_then(|item| self.drafts.find_newest(|draft| draft.item_id.as_deref() == Some(item)));
        let last = || match (index, item) {
            (None, None) => self.drafts.find_newest(|_| true),
            (Some(_), _) | (None, Some(_)) => None,
        };
        placed.or_else(named).or_else(last)
    }

    /// Parses a finished item, which replaces its streamed draft.
    fn parse_item(&mut self, item: &Value, index: Option<u64>) -> Vec<ParsedCall> {
        let Some(mut whole) = item_draft(item) else { return Vec::new() };
        let streamed = self.find_streamed_draft(&whole, index).and_then(|at| self.drafts.remove(at));
        if item["type"] == local_shell::ITEM_TYPE {
            return vec![local_shell::read_item(item)];
        }
        let text = &item[whole.paths.text];
        match streamed {
            Some(streamed) if is_blank(text) => whole.inherit_text(streamed),
            Some(_) | None => whole.set_text(text),
        }
        if item["status"] == "incomplete" {
            whole.fail(whole.paths.text, CallFaultReason::Unfinished);
        }
        vec![whole.finish(CallTextEnd::Complete)]
    }

    fn find_streamed_draft(&self, whole: &PartialCall, index: Option<u64>) -> Option<usize> {
        self.drafts.find_newest(|draft| {
            let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
            same(&draft.id, &whole.id)
                || same(&draft.item_id, &whole.item_id)
                || (index.is_some() && draft.index == index && draft.name == whole.name)
        })
    }
}

/// Returns the draft of a call without its text; `None` for other items.
fn item_draft(item: &Value) -> Option<PartialCall> {
    let paths = match item["type"].as_str()? {
        "function_call" => FUNCTION,
        "custom_tool_call" => CUSTOM,
        local_shell::ITEM_TYPE => local_shell::FIELD_PATHS,
        _ => return None,
    };
    let mut draft = PartialCall::new(paths);
    draft.item_id = non_empty_str(&item["id"]).map(str::to_owned);
    draft.id = call_id(item).map(str::to_owned);
    draft.set_name(&item["name"]);
    let space = non_empty_str(&item["namespace"]).filter(|space| *space != "functions");
    if let Some(space) = space.filter(|_| !draft.name.is_empty()) {
        draft.name = flat_name(space, &draft.name);
    }
    Some(draft)
}

/// Returns the id that pairs a call with its answer.
pub(crate) fn call_id(item: &Value) -> Option<&str> {
    non_empty_str(&item["call_id"]).or_else(|| non_empty_str(&item["id"]))
}

/// Joins a namespace and a tool name: `mcp__files` and `read` become `mcp__files__read`.
fn flat_name(space: &str, name: &str) -> String {
    let joint = if space.ends_with("__") { "" } else { "__" };
    format!("{space}{joint}{name}")
}

#[cfg(test)]
mod tests;
