//! Ours for others: a server of the Model Context Protocol, of both its eras, at a pipe or over HTTP.
//!
//! What is served is a [`Host`]. Everything here is about how it is asked and answered: nothing knows which tools there
//! are, and no type of the library that speaks the protocol gets out.

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

/// What all sessions of a server have in common.
pub(crate) struct Shared {
    host: Arc<dyn Host>,
    parked: Parked,
}

impl Shared {
    fn new(host: Arc<dyn Host>) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { host, parked: Parked::new()? }))
    }
}
