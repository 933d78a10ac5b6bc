//! Lists all tools of a server, page by page, with limits.

use serde_json::Value;

use crate::peer::{ListedTool, PeerError, ServerPeer};

/// Maximum number of pages and tools. If a server exceeds them, the listing fails.
const MAX_PAGES: usize = 200;
const MAX_TOOLS: usize = 100_000;
/// Maximum bytes of all tool definitions of one server.
const MAX_DEFINITIONS_BYTES: usize = 24 << 20;

/// The tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    pub(crate) tools: Vec<ListedTool>,
    /// The reasons why other tools could not be parsed.
    pub(crate) parse_faults: Vec<String>,
}

/// Lists all tools of a server.
pub(crate) async fn list_all_tools(peer: &dyn ServerPeer) -> Result<ToolListing, PeerError> {
    let (mut all, mut cursor, mut seen, mut bytes) = (ToolListing::default(), None, Vec::new(), 0);
    for _ in 0..MAX_PAGES {
        let page = peer.list_tools(cursor).await?;
        bytes += page.items.iter().map(definition_size).sum::<usize>()
            + page.next_cursor.as_ref().map_or(0, String::len);
        if bytes > MAX_DEFINITIONS_BYTES {
            let why = format!("its tools are described with more than {} MiB", MAX_DEFINITIONS_BYTES >> 20);
            return Err(PeerError::ProtocolViolation(why));
        }
        all.tools.extend(page.items);
        all.parse_faults.extend(page.parse_faults);
        if all.tools.len() > MAX_TOOLS {
            return Err(PeerError::ProtocolViolation(format!("it has more than {MAX_TOOLS} tools")));
        }
        let Some(next) = page.next_cursor else { return Ok(all) };
        if seen.contains(&next) {
            return Err(PeerError::ProtocolViolation("its list of tools repeats a cursor".to_owned()));
        }
        seen.push(next.clone());
        cursor = Some(next);
    }
    Err(PeerError::ProtocolViolation(format!("its list of tools has more than {MAX_PAGES} pages")))
}

/// Returns the bytes of a tool's definition.
fn definition_size(tool: &ListedTool) -> usize {
    let json = |value: &Value| value.to_string().len();
    let values = [Some(&tool.input_schema), tool.output_schema.as_ref(), tool.annotations.as_ref()];
    let words = [Some(&tool.name), tool.title.as_ref(), Some(&tool.description)];
    values.into_iter().flatten().map(json).sum::<usize>()
        + words.into_iter().flatten().map(String::len).sum::<usize>()
}
