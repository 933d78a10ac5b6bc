//! `resume_agent`: reopens a closed agent.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ToolError, ToolHandler, ToolOutput};

use super::list_agents::{agent_status_output, find_agent};
use crate::agents::{AgentStatus, SessionAgents};

/// The `resume_agent` tool.
pub struct ResumeAgent(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From spawn_agent.
    id: String,
}

impl ToolHandler for ResumeAgent {
    type Args = Args;
    const NAME: &'static str = "resume_agent";
    const ABOUT: &'static str =
        "Opens an agent again that was closed, with all it knew; send_input gives it something to do.";

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let child = find_agent(&self.0, "id", &args.id)?;
        let closed = matches!(child.status(), AgentStatus::Shutdown | AgentStatus::Errored(_));
        let Some(session) = child.session_id().filter(|_| closed) else {
            return Ok(agent_status_output(&child));
        };
        let failure =
            |why: String| Ok(ToolOutput::failure(format!("the agent `{}` cannot go on: {why}", args.id)));
        if child.status() != AgentStatus::Shutdown {
            child.close().await;
        }
        if let Err(why) = child.reopen(&self.0) {
            return failure(why);
        }
        match self.0.start(&child, Some(session)).await {
            Ok(()) => Ok(agent_status_output(&child)),
            Err(why) => failure(why),
        }
    }
}
