//! `list_agents`: lists agents with their status. Also holds helpers of the other agent tools.

use std::sync::Arc;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput};

use crate::agents::{SessionAgents, Subagent};

/// Characters of a task that are listed.
const LISTED_TASK_CHARS: usize = 80;

/// The `list_agents` tool.
pub struct ListAgents(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl ToolHandler for ListAgents {
    type Args = Args;
    const NAME: &'static str = "list_agents";
    const ABOUT: &'static str = "Lists the agents that you started.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, _: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let row = |child: &Arc<Subagent>| {
            let task: String = child.task().message.chars().take(LISTED_TASK_CHARS).collect();
            json!({ "agent_id": child.id(), "role": child.task().role, "task": task, "status": child.status().to_json() })
        };
        let answer = json!({ "agents": self.0.all().iter().map(row).collect::<Vec<Value>>() });
        Ok(ToolOutput::text(answer.to_string()).with_structured(answer))
    }
}

/// Returns the agent with this id; `path` is the argument that names it.
pub(super) fn find_agent(agents: &SessionAgents, path: &str, id: &str) -> Result<Arc<Subagent>, ToolError> {
    agents.find(id).ok_or_else(|| {
        let known: Vec<String> = agents.all().iter().map(|child| child.id().to_owned()).collect();
        let known = if known.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        ToolError::bad_argument(path, format!("there is no agent of that name; {known}"))
    })
}

/// Returns the id and status of an agent as tool output.
pub(super) fn agent_status_output(child: &Subagent) -> ToolOutput {
    let answer = json!({ "agent_id": child.id(), "status": child.status().to_json() });
    ToolOutput::text(answer.to_string()).with_structured(answer)
}
