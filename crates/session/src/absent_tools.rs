//! Names tools that only other Toolgate commands offer.
//!
//! A configuration may name them, and the answer to a call says which command offers the tool.

use std::sync::Arc;

use agent::{
    CloseAgent, GetContextRemaining, GetMemory, ListAgents, ListMemories, Remember, RequestUserInput,
    ResumeAgent, SendInput, SpawnAgent, WaitForAgents,
};
use runtime::{AnyTool, ToolHandler, ToolSource, mcp};

/// Tools of a session with a model.
const SESSION_TOOLS: [&str; 5] =
    [RequestUserInput::NAME, Remember::NAME, GetMemory::NAME, ListMemories::NAME, GetContextRemaining::NAME];
/// Tools of agents that may start other agents.
const AGENT_TOOLS: [&str; 6] = [
    SpawnAgent::NAME,
    SendInput::NAME,
    ResumeAgent::NAME,
    WaitForAgents::NAME,
    CloseAgent::NAME,
    ListAgents::NAME,
];

/// Names the command that offers a tool which is absent here.
pub(crate) struct AbsentTools;

impl ToolSource for AbsentTools {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<Arc<dyn AnyTool>> {
        None
    }

    fn possible_names(&self) -> Vec<String> {
        let ours = SESSION_TOOLS.into_iter().chain(AGENT_TOOLS);
        ours.chain(mcp::own_tool_names()).map(str::to_owned).collect()
    }

    fn absence_reason(&self, name: &str) -> Option<String> {
        let offered_by = match name {
            _ if AGENT_TOOLS.contains(&name) => "`toolgate run --agents` offers it",
            _ if SESSION_TOOLS.contains(&name) => "sessions with a model offer it, e.g. `toolgate run`",
            _ => return None,
        };
        Some(format!("there is no tool `{name}` here; {offered_by}"))
    }
}
