//! `close_agent`: closes an agent.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{Cx, ToolError, ToolHandler, ToolOutput};

use super::list_agents::find_agent;
use crate::agents::{SessionAgents, insert_changes};

/// The `close_agent` tool.
pub struct CloseAgent(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From spawn_agent.
    id: String,
}

impl ToolHandler for CloseAgent {
    type Args = Args;
    const NAME: &'static str = "close_agent";
    const ABOUT: &'static str = "Ends an agent and what it runs.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("target", "id")];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let child = find_agent(&self.0, "id", &args.id)?;
        let before = child.close().await;
        let mut answer = Map::from_iter([
            ("previous_status".to_owned(), before.to_json()),
            ("status".to_owned(), child.status().to_json()),
        ]);
        if let Some(changes) = child.worktree_changes().await {
            insert_changes(changes, &mut answer);
        }
        let answer = Value::Object(answer);
        Ok(ToolOutput::text(answer.to_string()).with_structured(answer))
    }
}
