//! A server with what the conformance suite of the protocol wants to find, on our own code.
//!
//! `cargo run -p toolgate-mcp --example conformance_server -- 127.0.0.1:3900`, then
//! `conformance server --url http://127.0.0.1:3900/mcp --requirements 2026-07-28`. `scripts/mcp-conformance` does both.

mod extras;
mod tools;

use std::net::TcpListener;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolgate_mcp::serve::{
    Call, Door, Entry, Extra, ExtraFault, Extras, Host, Identity, Offer, Running, serve_http,
};

struct Fixtures;

impl Host for Fixtures {
    fn identity(&self) -> Identity {
        Identity {
            name: "toolgate-conformance".to_owned(),
            title: "Toolgate's conformance server".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
        }
    }

    fn tools(&self) -> Vec<Offer> {
        tools::offers()
    }

    fn start(&self, call: Call) -> Box<dyn Running> {
        tools::start(call)
    }

    fn extras(&self) -> Extras {
        Extras { prompts: true, resources: true, completions: true, logging: true }
    }

    fn extra(&self, request: Extra) -> Result<Value, ExtraFault> {
        extras::answer(&request)
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3900".to_owned());
    let door = Door { listener: TcpListener::bind(address)?, entry: Entry::Anyone, names: Vec::new() };
    serve_http(Arc::new(Fixtures), door, CancellationToken::new()).await
}
