//! The agent loop: a model streams calls, tools run while it streams, and answers go back until it is done.
//!
//! A [`AgentSession`] is one conversation. [`AgentSession::prompt`] runs one turn: requests to a [`ModelBackend`], calls through the
//! engine's runtime, every step in the journal before it has an effect. A [`SessionObserver`] observes the turn as it happens.
//! A model is an [`ModelEndpoint`] behind a URL, in any of three dialects, or a [`ScriptedBackend`].

mod agents;
mod collector;
mod compact;
mod endpoint;
mod fault;
mod hear;
mod history;
mod instructions;
mod memory;
mod model;
mod post;
mod record;
mod resume;
mod retry;
mod script;
mod script_server;
mod search;
mod session;
mod stream;
mod tools;
mod turn;
mod watch;

pub use agents::{
    AgentLimits, SessionAgents, AgentRestrictions, RequestLimit, WorktreeDiffFn, WorktreeDiff, SubagentFactory, SubagentSession, SubagentSpec, AgentStatus, AgentWorkspace,
};
pub use collector::OtlpCollector;
pub use endpoint::ModelEndpoint;
pub use fault::AgentFault;
pub use instructions::INSTRUCTIONS;
pub use memory::MemoryStore;
pub use model::{ModelEventStream, ModelBackend};
pub use record::JournalRecorder;
pub use resume::{ResumedSession, call_from_entry, resume_from_records};
pub use script::{ScriptedBackend, ScriptFault, ScriptedTurn};
pub use script_server::ScriptedModelServer;
pub use search::{SearchEndpoint, SearchHit, SearchProvider, SearchQuery, WebSearchTool, parse_search_hits};
pub use session::{TurnChangesFn, SessionHandle, TurnLimits, BaselineReady, AgentSession, AgentSessionSetup};
pub use tools::{
    CloseAgent, ContextMeter, GetContextRemaining, GetMemory, UserQuestion, ListAgents, ListMemories, UserPrompter, Remember,
    RequestUserInput, ResumeAgent, SendInput, SpawnAgent, WaitForAgents,
};
pub use turn::TurnEnd;
pub use watch::{SessionEvent, SessionObserver};
