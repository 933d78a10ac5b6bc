//! The agent loop: a model streams calls, tools run while it streams, and answers go back until it is done.
//!
//! An [`AgentSession`] is one conversation. [`AgentSession::prompt`] runs one turn: requests to a [`ModelBackend`], calls through the
//! engine's runtime, every step in the journal before it has an effect. A [`SessionObserver`] observes the turn as it happens.
//! A model is a [`ModelEndpoint`] behind a URL, in any of three dialects, or a [`ScriptedBackend`].

mod agent_fault;
mod agents;
mod budget;
mod compaction;
mod history;
mod instructions;
mod memory_store;
mod model_backend;
mod model_endpoint;
mod otlp_collector;
mod recorder;
mod response_body;
mod resume;
mod retry;
mod round;
mod scripted_backend;
mod scripted_model_server;
mod search;
mod session;
mod session_observer;
mod tools;
mod turn;

pub use agent_fault::AgentFault;
pub use agents::{
    AgentLimits, AgentRestrictions, AgentStatus, AgentWorkspace, RequestLimit, SessionAgents,
    SubagentFactory, SubagentSession, SubagentSpec, WorktreeDiff, WorktreeDiffFn,
};
pub use budget::{BudgetLimit, CostLimit, RunBudget, TokenPrices};
pub use instructions::INSTRUCTIONS;
pub use memory_store::MemoryStore;
pub use model_backend::{ModelBackend, ModelEventStream};
pub use model_endpoint::{EndpointFault, ModelEndpoint};
pub use otlp_collector::{CollectorFault, OtlpCollector};
/// Hosts that may be asked over plain HTTP.
pub use policy::PlainHttp;
pub use recorder::JournalRecorder;
pub use resume::{ResumedSession, recorded_output, recorded_tool_call, resume_from_timeline};
pub use scripted_backend::{ScriptFault, ScriptedBackend, ScriptedTurn};
pub use scripted_model_server::ScriptedModelServer;
pub use search::{SearchEndpoint, SearchHit, SearchProvider, SearchQuery, WebSearchTool, parse_search_hits};
pub use session::{
    AgentSession, AgentSessionSetup, BaselineReady, SessionHandle, TurnChangesFn, TurnLimits,
    TurnPrecondition,
};
pub use session_observer::{SessionEvent, SessionObserver};
pub use tools::{
    CloseAgent, ContextMeter, GetContextRemaining, GetMemory, ListAgents, ListMemories, Remember,
    RequestUserInput, ResumeAgent, SendInput, SpawnAgent, UserPrompter, UserQuestion, WaitForAgents,
};
pub use turn::TurnEnd;
