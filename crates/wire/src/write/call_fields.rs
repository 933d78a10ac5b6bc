//! Makes names, ids and arguments of calls valid for the APIs that receive them in a history.
//!
//! A model may call `functions.read:0` under an id of any characters, and another API may receive that call later. One
//! invalid character makes the API reject every further request of the session. Names and ids are therefore sanitised
//! when they are written; valid ones stay unchanged.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tool::{CallId, ToolCall, ToolPayload};

/// The longest name that any of the APIs accepts.
const MAX_NAME_CHARS: usize = 128;

/// The name of a call without a name.
const UNKNOWN_NAME: &str = "unknown";

/// Returns a name that the APIs accept: `^[A-Za-z0-9_-]{1,128}$`.
pub(super) fn valid_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed(UNKNOWN_NAME);
    }
    if name.len() <= MAX_NAME_CHARS && name.chars().all(is_valid_char) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(replace_invalid_chars(name).take(MAX_NAME_CHARS).collect())
}

/// Returns an id that Anthropic accepts: `^[A-Za-z0-9_-]+$`. Different ids stay different.
pub(super) fn valid_id(id: &CallId) -> Cow<'_, str> {
    let id = id.as_str();
    if !id.is_empty() && id.chars().all(is_valid_char) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{}_{:016x}", replace_invalid_chars(id).collect::<String>(), fnv1a(id)))
}

/// Returns the arguments as text for an API that only has functions. Freeform input is wrapped in the declared
/// parameter.
pub(crate) fn arguments_text(call: &ToolCall) -> Cow<'_, str> {
    match &call.payload {
        ToolPayload::Custom { input } => Cow::Owned(json!({ "input": input }).to_string()),
        ToolPayload::Function { .. } | ToolPayload::LocalShell(_) | ToolPayload::Mcp { .. } => {
            call.payload.arguments()
        }
    }
}

/// Returns the arguments as an object; an empty one if they are not an object.
pub(crate) fn arguments_object(call: &ToolCall) -> Value {
    match serde_json::from_str(&arguments_text(call)) {
        Ok(Value::Object(map)) => Value::Object(map),
        Ok(_) | Err(_) => Value::Object(Map::new()),
    }
}

fn is_valid_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn replace_invalid_chars(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|letter| if is_valid_char(letter) { letter } else { '_' })
}

/// FNV-1a. The hash must be equal in every build, because saved histories contain it.
fn fnv1a(text: &str) -> u64 {
    let step = |print: u64, byte: u8| (print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_stay_and_others_are_replaced() {
        assert_eq!(
            [valid_name("read"), valid_name(""), valid_name("functions.read:0")],
            ["read", "unknown", "functions_read_0"]
        );
        assert_eq!(valid_name(&"é".repeat(200)).len(), 128);
        assert_eq!(valid_id(&"toolu_1".into()), "toolu_1");
        assert_eq!(valid_id(&"a.b".into()), "a_b_e61d99190466522c");
        assert_ne!(valid_id(&"a.b".into()), valid_id(&"a:b".into()));
    }

    #[test]
    fn arguments_are_an_object_whatever_they_are() {
        let say = |payload| {
            arguments_object(&ToolCall { id: "c".into(), name: "t".to_owned(), payload }).to_string()
        };
        assert_eq!(say(ToolPayload::Function { arguments: r#"{"a":1}"#.to_owned() }), r#"{"a":1}"#);
        assert_eq!(say(ToolPayload::Function { arguments: "{".to_owned() }), "{}");
        assert_eq!(say(ToolPayload::Function { arguments: "[1]".to_owned() }), "{}");
        assert_eq!(say(ToolPayload::Custom { input: "*".to_owned() }), r#"{"input":"*"}"#);
    }
}
