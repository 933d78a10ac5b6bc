//! The server under test of the MCP conformance suite, on our own code.
//!
//! `cargo run -p toolgate-mcp --example conformance_server -- 127.0.0.1:3900`, then `conformance server --url
//! http://127.0.0.1:3900/mcp --requirements 2026-07-28`. `cargo test -p toolgate-mcp --test conformance` does both.

mod fixtures;

use std::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3900".to_owned());
    fixtures::serve(TcpListener::bind(address)?).await
}
