//! Tool calls of the Chat Completions API: the shapes of a call, and the deltas of a streamed call.

use serde_json::Value;

use crate::CallFaultReason;
use crate::decode::partial_call::{CallFieldPaths, PartialCall, non_empty_str};
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

/// The legacy form of a call, without ids and parallel calls. It also marks the open call of that form.
pub(super) const LEGACY: &str = "function_call";

/// Returns the call of a whole `tool_calls` element.
pub(super) fn whole_call(call: &Value) -> PartialCall {
    let shape = call_shape(call);
    let body = &call[shape.body];
    let mut whole = PartialCall::new(shape.paths);
    whole.id = non_empty_str(&call["id"]).map(str::to_owned);
    match body {
        Value::Object(_) => {
            whole.set_name(&body["name"]);
            whole.set_text(&body[shape.text]);
        }
        Value::Null => whole.fail(shape.body, CallFaultReason::Missing),
        other => whole.fail_with_type(shape.body, "an object", other),
    }
    whole
}

fn call_shape(call: &Value) -> &'static ChatCallShape {
    if call["custom"].is_object() || call["type"] == "custom" { &CUSTOM } else { &FUNCTION }
}

/// One element of `delta.tool_calls`.
pub(super) struct ToolCallDelta<'a> {
    shape: &'static ChatCallShape,
    pub(super) index: Option<u64>,
    /// Its position among several deltas of one chunk.
    pub(super) position: Option<usize>,
    pub(super) legacy: bool,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) text: &'a Value,
}

impl<'a> ToolCallDelta<'a> {
    pub(super) fn new(json: &'a Value) -> Self {
        let shape = call_shape(json);
        Self::from_body(shape, json, &json[shape.body])
    }

    /// Creates the delta of a legacy call.
    pub(super) fn new_legacy(body: &'a Value) -> Self {
        Self { legacy: true, ..Self::from_body(&FUNCTION, &Value::Null, body) }
    }

    fn from_body(shape: &'static ChatCallShape, json: &'a Value, body: &'a Value) -> Self {
        let (index, id, name) =
            (json["index"].as_u64(), non_empty_str(&json["id"]), non_empty_str(&body["name"]));
        Self { shape, index, position: None, legacy: false, id, name, text: &body[shape.text] }
    }

    /// Returns the call that this delta opens.
    pub(super) fn new_call(&self) -> PartialCall {
        let mut call = PartialCall::new(self.shape.paths);
        call.index = self.index;
        call.item_id = self.legacy.then(|| LEGACY.to_owned());
        call.id = self.id.map(str::to_owned);
        call
    }

    fn has_text(&self) -> bool {
        match self.text {
            Value::Null => false,
            Value::String(text) => !text.trim().is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
        }
    }

    /// Returns whether this delta begins a new call, although its index or position points to `call`.
    ///
    /// A delta without a name never does: old vLLM invents a new id for every delta, but names a call only once. With a
    /// name, a different id means a new call (Gemini gives all calls index 0). Without ids, a different name begins a
    /// new call once the arguments have begun, or if there is no index either. An equal name begins a new call once the
    /// arguments are complete and more follow.
    pub(super) fn starts_another(&self, call: &mut PartialCall) -> bool {
        let Some(name) = self.name else { return false };
        if let (Some(id), Some(known)) = (self.id, call.id.as_deref()) {
            return id != known;
        }
        let grows = !call.name.is_empty() && name.starts_with(&call.name);
        if grows || call.name.is_empty() {
            return self.has_text() && call.is_closed_object();
        }
        call.has_arguments() || (self.index.is_none() && !self.legacy)
    }
}

/// Returns the part of `piece` that is new to a name. Some servers repeat the name in every delta, some send a growing
/// name, and some split it. A repeated piece counts as a repetition, so a name of two equal pieces (`go`, `go`) is read
/// as `go`.
pub(super) fn new_part<'a>(name: &str, piece: &'a str) -> &'a str {
    piece.strip_prefix(name).unwrap_or(piece)
}
