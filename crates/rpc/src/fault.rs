//! What is wrong with a request: a code for programs, one sentence for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcFault {
    /// Which kind of fault it is; see [`Code`].
    pub code: i64,
    /// One sentence: what, where, and what to try.
    pub message: String,
    /// More of it, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The kinds of faults. The first five are JSON-RPC's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// It is no JSON.
    Parse,
    /// It is no request.
    Request,
    /// There is no such method.
    Method,
    /// The parameters do not fit.
    Params,
    /// It is our fault.
    Internal,
    /// `initialize` comes first, and once.
    Initialize,
    /// There is no such session.
    NoSession,
    /// The session has no model.
    NoModel,
    /// Too many of something.
    Limit,
    /// The configuration, or what was asked for, cannot be used.
    Unusable,
    /// There is no such process.
    NoProcess,
    /// What happens cannot be written down, so nothing is done.
    Journal,
    /// Somebody else has the session.
    InUse,
    /// The policy, a person or the machine refused it.
    Refused,
    /// The other side cannot be asked, or did not answer as it should.
    Peer,
    /// The request was taken back.
    Cancelled,
}

impl Code {
    /// All of them, with what each means.
    pub const ALL: [(Self, &'static str); 16] = [
        (Self::Parse, "The message is no JSON."),
        (Self::Request, "The message is no JSON-RPC request, or longer than a message may be."),
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
        (Self::Cancelled, "The request was taken back."),
    ];

    /// The number.
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

    /// A fault of this kind.
    pub fn fault(self, message: impl Into<String>) -> RpcFault {
        RpcFault { code: self.number(), message: message.into(), data: None }
    }
}

impl RpcFault {
    /// The same, with more for programs.
    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Whether it is of this kind.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.number()
    }
}
