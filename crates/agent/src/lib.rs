//! The agent loop: a model streams calls, tools run while it streams, and answers go back until it is done.
//!
//! A [`Session`] is one conversation. [`Session::prompt`] runs one turn: requests to a [`Model`], calls through the
//! engine's runtime, every step in the journal before it has an effect. A [`Watch`] observes the turn as it happens.
//! A model is an [`Endpoint`] behind a URL, in any of three dialects, or a [`Script`].

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
    AgentLimits, Agents, Bounds, Budget, Changes, Diff, Nursery, Raised, Rearing, Status, Workspace,
};
pub use collector::Collector;
pub use endpoint::Endpoint;
pub use fault::AgentFault;
pub use instructions::INSTRUCTIONS;
pub use memory::Memories;
pub use model::{Events, Model};
pub use record::Recorder;
pub use resume::{Resumed, recorded_call, resumed};
pub use script::{Script, ScriptFault, Turn};
pub use script_server::ScriptServer;
pub use search::{SearchEndpoint, SearchHit, SearchProvider, SearchQuery, WebSearchTool, search_hits};
pub use session::{Changed, Handle, Limits, Ready, Session, Setup};
pub use tools::{
    CloseAgent, Gauge, GetContextRemaining, GetMemory, Inquiry, ListAgents, ListMemories, Person, Remember,
    RequestUserInput, ResumeAgent, SendInput, SpawnAgent, Wait,
};
pub use turn::Ended;
pub use watch::{Seen, Watch};
