//! `spawn_agent`: starts an agent on a task.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, ToolError, ToolHandler, ToolOutput};

use crate::agents::{AgentRestrictions, AgentTask, AgentWorkspace, SessionAgents};

/// The `spawn_agent` tool.
pub struct SpawnAgent(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The task with all context: the agent does not see this conversation.
    message: String,
    /// Its role, e.g. `reviewer`.
    role: Option<String>,
    /// Forbid it to change anything.
    read_only: Option<bool>,
    /// Limit it to these tools.
    tools: Option<Vec<String>>,
    /// `worktree`: a copy of the repository; its changes come back as a diff for apply_patch (default shared).
    workspace: Option<WorkspaceArg>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WorkspaceArg {
    Shared,
    Worktree,
}

impl ToolHandler for SpawnAgent {
    type Args = Args;
    const NAME: &'static str = "spawn_agent";
    const ABOUT: &'static str =
        "Starts another agent on a task of its own, beside you; `wait` gets what it says when it is done.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("agent_type", "role")];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        if args.message.trim().is_empty() {
            return Err(ToolError::bad_argument("message", "it is empty"));
        }
        let workspace = match args.workspace {
            Some(WorkspaceArg::Worktree) => AgentWorkspace::Worktree,
            Some(WorkspaceArg::Shared) | None => AgentWorkspace::Shared,
        };
        let restrictions =
            AgentRestrictions { read_only: args.read_only == Some(true), tools: args.tools.clone() };
        let task =
            AgentTask { message: args.message.clone(), role: args.role.clone(), restrictions, workspace };
        match self.0.spawn(task).await {
            Ok(child) => {
                let answer = json!({ "agent_id": child.id(), "session": child.session_id() });
                Ok(ToolOutput::text(answer.to_string()).with_structured(answer))
            }
            Err(why) => Ok(ToolOutput::failure(format!("no agent was started: {why}"))),
        }
    }
}
