//! Lists all tools of a server, page by page, with limits.

use serde_json::Value;

use crate::peer::{ListedTool, PeerError, ServerPeer};

/// Maximum number of pages and tools. If a server exceeds them, the listing fails.
const MOST_PAGES: usize = 200;
const MOST_TOOLS: usize = 100_000;
/// Maximum bytes of all tool definitions of one server.
const LARGEST: usize = 24 << 20;

/// The tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    pub(crate) tools: Vec<ListedTool>,
    /// The reasons why other tools could not be parsed.
    pub(crate) unread: Vec<String>,
}

/// Lists all tools of a server.
pub(crate) async fn list_all_tools(peer: &dyn ServerPeer) -> Result<ToolListing, PeerError> {
    let (mut all, mut cursor, mut seen, mut bytes) = (ToolListing::default(), None, Vec::new(), 0);
    for _ in 0..MOST_PAGES {
        let page = peer.tools(cursor).await?;
        bytes += page.items.iter().map(size).sum::<usize>() + page.next.as_ref().map_or(0, String::len);
        if bytes > LARGEST {
            let why = format!("its tools are described with more than {} MiB", LARGEST >> 20);
            return Err(PeerError::Nonsense(why));
        }
        all.tools.extend(page.items);
        all.unread.extend(page.unread);
        if all.tools.len() > MOST_TOOLS {
            return Err(PeerError::Nonsense(format!("it has more than {MOST_TOOLS} tools")));
        }
        let Some(next) = page.next else { return Ok(all) };
        if seen.contains(&next) {
            return Err(PeerError::Nonsense("its list of tools goes round in a circle".to_owned()));
        }
        seen.push(next.clone());
        cursor = Some(next);
    }
    Err(PeerError::Nonsense(format!("its list of tools has more than {MOST_PAGES} pages")))
}

/// Returns the bytes of a tool's definition.
fn size(tool: &ListedTool) -> usize {
    let json = |value: &Value| value.to_string().len();
    let values = [Some(&tool.input), tool.output.as_ref(), tool.annotations.as_ref()];
    let words = [Some(&tool.name), tool.title.as_ref(), Some(&tool.description)];
    values.into_iter().flatten().map(json).sum::<usize>()
        + words.into_iter().flatten().map(String::len).sum::<usize>()
}
