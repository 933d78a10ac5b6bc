//! The error for a malformed tool call, worded so that the model can send the call again.

use serde_json::Value;
use tool::{CallId, ToolCall, ToolOutput, ToolPayload};

use crate::Dialect;

/// A tool call that cannot be parsed.
///
/// A fault with an id must be answered: APIs reject a conversation in which a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be read at `{path}`: {why}", self.subject())]
pub struct WireFault {
    pub(crate) id: Option<CallId>,
    pub(crate) name: Option<String>,
    pub(crate) kind: CallItemKind,
    pub(crate) path: String,
    pub(crate) why: CallFaultReason,
}

/// The reason why a call cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFaultReason {
    /// A required field is missing or empty.
    #[error("it is missing")]
    Missing,
    /// A field has the wrong type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// E.g. `a string`.
        expected: &'static str,
        /// E.g. `a number`.
        found: &'static str,
    },
    /// The text of one call, or of all open calls together, exceeds the limit.
    #[error("it is longer than {limit} bytes; send it in smaller calls")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// More calls are open at once than the limit allows.
    #[error("more than {limit} calls are open at once; send fewer at a time")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The stream or the token limit ended before the call was complete.
    #[error("the response ended before the call was complete; send it again, in smaller calls if it is long")]
    Unfinished,
    /// Another call of the response has this id, so an answer would be paired with the wrong call.
    #[error("another call of this response already has the id `{id}`; give every call its own")]
    Reused {
        /// The id as the server wrote it.
        id: String,
    },
}

/// The item type that answers the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallItemKind {
    Function,
    Custom,
}

impl WireFault {
    /// Returns the id of the call, which an answer needs, if there is one.
    pub fn id(&self) -> Option<&CallId> {
        self.id.as_ref()
    }

    /// Returns the name of the tool, if it could be parsed.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the path of the faulty field in the item, e.g. `action.command[1]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the reason.
    pub fn reason(&self) -> &CallFaultReason {
        &self.why
    }

    /// Writes the item that reports the fault to the model. Returns `None` without an id, because no answer can be
    /// paired.
    pub fn answer(&self, dialect: Dialect) -> Option<Value> {
        let id = self.id.clone()?;
        let payload = match self.kind {
            CallItemKind::Function => ToolPayload::Function { arguments: String::new() },
            CallItemKind::Custom => ToolPayload::Custom { input: String::new() },
        };
        let call = ToolCall { id, name: self.name.clone().unwrap_or_default(), payload };
        dialect.answer(&call, &ToolOutput::failure(self.to_string())).into_iter().next()
    }

    fn subject(&self) -> String {
        const MAX_NAME_CHARS: usize = 100;
        match &self.name {
            Some(name) => format!("the call of `{}`", name.chars().take(MAX_NAME_CHARS).collect::<String>()),
            None => "the call".to_owned(),
        }
    }
}

/// Returns the JSON type of `value` with its article, for error sentences.
pub(crate) fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(id: Option<&str>, kind: CallItemKind) -> WireFault {
        let why = CallFaultReason::Type { expected: "a string", found: json_type_name(&Value::Null) };
        WireFault {
            id: id.map(CallId::from),
            name: Some("shell".into()),
            kind,
            path: "arguments".into(),
            why,
        }
    }

    #[test]
    fn the_answer_has_the_item_type_of_the_call() {
        let say = |kind, dialect| fault(Some("c1"), kind).answer(dialect).unwrap().to_string();
        insta::assert_snapshot!(say(CallItemKind::Function, Dialect::Responses), @r#"{"call_id":"c1","output":"the call of `shell` cannot be read at `arguments`: expected a string, found null","type":"function_call_output"}"#);
        insta::assert_snapshot!(say(CallItemKind::Custom, Dialect::Responses), @r#"{"call_id":"c1","output":"the call of `shell` cannot be read at `arguments`: expected a string, found null","type":"custom_tool_call_output"}"#);
        insta::assert_snapshot!(say(CallItemKind::Custom, Dialect::Anthropic), @r#"{"content":"the call of `shell` cannot be read at `arguments`: expected a string, found null","is_error":true,"tool_use_id":"c1","type":"tool_result"}"#);
    }

    #[test]
    fn without_an_id_there_is_no_answer() {
        assert_eq!(fault(None, CallItemKind::Function).answer(Dialect::Chat), None);
    }
}
