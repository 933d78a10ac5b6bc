//! Calls under construction: whole items are finished at once, streamed calls grow delta by delta, within limits.

use std::mem;

use serde_json::Value;
use tool::{CallId, MAX_ARGUMENT_BYTES, ToolCall, ToolPayload};

use super::object_scanner::ObjectScanner;
use crate::fault::{CallItemKind, json_type_name};
use crate::{CallFaultReason, WireFault};

/// Maximum number of open calls in one stream.
pub(super) const MAX_OPEN_CALLS: usize = 1024;

/// Maximum bytes of text of all open calls together.
const MAX_HELD_BYTES: usize = 8 * MAX_ARGUMENT_BYTES;

/// Maximum bytes of a name that arrives in pieces.
const MAX_NAME_BYTES: usize = 64 << 10;

/// A call of a response, parsed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedCall {
    /// A complete call.
    Call(ToolCall),
    /// A call that cannot be parsed.
    Fault(WireFault),
}

/// The fields of an item that hold the parts of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallFieldPaths {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// The JSON type that the text field should have.
    pub(super) shape: &'static str,
    pub(super) kind: CallItemKind,
}

/// The way in which the text of a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallTextEnd {
    /// The server reported the end.
    Complete,
    /// The stream broke off, or the model ran out of tokens.
    Cut,
}

/// A call under construction.
#[derive(Debug)]
pub(super) struct PartialCall {
    pub(super) paths: CallFieldPaths,
    /// Its index in the response, if the server sends one.
    pub(super) index: Option<u64>,
    /// The item's own id, if it differs from the call id.
    pub(super) item_id: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The item as it was when it started, if its fields are kept for the history.
    pub(super) raw: Option<Value>,
    text: String,
    /// The initial text of the item, used if no delta follows.
    fallback: String,
    scanner: ObjectScanner,
    first_fault: Option<(String, CallFaultReason)>,
    ended: bool,
}

impl PartialCall {
    /// Creates a call without id, name and text.
    pub(super) fn new(paths: CallFieldPaths) -> Self {
        Self {
            paths,
            index: None,
            item_id: None,
            id: None,
            name: String::new(),
            raw: None,
            text: String::new(),
            fallback: String::new(),
            scanner: ObjectScanner::default(),
            first_fault: None,
            ended: false,
        }
    }

    /// Sets the name from a whole item.
    pub(super) fn set_name(&mut self, name: &Value) {
        match name {
            Value::String(name) => self.name.clone_from(name),
            Value::Null => {}
            other => self.fail_with_type(self.paths.name, "a string", other),
        }
    }

    /// Sets the arguments from a whole item: a string, or the object itself, which some servers send by mistake.
    pub(super) fn set_text(&mut self, value: &Value) {
        match (value, self.paths.kind) {
            (Value::String(text), _) => self.store_text(text.clone()),
            (Value::Object(_), CallItemKind::Function) => self.store_text(value.to_string()),
            (Value::Null, CallItemKind::Function) => {}
            (Value::Null, CallItemKind::Custom) => self.fail(self.paths.text, CallFaultReason::Missing),
            (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_), _) => {
                self.fail_with_type(self.paths.text, self.paths.shape, value);
            }
        }
    }

    /// Sets the initial text of a streamed item, usually empty or `{}`. Deltas replace it.
    pub(super) fn set_fallback(&mut self, value: &Value) {
        if !is_blank(value) {
            self.set_text(value);
            self.fallback = mem::take(&mut self.text);
        }
    }

    /// Takes over the text that was streamed for this call.
    pub(super) fn inherit_text(&mut self, streamed: Self) {
        (self.text, self.fallback) = (streamed.text, streamed.fallback);
        if self.first_fault.is_none() {
            self.first_fault = streamed.first_fault;
        }
    }

    /// Marks the text as complete.
    pub(super) fn mark_ended(&mut self) {
        self.ended = true;
    }

    /// Returns whether any arguments have arrived, valid or not.
    pub(super) fn has_arguments(&self) -> bool {
        self.text_bytes() > 0 || self.first_fault.is_some()
    }

    /// Returns whether the text is an object up to its closing brace.
    pub(super) fn is_closed_object(&mut self) -> bool {
        self.scanner.is_closed(&self.text)
    }

    /// Marks the call as faulty, because `value` has the wrong type.
    pub(super) fn fail_with_type(&mut self, path: &str, expected: &'static str, value: &Value) {
        self.fail(path, CallFaultReason::Type { expected, found: json_type_name(value) });
    }

    /// Marks the call as faulty and drops its text. The first fault is reported.
    pub(super) fn fail(&mut self, path: &str, why: CallFaultReason) {
        (self.text, self.fallback) = (String::new(), String::new());
        self.first_fault.get_or_insert_with(|| (path.to_owned(), why));
    }

    fn store_text(&mut self, text: String) {
        if text.len() > MAX_ARGUMENT_BYTES {
            self.fail(self.paths.text, CallFaultReason::TooLong { limit: MAX_ARGUMENT_BYTES });
        } else if self.first_fault.is_none() {
            self.text = text;
            self.scanner = ObjectScanner::default();
        }
    }

    fn text_bytes(&self) -> usize {
        self.text.len() + self.fallback.len()
    }

    /// Returns the call, or the fault that prevents it.
    pub(super) fn finish(self, end: CallTextEnd) -> ParsedCall {
        let Self { paths, id, name, text, fallback, first_fault: spoiled, ended, .. } = self;
        let text = if text.is_empty() { fallback } else { text };
        let whole = end == CallTextEnd::Complete || ended;
        let fault = |id: Option<&str>, path: &str, why| {
            let name = Some(name.clone()).filter(|name| !name.is_empty());
            ParsedCall::Fault(WireFault {
                id: id.map(CallId::from),
                name,
                kind: paths.kind,
                path: path.to_owned(),
                why,
            })
        };
        if let Some((path, why)) = spoiled {
            return fault(id.as_deref(), &path, why);
        }
        let Some(id) = id.as_deref() else { return fault(None, paths.id, CallFaultReason::Missing) };
        let payload = match paths.kind {
            CallItemKind::Function if !whole && !is_object(&text) => {
                return fault(Some(id), paths.text, CallFaultReason::Unfinished);
            }
            CallItemKind::Custom if !whole => {
                return fault(Some(id), paths.text, CallFaultReason::Unfinished);
            }
            CallItemKind::Function if text.trim().is_empty() => {
                ToolPayload::Function { arguments: "{}".to_owned() }
            }
            CallItemKind::Function => ToolPayload::Function { arguments: text },
            CallItemKind::Custom => ToolPayload::Custom { input: text },
        };
        if name.is_empty() {
            return fault(Some(id), paths.name, CallFaultReason::Missing);
        }
        ParsedCall::Call(ToolCall { id: id.into(), name, payload })
    }
}

/// Returns whether the value contains no text, in any notation.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// Returns a non-empty string. Servers write `""` and `null` for missing ids.
pub(super) fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Value>(text).is_ok()
}

/// The open calls of a stream, oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    calls: Vec<PartialCall>,
    held_bytes: usize,
}

impl OpenCalls {
    /// Opens a call. Beyond the limit it returns a fault.
    pub(super) fn open(&mut self, mut draft: PartialCall) -> Result<usize, Box<ParsedCall>> {
        if self.calls.len() >= MAX_OPEN_CALLS {
            draft.fail(draft.paths.id, CallFaultReason::TooMany { limit: MAX_OPEN_CALLS });
            return Err(Box::new(draft.finish(CallTextEnd::Complete)));
        }
        if self.held_bytes + draft.text_bytes() > MAX_HELD_BYTES {
            draft.fail(draft.paths.text, CallFaultReason::TooLong { limit: MAX_HELD_BYTES });
        }
        self.held_bytes += draft.text_bytes();
        self.calls.push(draft);
        Ok(self.calls.len() - 1)
    }

    /// Returns the index of the newest open call that satisfies `wanted`.
    pub(super) fn find_newest(&self, wanted: impl Fn(&PartialCall) -> bool) -> Option<usize> {
        self.calls.iter().rposition(wanted)
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut PartialCall> {
        self.calls.get_mut(at)
    }

    /// Appends a piece to the name of the call at `at`.
    pub(super) fn extend_name(&mut self, at: usize, piece: &str) {
        let Some(draft) = self.calls.get_mut(at) else { return };
        if draft.name.len() + piece.len() > MAX_NAME_BYTES {
            self.held_bytes -= draft.text_bytes();
            draft.fail(draft.paths.name, CallFaultReason::TooLong { limit: MAX_NAME_BYTES });
        } else {
            draft.name.push_str(piece);
        }
    }

    /// Appends a piece of text to the call at `at`.
    pub(super) fn append_text(&mut self, at: usize, piece: &str) {
        let Some(draft) = self.calls.get_mut(at) else { return };
        if draft.first_fault.is_some() {
            return;
        }
        let long = draft.text.len() + piece.len() > MAX_ARGUMENT_BYTES;
        if long || self.held_bytes + piece.len() > MAX_HELD_BYTES {
            self.held_bytes -= draft.text_bytes();
            let limit = if long { MAX_ARGUMENT_BYTES } else { MAX_HELD_BYTES };
            draft.fail(draft.paths.text, CallFaultReason::TooLong { limit });
            return;
        }
        self.held_bytes += piece.len();
        draft.text.push_str(piece);
    }

    /// Replaces the text of the call at `at` by the complete text.
    pub(super) fn replace_text(&mut self, at: usize, value: &Value) {
        let Some(draft) = self.calls.get_mut(at) else { return };
        self.held_bytes -= draft.text_bytes();
        draft.set_text(value);
        self.held_bytes += draft.text_bytes();
    }

    /// Removes the call at `at` from the stream.
    pub(super) fn remove(&mut self, at: usize) -> Option<PartialCall> {
        let draft = (at < self.calls.len()).then(|| self.calls.remove(at))?;
        self.held_bytes -= draft.text_bytes();
        Some(draft)
    }

    /// Removes all calls, oldest first.
    pub(super) fn drain(&mut self) -> Vec<PartialCall> {
        self.held_bytes = 0;
        mem::take(&mut self.calls)
    }
}
