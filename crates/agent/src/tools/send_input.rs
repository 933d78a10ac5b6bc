//! `send_input`: sends a message to an agent.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ToolError, ToolHandler, ToolOutput};

use super::list_agents::{agent_status_output, find_agent};
use crate::agents::SessionAgents;

/// The `send_input` tool.
pub struct SendInput(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From spawn_agent.
    id: String,
    message: String,
    /// Stop its work first.
    interrupt: Option<bool>,
}

impl ToolHandler for SendInput {
    type Args = Args;
    const NAME: &'static str = "send_input";
    const ABOUT: &'static str = "Tells an agent more, or gives it the next task.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("target", "id")];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let child = find_agent(&self.0, "id", &args.id)?;
        if args.message.trim().is_empty() {
            return Err(ToolError::bad_argument("message", "it is empty"));
        }
        match child.send_message(args.message.clone(), args.interrupt == Some(true)) {
            Some(()) => Ok(agent_status_output(&child)),
            None => Ok(ToolOutput::failure(format!(
                "the agent `{}` is closed; resume_agent opens it again",
                args.id
            ))),
        }
    }
}
