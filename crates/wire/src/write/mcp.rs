//! Writes tool declarations for MCP clients.

use serde_json::{Value, json};
use tool::ToolSpec;

use super::Declared;
use crate::Style;

/// Returns the `tools` of an MCP `tools/list` result, sorted by name.
///
/// Freeform tools take `{"input": text}`. `local_shell` and `web_search` belong to a provider and are left out.
pub fn mcp_tools(specs: &[&ToolSpec]) -> Value {
    let mut declared: Vec<Declared> =
        specs.iter().filter_map(|spec| Declared::of(spec, &Style::default())).collect();
    declared.sort_by(|one, other| one.name.cmp(&other.name));
    let mut tools: Value = declared
        .into_iter()
        .map(|Declared { name, description, parameters }| {
            json!({ "name": name, "description": description, "inputSchema": parameters })
        })
        .collect();
    tools.sort_all_objects();
    tools
}
