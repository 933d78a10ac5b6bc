//! Assembles sessions from tools, a model, a journal, MCP servers, sub-agents and approval questions.

mod absent_tools;
pub mod approval;
mod assemble;
pub mod call_title;
pub mod choose_model;
pub mod compose;
mod configured_confinement;
pub mod confinement_warnings;
mod deferred_journal;
mod earlier_session;
pub mod explain_verdict;
pub mod hints;
mod last_message;
pub mod mcp_servers;
mod open_journal;
mod project_instructions;
pub mod prune;
mod read_input;
mod sandbox_sentence;
mod spill_store;
pub mod subagents;
pub mod turn_diff_store;
mod web_search;
mod worktree;
mod worktree_lock;
mod worktree_pool;

pub use assemble::{AssembledSession, SessionSpec, agent_fault, assemble, journal_fault};
pub use choose_model::ChosenModel;
pub use deferred_journal::DeferredJournal;
pub use earlier_session::EarlierSession;
pub use last_message::LastMessage;
pub use open_journal::close_journal;
pub use read_input::read_file_or_stdin;
pub use turn_diff_store::directory_key;
pub use worktree_pool::WorktreePool;
