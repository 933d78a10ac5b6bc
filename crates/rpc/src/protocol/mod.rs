//! Parameter and result types of all methods. Their doc comments are published: `docs/openrpc.json` contains them.

mod ask;
mod event;
mod files;
mod process;
mod session;
mod tool;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use ask::{UserAskResult, UserAskOption, ApprovalRequestResult, ToolInvokeParams, ToolInvokeResult, UserAskParams, ApprovalRequestParams};
pub use event::{SessionDeltaParams, SessionEventParams, SessionProgress};
pub use files::{
    FsEntry, FsSearchMatch, FsEntryKind, FsListParams, FsListResult, FsReadParams, FsReadResult, FsSearchParams, FsSearchResult, FsWriteParams, FsWriteResult,
    PatchApplyResult, PatchApplyParams, PatchChange, PolicyExplainParams, PolicyExplainResult,
};
pub use process::{
    ProcessOutputChunk, ProcessRef, ProcessReadParams, ProcessReadResult, ProcessResizeParams, ProcessSignalParams, ProcessStartParams,
    ProcessStartResult, ProcessState, ProcessWriteParams, ProcessTerminalSize,
};
pub use session::{
    SessionAttachParams, SessionAttachResult, ClientCapabilities, PromptOutcome, InitializeParams, InitializeResult, ServerLimits, SessionListParams, SessionListResult,
    SessionListEntry, ModelSelection, ProgramIdentity, SessionPromptParams, SessionPromptResult, SessionRef, SessionStartParams, SessionDetails, ModelApi,
};
pub use tool::{
    ContentItem, ToolDescription, DynamicTool, ToolRegisterParams, ToolRegisterResult, ToolCallResult, ToolCallParams, ToolListResult, ToolUnregisterParams,
};

/// The protocol version. A version may gain members and methods; existing ones keep their meaning.
pub const PROTOCOL: u32 = 1;

/// Nothing more to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmptyResult {}

/// A request that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelParams {
    /// Its id, as whoever made it named it.
    pub id: serde_json::Value,
}
