//! Deferred tools: if there are too many for the model, `tool_search` finds them, and found tools stay available.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{AnyTool, Cx, Lane, ToolError, ToolHandler, ToolOutput, ToolSpec};

use crate::bm25::Bm25Index;
use crate::connection::McpConnection;
use crate::server_tools::ToolOffer;

/// Default and maximum number of search results.
const DEFAULT_RESULTS: usize = 8;
const MAX_RESULTS: usize = 50;

/// Default for the maximum bytes of tool definitions: some five thousand tokens.
pub const BUDGET: usize = 20_000;

/// Names of the tools that were found, the latest last.
#[derive(Debug, Default)]
pub(crate) struct LoadedTools {
    names: Mutex<VecDeque<String>>,
}

impl LoadedTools {
    fn add(&self, name: &str) {
        let mut names = self.names.lock();
        names.retain(|known| known != name);
        names.push_back(name.to_owned());
    }

    /// Returns the found tools of `offers`, the latest first, within `budget` bytes.
    pub(crate) fn tools_within(&self, budget: usize, offers: &[Arc<ToolOffer>]) -> Vec<Arc<dyn AnyTool>> {
        let mut left = budget;
        let names: Vec<String> = self.names.lock().iter().rev().cloned().collect();
        let found = names.iter().filter_map(|name| offers.iter().find_map(|offer| offer.tools.get(name)));
        let fits = |tool: &&Arc<dyn AnyTool>| {
            let size = spec_size(tool.spec());
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        };
        found.take_while(fits).cloned().collect()
    }
}

/// Returns the bytes of JSON that the model receives for a tool.
pub(crate) fn spec_size(spec: &ToolSpec) -> usize {
    spec_json(spec).to_string().len()
}

fn spec_json(spec: &ToolSpec) -> Value {
    match spec {
        ToolSpec::Function(function) => json!({
            "name": function.name,
            "description": function.description,
            "parameters": function.parameters,
        }),
        other => json!({ "name": other.name() }),
    }
}

/// The `tool_search` tool.
pub(crate) struct ToolSearch {
    pub(crate) connections: Arc<[Arc<McpConnection>]>,
    pub(crate) loaded: Arc<LoadedTools>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What the tool should do, in a few words.
    query: String,
    /// How many tools to find; 8 if left out, 50 at the most.
    limit: Option<usize>,
}

impl ToolHandler for ToolSearch {
    type Args = Args;
    const NAME: &'static str = "tool_search";
    const ABOUT: &'static str = "Searches server tools that are not listed, by description. Tools it finds can then be called by name.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let tools: Vec<Arc<dyn AnyTool>> = self
            .connections
            .iter()
            .flat_map(|connection| connection.offered_tools().tools.values().cloned().collect::<Vec<_>>())
            .collect();
        let mut index = Bm25Index::default();
        for tool in &tools {
            let spec = spec_json(tool.spec());
            index.add(tool.spec().name(), spec["description"].as_str().unwrap_or_default());
        }
        let found = index.search(&args.query, args.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS));
        if found.is_empty() {
            let text = format!("none of {} tools has to do with that; try other words", tools.len());
            return Ok(ToolOutput::failure(text));
        }
        let mut shown = Vec::new();
        for at in found.into_iter().rev() {
            self.loaded.add(tools[at].spec().name());
            shown.push(spec_json(tools[at].spec()));
        }
        shown.reverse();
        let value = json!({ "tools": shown });
        Ok(ToolOutput::text(value.to_string()).with_structured(value))
    }
}
