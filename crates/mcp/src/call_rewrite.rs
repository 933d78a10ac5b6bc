//! Rewrites a call of `server/tool`, or of `mcp_call_tool` (or `mcp`) with both names, to a call of the actual tool.
//!
//! A call is rewritten before its verdict, so neither way bypasses a rule or a question.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool::{Args, ToolCall, ToolError, ToolHandler, ToolPayload};

use crate::resource_tools::ReadResource;
use crate::tool_names::{alias, by_path};

/// Names that call the tool named in their arguments.
pub const CALL_TOOL: [&str; 2] = ["mcp_call_tool", "mcp"];
/// Other names of `read_mcp_resource`.
pub const READ_RESOURCE: [&str; 2] = ["mcp_read_resource", "mcp_resource"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallToolArgs {
    /// The server, as it is configured.
    server: String,
    /// The tool, as that server calls it.
    tool: String,
    /// What the tool is called with.
    arguments: Option<Value>,
}

/// Argument aliases of `mcp_call_tool`.
const CALL_TOOL_ALIASES: &[(&str, &str)] = &[
    ("server_name", "server"),
    ("tool_name", "tool"),
    ("name", "tool"),
    ("args", "arguments"),
    ("input", "arguments"),
    ("params", "arguments"),
    ("raw_arguments", "arguments"),
];

/// Returns the call of the actual tool, if `call` stands for one. `servers` are the configured servers.
pub(crate) fn rewrite_call(call: &ToolCall, servers: &[String]) -> Option<Result<ToolCall, ToolError>> {
    match call.name.as_str() {
        name if READ_RESOURCE.contains(&name) => {
            Some(Ok(ToolCall { name: ReadResource::NAME.to_owned(), ..call.clone() }))
        }
        name if CALL_TOOL.contains(&name) => {
            Some(named_call(call).and_then(|(server, other)| check_server(&server, servers).map(|()| other)))
        }
        name => {
            let (server, tool) = by_path(name)?;
            Some(
                check_server(server, servers)
                    .map(|()| ToolCall { name: alias(server, tool), ..call.clone() }),
            )
        }
    }
}

fn check_server(server: &str, servers: &[String]) -> Result<(), ToolError> {
    match servers.iter().any(|known| known == server) {
        true => Ok(()),
        false => Err(ToolError::UnknownServer { server: server.to_owned(), known: servers.to_vec() }),
    }
}

/// Returns the server and the call that the arguments of `mcp_call_tool` name.
fn named_call(call: &ToolCall) -> Result<(String, ToolCall), ToolError> {
    let CallToolArgs { server, tool, arguments } =
        <CallToolArgs as Args>::parse_payload(&call.payload, &CallToolArgs::schema(), CALL_TOOL_ALIASES)?;
    let arguments = match arguments {
        None => String::new(),
        // Some models send JSON within JSON.
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    };
    let payload = ToolPayload::Function { arguments };
    let call = ToolCall { id: call.id.clone(), name: alias(&server, &tool), payload };
    Ok((server, call))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rewritten_text(name: &str, arguments: &Value) -> String {
        let call = ToolCall::function("c", name, arguments.to_string());
        match rewrite_call(&call, &["fs".to_owned(), "git".to_owned()]) {
            None => "itself".to_owned(),
            Some(Ok(call)) => format!("{} {}", call.name, call.payload.arguments()),
            Some(Err(error)) => error.to_string(),
        }
    }

    #[test]
    fn a_call_becomes_that_of_the_tool_itself() {
        let rows = [
            ("read_file", json!({}), "itself"),
            ("mcp__fs__read", json!({}), "itself"),
            ("fs/read", json!({"a": 1}), r#"mcp__fs__read {"a":1}"#),
            ("fs/a/b.c", json!({}), "mcp__fs__a_b_c_834c74b381c0cc25 {}"),
            ("nope/read", json!({}), "there is no MCP server `nope`; there are `fs`, `git`"),
            ("a b/c", json!({}), "itself"),
            (
                "mcp_call_tool",
                json!({"server": "git", "tool": "log", "arguments": {"n": 1}}),
                r#"mcp__git__log {"n":1}"#,
            ),
            (
                "mcp_call_tool",
                json!({"server": "git", "tool": "log", "arguments": "{\"n\":1}"}),
                r#"mcp__git__log {"n":1}"#,
            ),
            ("mcp_call_tool", json!({"server_name": "git", "name": "log"}), "mcp__git__log "),
            (
                "mcp_call_tool",
                json!({"server": "x", "tool": "log"}),
                "there is no MCP server `x`; there are `fs`, `git`",
            ),
            (
                "mcp_call_tool",
                json!({"tool": "log"}),
                "the arguments do not fit at `server`: expected a string, found nothing",
            ),
            ("mcp_read_resource", json!({"uri": "a"}), r#"read_mcp_resource {"uri":"a"}"#),
        ];
        for (name, arguments, expected) in rows {
            assert_eq!(rewritten_text(name, &arguments), expected, "{name} {arguments}");
        }
    }
}
