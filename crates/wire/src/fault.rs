//! A call that cannot be read, said so that the model can send it again.

use serde_json::Value;
use tool::{CallId, ToolCall, ToolOutput, ToolPayload};

use crate::Dialect;

/// A call that cannot be read.
///
/// With an id it can be answered, and must be: APIs refuse a conversation in which a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be read at `{path}`: {why}", self.subject())]
pub struct WireFault {
    pub(crate) id: Option<CallId>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) path: String,
    pub(crate) why: Why,
}

/// What keeps a call from being read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// A field that must be there is not, or is empty.
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
    /// More text came for one call, or for all open calls together, than is kept.
    #[error("it is longer than {limit} bytes; send it in smaller calls")]
    TooLong {
        /// The most that is kept.
        limit: usize,
    },
    /// More calls are open at once than are followed.
    #[error("more than {limit} calls are open at once; send fewer at a time")]
    TooMany {
        /// The most that are followed.
        limit: usize,
    },
    /// The stream or the token limit ended before the call did.
    #[error("the response ended before the call was complete; send it again, in smaller calls if it is long")]
    Unfinished,
    /// Another call of the same response has this id, so an answer would reach the wrong one.
    #[error("another call of this response already has the id `{id}`; give every call its own")]
    Reused {
        /// The id as the server wrote it.
        id: String,
    },
}

/// Which item type answers the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Custom,
}

impl WireFault {
    /// The id that an answer needs, if the call had one.
    pub fn id(&self) -> Option<&CallId> {
        self.id.as_ref()
    }

    /// The tool's name, if that much could be read.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where in the item, e.g. `action.command[1]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there.
    pub fn why(&self) -> &Why {
        &self.why
    }

    /// The item that tells the model; none without an id, since there is nothing to pair it with.
    pub fn answer(&self, dialect: Dialect) -> Option<Value> {
        let id = self.id.clone()?;
        let payload = match self.kind {
            Kind::Function => ToolPayload::Function { arguments: String::new() },
            Kind::Custom => ToolPayload::Custom { input: String::new() },
        };
        let call = ToolCall { id, name: self.name.clone().unwrap_or_default(), payload };
        dialect.answer(&call, &ToolOutput::failure(self.to_string())).into_iter().next()
    }

    fn subject(&self) -> String {
        const SHOWN: usize = 100;
        match &self.name {
            Some(name) => format!("the call of `{}`", name.chars().take(SHOWN).collect::<String>()),
            None => "the call".to_owned(),
        }
    }
}

/// The JSON type of `value`, as a sentence wants it.
pub(crate) fn type_of(value: &Value) -> &'static str {
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

    fn fault(id: Option<&str>, kind: Kind) -> WireFault {
        let why = Why::Type { expected: "a string", found: type_of(&Value::Null) };
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
        insta::assert_snapshot!(say(Kind::Function, Dialect::Responses), @r#"{"call_id":"c1","output":"the call of `shell` cannot be read at `arguments`: expected a string, found null","type":"function_call_output"}"#);
        insta::assert_snapshot!(say(Kind::Custom, Dialect::Responses), @r#"{"call_id":"c1","output":"the call of `shell` cannot be read at `arguments`: expected a string, found null","type":"custom_tool_call_output"}"#);
        insta::assert_snapshot!(say(Kind::Custom, Dialect::Anthropic), @r#"{"content":"the call of `shell` cannot be read at `arguments`: expected a string, found null","is_error":true,"tool_use_id":"c1","type":"tool_result"}"#);
    }

    #[test]
    fn without_an_id_there_is_no_answer() {
        assert_eq!(fault(None, Kind::Function).answer(Dialect::Chat), None);
    }
}
