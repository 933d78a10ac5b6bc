//! Writes tool declarations for MCP clients.

use serde_json::{Value, json};
use tool::ToolSpec;

use super::FunctionDeclaration;
use crate::ApiCompat;

/// Returns the `tools` of an MCP `tools/list` result, sorted by name.
///
/// Freeform tools take `{"input": text}`. `local_shell` and `web_search` belong to a provider and are left out.
pub fn mcp_tools(specs: &[&ToolSpec]) -> Value {
    let mut declared: Vec<FunctionDeclaration> =
        specs.iter().filter_map(|spec| FunctionDeclaration::from_spec(spec, &ApiCompat::default())).collect();
    declared.sort_by(|one, other| one.name.cmp(&other.name));
    let mut tools: Value = declared
        .into_iter()
        .map(|FunctionDeclaration { name, description, parameters }| {
            json!({ "name": name, "description": description, "inputSchema": parameters })
        })
        .collect();
    tools.sort_all_objects();
    tools
}
