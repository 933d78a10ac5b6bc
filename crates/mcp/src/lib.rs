//! MCP (Model Context Protocol) client for tools of other servers, and server for our own, in both protocol eras.
//!
//! A server is a third-party program. Its names, descriptions, schemas and answers are untrusted until they are
//! checked here.

mod auth;
mod background_task;
mod bm25;
mod call_rewrite;
mod connection;
mod deferred_tools;
mod elicitation;
mod json_limits;
mod link;
mod peer;
mod resource_tools;
pub mod serve;
mod server_config;
mod server_program;
mod server_tools;
mod servers;
mod tool_answer;
mod tool_definition;
mod tool_listing;
mod tool_names;
mod url_policy;

pub use auth::{
    AuthFault, AuthRejection, AuthServerNetwork, BrowserOpener, LoginFault, LoginOutcome, OAuthClientId,
    OAuthConfig, TokenStore, TokenStoreFault, login, logout,
};
pub use call_rewrite::{CALL_TOOL, READ_RESOURCE};
pub use connection::{McpClientDeps, ServerEvent, ServerObserver};
pub use deferred_tools::BUDGET;
pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
pub use peer::ServerDescription;
pub use server_config::{
    CallApproval, HttpTransport, LandChangesFn, LaunchFault, LaunchedServer, McpServerConfig,
    STARTUP_TIMEOUT, ServerLauncher, ServerTransport, TOOL_TIMEOUT,
};
pub use servers::{McpServers, MissingServer, ServerHealth, own_tool_names};
pub use tool_definition::DefinitionPins;
pub use tool_names::{alias, by_path, may_belong_to, prefix};
