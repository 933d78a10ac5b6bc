//! JSON-RPC 2.0 in both directions over a pipe, a socket or a WebSocket: message types, transports and connections.
//!
//! [`protocol`] has the message types, [`ClientCall`] every client method with its types, and `openrpc` generates their
//! description. [`serve_connection`] runs one connection: it reads within limits, calls an [`RpcHost`] for the answers, and writes
//! them. A [`Peer`] is the program at the other end, which also receives notifications and requests. This crate knows
//! no sessions: the hosts in the product are `toolgate serve` and `toolgate acp`.

mod connection;
mod fault;
mod message;
mod methods;
mod openrpc;
mod outbox;
mod peer;
pub mod protocol;
mod transport;

pub use connection::{CancelNotification, ConnectionLimits, IncomingRequest, RpcHost, serve_connection};
pub use fault::{RpcErrorCode, RpcFault};
pub use message::{MAX_MESSAGE_BYTES, RequestId, RpcMessage};
pub use methods::{ClientCall, RpcMethod, encode_result, method, parse_params};
pub use openrpc::openrpc_document;
pub use peer::Peer;
pub use transport::{
    DisconnectProbe, FrameRead, FrameWrite, HandshakeHeaders, IncomingFrame, LineReader, LineTransport,
    LineWriter, MessageTransport, ProbedTransport, WebSocketReader, WebSocketTransport, WebSocketWriter,
};
