//! `get_memory`: reads a memory of an earlier session.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput};

use crate::memory_store::{MemoryScope, MemoryStore, is_valid_name};

/// The `get_memory` tool.
pub struct GetMemory(pub Arc<MemoryStore>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name from list_memories.
    name: String,
}

impl ToolHandler for GetMemory {
    type Args = Args;
    const NAME: &'static str = "get_memory";
    const ABOUT: &'static str = "Reads what was remembered in an earlier session.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("memory_id", "name")];
    const LANE: Lane = Lane::Shared;

    async fn run(&self, args: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let (memories, name) = (Arc::clone(&self.0), args.name.clone());
        cx.run_blocking(move |_| {
            let found = is_valid_name(&name)
                .then(|| MemoryScope::ALL.into_iter().find_map(|scope| memories.get(scope, &name)))
                .flatten();
            let known = || MemoryScope::ALL.map(|scope| memories.names(scope)).concat().join(", ");
            found.map(ToolOutput::text).ok_or_else(|| match known() {
                known if known.is_empty() => ToolError::io("nothing is remembered yet"),
                known => ToolError::io(format!("nothing is remembered as `{name}`; there are: {known}")),
            })
        })
        .await
    }
}
