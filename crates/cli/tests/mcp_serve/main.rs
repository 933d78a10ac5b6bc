//! Tests of `toolgate mcp`: the real program, over pipes and HTTP.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod approve_terminal;
mod calls;
mod client_approval;
mod http;
mod journal;
mod server_process;
