//! Validates a request body before `rmcp` parses it: exactly one JSON-RPC message.

use serde_json::{Value, json};

use crate::json_limits;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;
/// The JSON-RPC error codes for invalid JSON and for an invalid message.
const PARSE_ERROR_CODE: i32 = -32_700;
const INVALID_REQUEST_CODE: i32 = -32_600;

/// The reason why a body is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageFault {
    code: i32,
    why: String,
}

impl MessageFault {
    /// Returns the JSON-RPC error response. Its id is null, because the request id is unknown.
    pub(super) fn to_error_response(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": self.code, "message": self.why } })
    }
}

/// Checks a body.
pub(super) fn check_body(body: &[u8]) -> Result<(), MessageFault> {
    let none = |why: &str| Err(MessageFault { code: INVALID_REQUEST_CODE, why: why.to_owned() });
    if nesting_depth(body) > MAX_DEPTH {
        return none("the message is too deep");
    }
    if matches!(json_limits::check_message(body), Err(json_limits::JsonExcess::Many)) {
        return none("the message has too many values in it");
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| MessageFault {
        code: PARSE_ERROR_CODE,
        why: format!("the body is not JSON: {error}"),
    })?;
    let Value::Object(message) = value else {
        return none("the body must be one message: an object, not a list of them");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return none("`jsonrpc` must be \"2.0\"");
    }
    match message.get("id") {
        None => {}
        Some(Value::String(_)) => {}
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => {}
        // An error about an unreadable request has no id.
        Some(Value::Null) if message.contains_key("error") => {}
        Some(_) => return none("`id` must be a text or a whole number"),
    }
    match message.get("method") {
        Some(Value::String(_)) => Ok(()),
        Some(_) => none("`method` must be a text"),
        None if message.contains_key("result") || message.contains_key("error") => Ok(()),
        None => none("there is neither a `method` nor a `result` nor an `error`"),
    }
}

/// Returns the nesting depth.
fn nesting_depth(json: &[u8]) -> usize {
    let (mut deep, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => deep += 1,
            b'}' | b']' if !quoted => deep = deep.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(deep);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        for (json, expected) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            (r#"{"a": [1, {"b": []}]}"#, 4),
            (r#"{"a": "[[[[", "b": "\"[[[["}"#, 1),
            ("]]]][", 1),
        ] {
            assert_eq!(nesting_depth(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn a_body_is_one_message() {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        for (body, expected) in [
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#, None),
            (r#"{"jsonrpc": "2.0", "id": "a", "result": {}}"#, None),
            (r#"{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": ""}}"#, None),
            (r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#, None),
            ("", Some(PARSE_ERROR_CODE)),
            ("{\"jsonrpc\":", Some(PARSE_ERROR_CODE)),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "\ud800"}"#, Some(PARSE_ERROR_CODE)),
            ("7", Some(INVALID_REQUEST_CODE)),
            (r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"id": 1, "method": "ping"}"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": 7}"#, Some(INVALID_REQUEST_CODE)),
            (r#"{"jsonrpc": "2.0", "id": 1}"#, Some(INVALID_REQUEST_CODE)),
            (&deep, Some(INVALID_REQUEST_CODE)),
        ] {
            assert_eq!(check_body(body.as_bytes()).err().map(|fault| fault.code), expected, "{body}");
        }
    }
}
