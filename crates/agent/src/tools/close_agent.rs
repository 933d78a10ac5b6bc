//! `close_agent`: an agent ends.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, ToolError, ToolHandler, ToolOutput};

use super::list_agents::child;
use crate::agents::Agents;

/// The tool.
pub struct CloseAgent(pub Arc<Agents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From spawn_agent.
    id: String,
}

impl ToolHandler for CloseAgent {
    type Args = Args;
    const NAME: &'static str = "close_agent";
    const ABOUT: &'static str = "Ends an agent and what it runs; a worktree that it has goes too.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("target", "id")];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let child = child(&self.0, &args.id)?;
        let before = child.close().await;
        let told = json!({ "previous_status": before.told(), "status": child.status().told() });
        Ok(ToolOutput::text(told.to_string()).with_structured(told))
    }
}
