//! Parses `local_shell_call`, the built-in shell tool of the Responses API.

use serde_json::{Map, Value};
use tool::{CallId, LocalShellCall, ToolCall, ToolPayload};

use super::ParsedCall;
use super::partial_call::CallFieldPaths;
use super::responses::call_id;
use crate::fault::{CallItemKind, json_type_name};
use crate::{CallFaultReason, WireFault};

/// The item type.
pub(super) const ITEM_TYPE: &str = "local_shell_call";

/// The answer is a `function_call_output`; `write::responses` gives the reason.
pub(super) const FIELD_PATHS: CallFieldPaths = CallFieldPaths {
    id: "call_id",
    name: "type",
    text: "action",
    shape: "an object",
    kind: CallItemKind::Function,
};

/// The name of the tool that the item calls.
pub(super) const TOOL_NAME: &str = "local_shell";

/// Fields of an action that are parsed here, or carry no information.
const PARSED_FIELDS: [&str; 3] = ["type", "working_directory", "timeout_ms"];

/// Parses a finished item. The tool accepts or rejects the other fields of the action, such as `env`.
pub(super) fn read_item(item: &Value) -> ParsedCall {
    let fault = |id, path: String, why| {
        let name = Some(TOOL_NAME.to_owned());
        ParsedCall::Fault(WireFault { id, name, kind: CallItemKind::Function, path, why })
    };
    let Some(id) = call_id(item).map(CallId::from) else {
        return fault(None, "call_id".to_owned(), CallFaultReason::Missing);
    };
    if item["status"] == "incomplete" {
        return fault(Some(id), "action".to_owned(), CallFaultReason::Unfinished);
    }
    match shell_action(&item["action"]) {
        Ok(shell) => ParsedCall::Call(ToolCall {
            id,
            name: TOOL_NAME.to_owned(),
            payload: ToolPayload::LocalShell(shell),
        }),
        Err((path, why)) => fault(Some(id), path, why),
    }
}

fn shell_action(action: &Value) -> Result<LocalShellCall, (String, CallFaultReason)> {
    let wrong = |path: &str, expected, value| {
        let why = match value {
            &Value::Null => CallFaultReason::Missing,
            value => CallFaultReason::Type { expected, found: json_type_name(value) },
        };
        Err((path.to_owned(), why))
    };
    if !action.is_object() {
        return wrong("action", "an object", action);
    }
    let fields = action.as_object().into_iter().flatten();
    let mut more: Map<String, Value> = fields
        .filter(|(name, value)| !PARSED_FIELDS.contains(&name.as_str()) && !is_unset(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut command = Vec::new();
    match &action["command"] {
        // A script stays in `more`.
        Value::String(_) => {}
        Value::Array(words) => {
            more.remove("command");
            for (at, word) in words.iter().enumerate() {
                match word {
                    Value::String(word) => command.push(word.clone()),
                    other => return wrong(&format!("action.command[{at}]"), "a string", other),
                }
            }
        }
        other => return wrong("action.command", "an array or a string", other),
    }
    let workdir = match &action["working_directory"] {
        Value::Null => None,
        Value::String(path) => Some(path.clone()),
        other => return wrong("action.working_directory", "a string", other),
    };
    let timeout_ms = match &action["timeout_ms"] {
        Value::Null => None,
        value if value.is_u64() => value.as_u64(),
        other => return wrong("action.timeout_ms", "a whole number of at least 0", other),
    };
    Ok(LocalShellCall { command, workdir, timeout_ms, other_fields: more })
}

/// Returns whether a field is unset: the API writes an empty `env` and a null `user`.
fn is_unset(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::super::tests::describe_calls;
    use super::*;
    use crate::Dialect::Responses;

    #[test]
    fn the_action_is_read() {
        let action = json!({"type": "exec", "command": ["ls", "-l"], "working_directory": "/w", "timeout_ms": 9, "env": {"A": "1"}, "user": null});
        let told = describe_calls(
            Responses,
            &[
                json!({"type": ITEM_TYPE, "call_id": "c1", "status": "completed", "action": action}),
                json!({"type": ITEM_TYPE, "id": "l2", "call_id": null, "action": {"command": []}}),
                json!({"type": ITEM_TYPE, "call_id": "l3", "action": {"command": "ls | wc -l", "user": "me"}}),
            ],
        );
        assert_snapshot!(told, @r#"
        c1 shell local_shell {"command":["ls","-l"],"env":{"A":"1"},"timeout_ms":9,"workdir":"/w"}
        l2 shell local_shell {"command":[]}
        l3 shell local_shell {"command":"ls | wc -l","user":"me"}
        "#);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_path() {
        let item = |id: &str, action| json!({"type": ITEM_TYPE, "call_id": id, "action": action});
        let told = describe_calls(
            Responses,
            &[
                json!({"type": ITEM_TYPE, "action": {"command": ["ls"]}}),
                json!({"type": ITEM_TYPE, "call_id": "c0", "status": "incomplete", "action": {"command": ["ls"]}}),
                json!({"type": ITEM_TYPE, "call_id": "c1"}),
                item("c2", json!({"command": 3})),
                item("c3", json!({"command": ["ls", 3]})),
                item("c4", json!({"command": [], "working_directory": true})),
                item("c5", json!({"command": [], "timeout_ms": -1})),
            ],
        );
        assert_snapshot!(told, @r"
        - fault the call of `local_shell` cannot be read at `call_id`: it is missing
        c0 fault the call of `local_shell` cannot be read at `action`: the response ended before the call was complete; send it again, in smaller calls if it is long
        c1 fault the call of `local_shell` cannot be read at `action`: it is missing
        c2 fault the call of `local_shell` cannot be read at `action.command`: expected an array or a string, found a number
        c3 fault the call of `local_shell` cannot be read at `action.command[1]`: expected a string, found a number
        c4 fault the call of `local_shell` cannot be read at `action.working_directory`: expected a string, found a boolean
        c5 fault the call of `local_shell` cannot be read at `action.timeout_ms`: expected a whole number of at least 0, found a number
        ");
    }
}
