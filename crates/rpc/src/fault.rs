//! JSON-RPC errors: a code for programs and one sentence for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The error of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcFault {
    /// The error code; see [`RpcErrorCode`].
    pub code: i64,
    /// One sentence: the problem, its location and a remedy.
    pub message: String,
    /// Additional data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The error codes. The first five are defined by JSON-RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcErrorCode {
    /// The message is not JSON.
    Parse,
    /// The message is not a request.
    Request,
    /// The method does not exist.
    Method,
    /// The parameters do not match the schema.
    Params,
    /// An internal error of the server.
    Internal,
    /// `initialize` must be called first, and once.
    Initialize,
    /// The session does not exist.
    NoSession,
    /// The session has no model.
    NoModel,
    /// A limit was exceeded.
    Limit,
    /// The configuration, or a requested option, cannot be used.
    Unusable,
    /// The process does not exist.
    NoProcess,
    /// The journal cannot be written, so nothing is done.
    Journal,
    /// Another program has the session open.
    InUse,
    /// The policy, a person or the machine refused the call.
    Refused,
    /// The peer cannot be asked, or gave no valid answer.
    Peer,
    /// The request was cancelled.
    Cancelled,
}

impl RpcErrorCode {
    /// All codes, each with its meaning.
    pub const ALL: [(Self, &'static str); 16] = [
        (Self::Parse, "The message is not JSON."),
        (Self::Request, "The message is not a JSON-RPC request, or longer than a message may be."),
        (Self::Method, "There is no such method; `data.nearest` has names that were perhaps meant."),
        (Self::Params, "The parameters do not fit; the message says where."),
        (Self::Internal, "A bug of the server's."),
        (Self::Initialize, "`initialize` has to be called first, and once."),
        (Self::NoSession, "There is no such session."),
        (Self::NoModel, "The session was started without a model."),
        (Self::Limit, "Too many of something: sessions, requests under way, tools."),
        (Self::Unusable, "The configuration, or what was asked for, cannot be used."),
        (Self::NoProcess, "There is no such process."),
        (Self::Journal, "The journal cannot be written, so nothing is done."),
        (Self::InUse, "Another server or program has the session."),
        (Self::Refused, "The policy, a person or the machine refused it; `data` is the answer of the call."),
        (Self::Peer, "The other side did not answer, or not as it should."),
        (Self::Cancelled, "The request was cancelled."),
    ];

    /// Returns the numeric code.
    pub fn number(self) -> i64 {
        match self {
            Self::Parse => -32700,
            Self::Request => -32600,
            Self::Method => -32601,
            Self::Params => -32602,
            Self::Internal => -32603,
            Self::Initialize => -32000,
            Self::NoSession => -32001,
            Self::NoModel => -32002,
            Self::Limit => -32003,
            Self::Unusable => -32004,
            Self::NoProcess => -32005,
            Self::Journal => -32006,
            Self::InUse => -32007,
            Self::Refused => -32008,
            Self::Peer => -32009,
            Self::Cancelled => -32800,
        }
    }

    /// Creates an error with this code.
    pub fn fault(self, message: impl Into<String>) -> RpcFault {
        RpcFault { code: self.number(), message: message.into(), data: None }
    }
}

impl RpcFault {
    /// Adds data for programs.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Returns whether the error has this code.
    pub fn has_code(&self, code: RpcErrorCode) -> bool {
        self.code == code.number()
    }
}
