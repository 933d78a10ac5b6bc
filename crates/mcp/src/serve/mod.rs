//! MCP server for the tools of a [`ToolHost`], in both protocol eras, over stdio or HTTP.
//!
//! This module only handles requests and answers: it does not know the tools, and no type of `rmcp` leaves it.

mod call_driver;
mod client_requests;
mod client_roots;
mod connection_limiter;
mod http_server;
mod message_check;
mod parked_calls;
mod request_guard;
mod request_handler;
mod stdio_server;
#[cfg(test)]
mod test_host;
mod to_rmcp;
mod tool_host;

use std::sync::Arc;

pub use http_server::{HttpEndpoint, PATH, serve_http};
use parked_calls::ParkedCalls;
pub use request_guard::{AccessRequirement, BearerToken};
pub use stdio_server::{ServeFault, serve_stdio};
pub use tool_host::{
    CallStep, CallUpdate, CallingClient, ClientInput, ClientInputBatch, DATA_META_KEY, FeatureFault,
    FeatureRequest, HostCall, HostFeatures, HostIdentity, HostReply, HostTool, ReplyPiece, RunningCall,
    ToolHints, ToolHost,
};

/// State that all sessions of a server share.
pub(crate) struct SharedServerState {
    host: Arc<dyn ToolHost>,
    parked: ParkedCalls,
}

impl SharedServerState {
    fn new(host: Arc<dyn ToolHost>) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { host, parked: ParkedCalls::new()? }))
    }
}
