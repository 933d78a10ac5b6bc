//! MCP (Model Context Protocol) client for tools of other servers, and server for our own, in both protocol eras.
//!
//! A server is a third-party program. Its names, descriptions, schemas and answers are untrusted until they are
//! checked here.

mod answer;
mod auth;
mod connection;
mod deferred;
mod definition;
mod elicit;
mod link;
mod listing;
mod measure;
mod names;
mod peer;
mod program;
mod resources;
mod search;
pub mod serve;
mod server;
mod servers;
mod stand_in;
mod task;
mod tls;
mod tools;

pub use auth::{OAuthConfig, OAuthClientId, LoginOutcome, LoginFault, AuthServerNetwork, BrowserOpener, TokenStore, TokenStoreFault, login, logout};
pub use connection::{McpClientDeps, ServerEvent, ServerObserver};
pub use deferred::BUDGET;
pub use definition::DefinitionPins;
pub use elicit::{Elicitor, Elicitation, ElicitationAnswer, ElicitationKind};
pub use names::{alias, by_path, may_belong_to, prefix};
pub use peer::ServerDescription;
pub use server::{
    CallApproval, HttpTransport, LandChangesFn, ServerLauncher, LaunchFault, LaunchedServer, STARTUP_TIMEOUT, McpServerConfig, TOOL_TIMEOUT, ServerTransport,
};
pub use servers::{ServerHealth, MissingServer, McpServers, own_tool_names};
pub use stand_in::{CALL_TOOL, READ_RESOURCE};
