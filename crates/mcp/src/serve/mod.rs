//! MCP server for the tools of a [`Host`], in both protocol eras, over stdio or HTTP.
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

pub use guard::{Entry, Token};
pub use host::{
    Ask, Call, Client, DATA, Extra, ExtraFault, Extras, Hints, Host, Identity, Offer, Piece, Reply, Request,
    Running, Step, Tell,
};
pub use http::{Door, PATH, serve_http};
use parked::Parked;
pub use stdio::{ServeFault, serve_stdio};

/// State that all sessions of a server share.
pub(crate) struct Shared {
    host: Arc<dyn Host>,
    parked: Parked,
}

impl Shared {
    fn new(host: Arc<dyn Host>) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { host, parked: Parked::new()? }))
    }
}
