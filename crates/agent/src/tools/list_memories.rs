//! `list_memories`: lists the names of memories.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput};

use crate::memory_store::{MemoryScope, MemoryStore};

/// The `list_memories` tool.
pub struct ListMemories(pub Arc<MemoryStore>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl ToolHandler for ListMemories {
    type Args = Args;
    const NAME: &'static str = "list_memories";
    const ABOUT: &'static str = "Lists what was remembered in earlier sessions.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, _: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let memories = Arc::clone(&self.0);
        cx.run_blocking(move |_| {
            let lines: Vec<String> = MemoryScope::ALL
                .into_iter()
                .flat_map(|scope| {
                    let names = memories.names(scope).into_iter();
                    names.map(move |name| format!("{} {name}", scope.as_str()))
                })
                .collect();
            Ok(ToolOutput::text(match lines.join("\n") {
                lines if lines.is_empty() => "nothing is remembered yet".to_owned(),
                lines => lines,
            }))
        })
        .await
    }
}
