//! Parses tool calls of the Chat Completions API, as OpenAI and its many imitators stream it.
//!
//! Only choice 0 counts: further choices are alternatives, whose calls must not run too. A delta belongs to the open
//! call with its `index`, else its `id`, else its position. [`ToolCallDelta::starts_another`] handles servers that give several
//! calls the same index.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::ParsedCall;
use super::partial_call::{CallFieldPaths, CallTextEnd, OpenCalls, PartialCall, non_empty_str};
use crate::CallFaultReason;
use crate::fault::CallItemKind;

/// One of the two shapes of a call: the field of its body, and the field of its text inside the body.
struct ChatCallShape {
    body: &'static str,
    text: &'static str,
    paths: CallFieldPaths,
}

const FUNCTION: ChatCallShape = ChatCallShape {
    body: "function",
    text: "arguments",
    paths: CallFieldPaths {
        id: "id",
        name: "function.name",
        text: "function.arguments",
        shape: "a string",
        kind: CallItemKind::Function,
    },
};

const CUSTOM: ChatCallShape = ChatCallShape {
    body: "custom",
    text: "input",
    paths: CallFieldPaths {
        id: "id",
        name: "custom.name",
        text: "custom.input",
        shape: "a string",
        kind: CallItemKind::Custom,
    },
};

/// Marks the draft of a `function_call`, the legacy form without ids and parallel calls.
const LEGACY: &str = "function_call";

/// Parser state: the open calls, and the source of invented ids.
#[derive(Debug, Default)]
pub(super) struct ChatCallReader {
    drafts: OpenCalls,
    invented_ids: u64,
    /// Random seed of the ids that replace missing ones, so that they differ between responses.
    id_seed: RandomState,
}

impl ChatCallReader {
    /// Parses a chunk, a whole response, a message or a single call.
    pub(super) fn read_event(&mut self, json: &Value) -> Vec<ParsedCall> {
        if json["choices"].is_array() {
            return first_choice(json).map(|choice| self.parse_choice(choice)).unwrap_or_default();
        }
        if json["tool_calls"].is_array() || json["function_call"].is_object() {
            return self.parse_message(json, CallTextEnd::Complete);
        }
        let is_call = json["function"].is_object()
            || json["custom"].is_object()
            || matches!(json["type"].as_str(), Some("function" | "custom"));
        if is_call { vec![self.read_whole_call(json, CallTextEnd::Complete)] } else { Vec::new() }
    }

    /// Closes all open calls at the end of a stream.
    pub(super) fn finish(&mut self) -> Vec<ParsedCall> {
        self.close_all(CallTextEnd::Cut)
    }

    /// Returns whether no call is open.
    pub(super) fn is_idle(&self) -> bool {
        self.drafts.len() == 0
    }

    fn parse_choice(&mut self, choice: &Value) -> Vec<ParsedCall> {
        let reason = finish_reason(choice);
        let end = match reason {
            Some("length" | "content_filter") => CallTextEnd::Cut,
            Some(_) | None => CallTextEnd::Complete,
        };
        if is_whole_response(choice) {
            return self.parse_message(&choice["message"], end);
        }
        // The last chunk of some servers has only a finish reason.
        let mut readings = self.append_deltas(&choice["delta"]);
        if reason.is_some() {
            readings.extend(self.close_all(end));
        }
        readings
    }

    fn close_all(&mut self, end: CallTextEnd) -> Vec<ParsedCall> {
        self.drafts.drain().into_iter().map(|draft| self.close_call(draft, end)).collect()
    }

    fn close_call(&mut self, mut draft: PartialCall, end: CallTextEnd) -> ParsedCall {
        if draft.id.is_none() {
            self.invented_ids += 1;
            let mark = self.id_seed.hash_one(0_u8) >> 32;
            draft.id = Some(format!("call_toolgate_{mark:08x}_{}", self.invented_ids));
        }
        draft.finish(end)
    }

    fn parse_message(&mut self, message: &Value, end: CallTextEnd) -> Vec<ParsedCall> {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let mut readings: Vec<ParsedCall> = calls.map(|call| self.read_whole_call(call, end)).collect();
        let legacy = &message[LEGACY];
        // Some servers send the same call in both forms.
        if readings.is_empty() && legacy.is_object() {
            readings.push(self.read_whole_call(&serde_json::json!({ "function": legacy }), end));
        }
        readings
    }

    fn read_whole_call(&mut self, call: &Value, end: CallTextEnd) -> ParsedCall {
        let shape = call_shape(call);
        let body = &call[shape.body];
        let mut draft = PartialCall::new(shape.paths);
        draft.id = non_empty_str(&call["id"]).map(str::to_owned);
        match body {
            Value::Object(_) => {
                draft.set_name(&body["name"]);
                draft.set_text(&body[shape.text]);
            }
            Value::Null => draft.fail(shape.body, CallFaultReason::Missing),
            other => draft.fail_with_type(shape.body, "an object", other),
        }
        self.close_call(draft, end)
    }

    fn append_deltas(&mut self, delta: &Value) -> Vec<ParsedCall> {
        let calls = delta["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let mut pieces: Vec<ToolCallDelta<'_>> = calls.iter().map(ToolCallDelta::new).collect();
        if calls.len() > 1 {
            pieces.iter_mut().zip(0..).for_each(|(piece, at)| piece.position = Some(at));
        }
        if calls.is_empty() && delta[LEGACY].is_object() {
            pieces.push(ToolCallDelta {
                legacy: true,
                ..ToolCallDelta::from_body(&FUNCTION, &Value::Null, &delta[LEGACY])
            });
        }
        pieces.iter().filter_map(|piece| self.append_piece(piece)).collect()
    }

    /// Appends a delta to its call. Returns a reading only if no further call can be opened.
    fn append_piece(&mut self, piece: &ToolCallDelta<'_>) -> Option<ParsedCall> {
        let at = match self.find_draft(piece) {
            Some(at) => at,
            None => match self.drafts.open(piece.new_draft()) {
                Ok(at) => at,
                Err(refused) => return Some(*refused),
            },
        };
        let draft = self.drafts.get_mut(at)?;
        if draft.id.is_none() {
            draft.id = piece.id.map(str::to_owned);
        }
        let rest = piece.name.map(|name| new_part(&draft.name, name));
        self.drafts.extend_name(at, rest.unwrap_or_default());
        match piece.text {
            Value::Null => {}
            Value::String(text) => self.drafts.append_text(at, text),
            whole => self.drafts.replace_text(at, whole),
        }
        None
    }

    fn find_draft(&mut self, piece: &ToolCallDelta<'_>) -> Option<usize> {
        let last = self.drafts.len().checked_sub(1);
        let same_id = |draft: &PartialCall| piece.id.is_some() && draft.id.as_deref() == piece.id;
        let at = match (piece.index, piece.position) {
            _ if piece.legacy => self.drafts.find_newest(|draft| draft.item_id.as_deref() == Some(LEGACY)),
            (Some(index), _) => self.drafts.find_newest(|draft| draft.index == Some(index)),
            (None, _) if piece.id.is_some() => self.drafts.find_newest(same_id).or(last),
            (None, Some(position)) => Some(position),
            (None, None) => last,
        }?;
        let draft = self.drafts.get_mut(at)?;
        (!piece.starts_another(draft)).then_some(at)
    }
}

/// Returns choice 0 of a chunk or a response.
pub(crate) fn first_choice(json: &Value) -> Option<&Value> {
    let choices = json["choices"].as_array()?;
    let numbered = |(at, choice): &(u64, &Value)| choice["index"].as_u64().unwrap_or(*at) == 0;
    (0..).zip(choices).find(numbered).map(|(_, choice)| choice)
}

/// Returns whether a choice belongs to a whole response. A chunk may lack its delta, or have an empty message.
pub(crate) fn is_whole_response(choice: &Value) -> bool {
    let has_message = choice["message"].as_object().is_some_and(|message| !message.is_empty());
    has_message && !choice["delta"].is_object()
}

/// Returns the finish reason of a response that has ended. Some servers write `""` or `"null"` before the end.
pub(crate) fn finish_reason(choice: &Value) -> Option<&str> {
    choice["finish_reason"].as_str().filter(|reason| !matches!(*reason, "" | "null"))
}

fn call_shape(call: &Value) -> &'static ChatCallShape {
    if call["custom"].is_object() || call["type"] == "custom" { &CUSTOM } else { &FUNCTION }
}

/// One element of `delta.tool_calls`.
struct ToolCallDelta<'a> {
    shape: &'static ChatCallShape,
    index: Option<u64>,
    /// Its position among several deltas of one chunk.
    position: Option<usize>,
    legacy: bool,
    id: Option<&'a str>,
    name: Option<&'a str>,
    text: &'a Value,
}

impl<'a> ToolCallDelta<'a> {
    fn new(json: &'a Value) -> Self {
        let shape = call_shape(json);
        Self::from_body(shape, json, &json[shape.body])
    }

    fn from_body(shape: &'static ChatCallShape, json: &'a Value, body: &'a Value) -> Self {
        let (index, id, name) =
            (json["index"].as_u64(), non_empty_str(&json["id"]), non_empty_str(&body["name"]));
        Self { shape, index, position: None, legacy: false, id, name, text: &body[shape.text] }
    }

    fn new_draft(&self) -> PartialCall {
        let mut draft = PartialCall::new(self.shape.paths);
        draft.index = self.index;
        draft.item_id = self.legacy.then(|| LEGACY.to_owned());
        draft.id = self.id.map(str::to_owned);
        draft
    }

    fn has_text(&self) -> bool {
        match self.text {
            Value::Null => false,
            Value::String(text) => !text.trim().is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
        }
    }

    /// Returns whether this delta begins a new call, although its index or position points to `draft`.
    ///
    /// A delta without a name never does: old vLLM invents a new id for every delta, but names a call only once. With a
    /// name, a different id means a new call (Gemini gives all calls index 0). Without ids, a different name begins a
    /// new call once the arguments have begun, or if there is no index either. An equal name begins a new call once the
    /// arguments are complete and more follow.
    fn starts_another(&self, draft: &mut PartialCall) -> bool {
        let Some(name) = self.name else { return false };
        if let (Some(id), Some(known)) = (self.id, draft.id.as_deref()) {
            return id != known;
        }
        let grows = !draft.name.is_empty() && name.starts_with(&draft.name);
        if grows || draft.name.is_empty() {
            return self.has_text() && draft.is_closed_object();
        }
        draft.has_arguments() || (self.index.is_none() && !self.legacy)
    }
}

/// Returns the part of `piece` that is new to a name. Some servers repeat the name in every delta, some send a growing
/// name, and some split it. A repeated piece counts as a repetition, so a name of two equal pieces (`go`, `go`) is read
/// as `go`.
fn new_part<'a>(name: &str, piece: &'a str) -> &'a str {
    piece.strip_prefix(name).unwrap_or(piece)
}

#[cfg(test)]
mod tests;
