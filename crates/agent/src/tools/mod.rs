//! Tools that need a session: user questions, context length, memories, and agents.

mod close_agent;
mod get_context_remaining;
mod get_memory;
mod list_agents;
mod list_memories;
mod remember;
mod request_user_input;
mod resume_agent;
mod send_input;
mod spawn_agent;
mod wait;

pub use close_agent::CloseAgent;
pub use get_context_remaining::{ContextMeter, GetContextRemaining};
pub use get_memory::GetMemory;
pub use list_agents::ListAgents;
pub use list_memories::ListMemories;
pub use remember::Remember;
pub use request_user_input::{RequestUserInput, UserPrompter, UserQuestion};
pub use resume_agent::ResumeAgent;
pub use send_input::SendInput;
pub use spawn_agent::SpawnAgent;
pub use wait::WaitForAgents;
