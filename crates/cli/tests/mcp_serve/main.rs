//! `toolgate mcp` as its clients meet it: the real program, spoken to in JSON, at a pipe and over HTTP.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod asking;
mod calls;
mod http;
mod process;
mod terminal;
