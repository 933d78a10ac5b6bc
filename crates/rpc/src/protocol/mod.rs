//! Parameter and result types of all methods. Their doc comments are published: `docs/openrpc.json` contains them.

mod ask;
mod event;
mod files;
mod process;
mod session;
mod tool;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use ask::{Answer, Choice, Decision, Invocation, Invoked, Question, Ruling};
pub use event::{Delta, EventParams, Happening};
pub use files::{
    FsEntry, FsHit, FsKind, FsList, FsListed, FsRead, FsReadDone, FsSearch, FsSearched, FsWrite, FsWritten,
    PatchApplied, PatchApply, PatchChange, PolicyExplain, PolicyExplained,
};
pub use process::{
    Piece, ProcessId, ProcessRead, ProcessReadDone, ProcessResize, ProcessSignal, ProcessStart,
    ProcessStarted, ProcessState, ProcessWrite, Size,
};
pub use session::{
    Attach, Attached, Capabilities, Ended, Initialize, Initialized, Limits, ListSessions, Listed,
    ListedSession, Model, Named, Prompt, Prompted, SessionRef, Start, Started, Wire,
};
pub use tool::{
    Content, Described, DynamicTool, Register, Registered, ToolAnswer, ToolCall, Tools, Unregister,
};

/// The protocol version. A version may gain members and methods; existing ones keep their meaning.
pub const PROTOCOL: u32 = 1;

/// Nothing more to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// A request that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancel {
    /// Its id, as whoever made it named it.
    pub id: serde_json::Value,
}
