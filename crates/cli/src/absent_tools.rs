//! Tools that other commands of Toolgate offer: known by name, so that a configuration and an answer can speak of them.

use std::sync::Arc;

use agent::{
    CloseAgent, GetContextRemaining, GetMemory, ListAgents, ListMemories, Remember, RequestUserInput,
    ResumeAgent, SendInput, SpawnAgent, Wait,
};
use toolgate::{AnyTool, ToolHandler, ToolSource, mcp};

/// Tools of a session that a model leads.
const OF_SESSIONS: [&str; 5] =
    [RequestUserInput::NAME, Remember::NAME, GetMemory::NAME, ListMemories::NAME, GetContextRemaining::NAME];
/// Tools for agents that start others.
const OF_AGENTS: [&str; 6] =
    [SpawnAgent::NAME, SendInput::NAME, ResumeAgent::NAME, Wait::NAME, CloseAgent::NAME, ListAgents::NAME];

/// Says of a tool that is not here which command offers it.
pub(crate) struct AbsentTools;

impl ToolSource for AbsentTools {
    fn offered(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<Arc<dyn AnyTool>> {
        None
    }

    fn known_names(&self) -> Vec<String> {
        let ours = OF_SESSIONS.into_iter().chain(OF_AGENTS);
        ours.chain(mcp::own_names()).map(str::to_owned).collect()
    }

    fn absent(&self, name: &str) -> Option<String> {
        let offered_by = match name {
            _ if OF_AGENTS.contains(&name) => "`toolgate run --agents` offers it",
            _ if OF_SESSIONS.contains(&name) => "sessions with a model offer it, e.g. `toolgate run`",
            _ => return None,
        };
        Some(format!("there is no tool `{name}` here; {offered_by}"))
    }
}
