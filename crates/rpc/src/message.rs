//! Parses and encodes JSON-RPC 2.0 messages; the input is untrusted.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::fault::{RpcErrorCode, RpcFault};

/// Maximum length of a message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Maximum length of a text id or a method name in bytes.
const MAX_ID_OR_METHOD_BYTES: usize = 256;

/// The id of a request, chosen by its sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A numeric id.
    Number(i64),
    /// A text id.
    Text(String),
}

/// A valid message.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    /// A request, which needs an answer.
    Request {
        /// The request id.
        id: RequestId,
        /// The method name.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification, which needs no answer.
    Notification {
        /// The method name.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// The response to one of our requests.
    Response {
        /// The id of our request.
        id: RequestId,
        /// The result or the error.
        answer: Result<Value, RpcFault>,
    },
}

/// An invalid message, with the id for the error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvalidMessage {
    pub(crate) id: Option<RequestId>,
    pub(crate) fault: RpcFault,
}

impl RpcMessage {
    /// Parses one message; `None` for blank input.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Result<Self, InvalidMessage>> {
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        let wrong = |code: RpcErrorCode, why: String| InvalidMessage { id: None, fault: code.fault(why) };
        Some(match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Object(members)) => Self::from_members(members),
            Ok(Value::Array(_)) => Err(wrong(
                RpcErrorCode::Request,
                "batches are not taken; send one message at a time".to_owned(),
            )),
            Ok(_) => Err(wrong(RpcErrorCode::Request, "a message is a JSON object".to_owned())),
            Err(error) => Err(wrong(RpcErrorCode::Parse, format!("it is not JSON: {error}"))),
        })
    }

    fn from_members(mut members: Map<String, Value>) -> Result<Self, InvalidMessage> {
        let id = match members.remove("id") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= MAX_ID_OR_METHOD_BYTES => {
                Ok(Some(RequestId::Text(text)))
            }
            Some(Value::Number(number)) => number.as_i64().map(|id| Some(RequestId::Number(id))).ok_or(()),
            Some(_) => Err(()),
        };
        let wrong =
            |id: Option<RequestId>, why: &str| InvalidMessage { id, fault: RpcErrorCode::Request.fault(why) };
        let Ok(id) = id else {
            return Err(wrong(None, "the `id` must be a whole number, or a text of at most 256 bytes"));
        };
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(wrong(id, "the member `jsonrpc` must be \"2.0\""));
        }
        let method = match members.remove("method") {
            None => return Self::parse_response(id, members),
            Some(Value::String(method)) if method.len() <= MAX_ID_OR_METHOD_BYTES => method,
            Some(_) => return Err(wrong(id, "the `method` must be a text of at most 256 bytes")),
        };
        // Some clients write `null` for absent params.
        let params = members.remove("params").filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
        if !params.is_object() {
            return Err(InvalidMessage {
                id,
                fault: RpcErrorCode::Params.fault("the `params` must be an object"),
            });
        }
        Ok(match id {
            Some(id) => Self::Request { id, method, params },
            None => Self::Notification { method, params },
        })
    }

    fn parse_response(
        id: Option<RequestId>,
        mut members: Map<String, Value>,
    ) -> Result<Self, InvalidMessage> {
        let wrong = |why: &str| InvalidMessage { id: None, fault: RpcErrorCode::Request.fault(why) };
        let id = id.ok_or_else(|| wrong("a message has a `method`, or the `id` of a request of ours"))?;
        let answer = match (members.remove("result"), members.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(serde_json::from_value(error).unwrap_or_else(|_| {
                RpcErrorCode::Peer
                    .fault("it was refused with an invalid error: `code` and `message` are missing")
            })),
            _ => return Err(wrong("an answer has either a `result` or an `error`")),
        };
        Ok(Self::Response { id, answer })
    }
}

/// Encodes the response to a request.
pub(crate) fn encode_response(id: Option<&RequestId>, answer: &Result<Value, RpcFault>) -> String {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => json!({ "jsonrpc": "2.0", "id": id, "error": fault }),
    }
    .to_string()
}

/// Encodes a request.
pub(crate) fn encode_request(id: i64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Encodes a notification; `params` is JSON text.
pub(crate) fn encode_notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Result<RpcMessage, InvalidMessage>> {
        RpcMessage::parse(text.as_bytes())
    }

    #[test]
    fn every_form_is_read_and_every_other_is_refused_under_its_id() {
        let request = read(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":2}}"#).unwrap().unwrap();
        let (id, method) = (RequestId::Number(1), "a".to_owned());
        assert_eq!(request, RpcMessage::Request { id: id.clone(), method, params: json!({"b": 2}) });
        let told = read(r#"{"jsonrpc":"2.0","method":"a"}"#).unwrap().unwrap();
        assert_eq!(told, RpcMessage::Notification { method: "a".to_owned(), params: json!({}) });
        let answer = read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).unwrap().unwrap();
        assert_eq!(answer, RpcMessage::Response { id, answer: Ok(Value::Null) });
        assert_eq!(read("  \n"), None);
        let rows = [
            ("{", None, RpcErrorCode::Parse),
            ("[]", None, RpcErrorCode::Request),
            ("1", None, RpcErrorCode::Request),
            (r#"{"id":1,"method":"a"}"#, Some(RequestId::Number(1)), RpcErrorCode::Request),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, None, RpcErrorCode::Request),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":1}"#,
                Some(RequestId::Text("x".to_owned())),
                RpcErrorCode::Request,
            ),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":"a","params":[]}"#,
                Some(RequestId::Text("x".to_owned())),
                RpcErrorCode::Params,
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, None, RpcErrorCode::Request),
            (r#"{"jsonrpc":"2.0","result":1}"#, None, RpcErrorCode::Request),
        ];
        for (text, id, code) in rows {
            let misread = read(text).unwrap().unwrap_err();
            assert_eq!((misread.id, misread.fault.code), (id, code.number()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _read = RpcMessage::parse(&bytes);
        }

        #[test]
        fn encoded_request_is_parsed_back(id in any::<i64>(), method in "[a-z/]{1,20}", text in ".{0,40}") {
            let params = json!({ "text": text });
            let read = RpcMessage::parse(encode_request(id, &method, &params).as_bytes()).unwrap().unwrap();
            prop_assert_eq!(read, RpcMessage::Request { id: RequestId::Number(id), method, params });
        }
    }
}
