//! Sessions for programs in any language: JSON-RPC 2.0 in both directions, over a pipe, a socket or a WebSocket.
//!
//! [`protocol`] has what is said, [`Call`] every method with its types, [`openrpc`] the same as a document that is made of them. [`serve`] is one
//! connection: it reads within bounds, has a [`Host`] answer, and writes. A [`Peer`] is the program at the other end, which can be told and asked
//! things too. Nothing here knows a session: the hosts that ship are `toolgate serve` and `toolgate acp`.

mod connection;
mod fault;
mod frames;
mod message;
mod methods;
mod openrpc;
mod outbox;
mod peer;
pub mod protocol;

pub use connection::{Asked, Host, Limits, TakeBack, serve};
pub use fault::{Code, RpcFault};
pub use frames::{
    Frame, FrameRead, FrameWrite, Frames, Headers, LineReader, LineWriter, Lines, Probe, Probed, WebSocket,
    WsReader, WsWriter,
};
pub use message::{Id, MAX_MESSAGE, Message};
pub use methods::{Call, Method, fitting, method, reply};
pub use openrpc::openrpc;
pub use peer::Peer;
