//! MCP server for the tools of a [`ToolHost`], in both protocol eras, over stdio or HTTP.
//!
//! This module only handles requests and answers: it does not know the tools, and no type of `rmcp` leaves it.

mod asking;
mod convert;
mod course;
mod guard;
mod handler;
mod host;
mod http;
mod lobby;
mod message;
#[cfg(test)]
mod nothing;
mod parked;
mod site;
mod stdio;

use std::sync::Arc;

pub use guard::{AccessRequirement, BearerToken};
pub use host::{
    ClientInputBatch, HostCall, CallingClient, DATA, FeatureRequest, FeatureFault, HostFeatures, ToolHints, ToolHost, HostIdentity, HostTool, ReplyPiece, HostReply, ClientInput,
    RunningCall, CallStep, CallUpdate,
};
pub use http::{HttpEndpoint, PATH, serve_http};
use parked::ParkedCalls;
pub use stdio::{ServeFault, serve_stdio};

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
