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

pub use auth::{Auth, ClientId, LoggedIn, LoginFault, Network, Opener, Tokens, TokensFault, login, logout};
pub use connection::{Means, ServerEvent, WatchServers};
pub use deferred::BUDGET;
pub use definition::Pins;
pub use elicit::{Elicit, Elicitation, Elicited, Wants};
pub use names::{alias, by_path, may_be_of, prefix};
pub use peer::About;
pub use server::{
    Approval, Http, Landing, Launch, LaunchFault, Running, STARTUP_TIMEOUT, Server, TOOL_TIMEOUT, Transport,
};
pub use servers::{Health, Missing, Servers, own_names};
pub use stand_in::{CALL_TOOL, READ_RESOURCE};
