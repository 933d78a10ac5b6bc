//! Serves sessions and tools: JSON-RPC, the Agent Client Protocol, MCP and JSON lines.

mod access_token;
pub mod acp;
pub mod approval_protocol;
pub mod content_conversion;
pub mod event_json;
pub mod listen_address;
pub mod mcp;
mod metrics;
mod peer_check;
pub mod pipe;
pub mod serve;
mod state_warning;
mod stop_signals;

pub use stop_signals::{HangUp, ServerExit, wait_for_signal};
