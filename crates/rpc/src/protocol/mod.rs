//! Parameter and result types of all methods. Their doc comments are published: `docs/openrpc.json` contains them.

mod client_requests;
mod files_and_policy;
mod notifications;
mod process;
mod session;
mod tool;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use client_requests::{
    ApprovalRequestParams, ApprovalRequestResult, ToolInvokeParams, ToolInvokeResult, UserAskOption,
    UserAskParams, UserAskResult,
};
pub use files_and_policy::{
    FsEntry, FsEntryKind, FsListParams, FsListResult, FsReadParams, FsReadResult, FsSearchMatch,
    FsSearchParams, FsSearchResult, FsWriteParams, FsWriteResult, PatchApplyParams, PatchApplyResult,
    PatchChange, PolicyExplainParams, PolicyExplainResult,
};
pub use notifications::{SessionDeltaParams, SessionEventParams, SessionProgress};
pub use process::{
    ProcessOutputChunk, ProcessReadParams, ProcessReadResult, ProcessRef, ProcessResizeParams,
    ProcessSignalParams, ProcessStartParams, ProcessStartResult, ProcessState, ProcessTerminalSize,
    ProcessWriteParams,
};
pub use session::{
    ClientCapabilities, InitializeParams, InitializeResult, ModelApi, ModelSelection, ProgramIdentity,
    PromptOutcome, ServerLimits, SessionAttachParams, SessionAttachResult, SessionDetails, SessionListEntry,
    SessionListParams, SessionListResult, SessionPromptParams, SessionPromptResult, SessionRef,
    SessionStartParams,
};
pub use tool::{
    ContentItem, DenialInfo, DynamicTool, ToolCallParams, ToolCallResult, ToolDescription, ToolListResult,
    ToolRegisterParams, ToolRegisterResult, ToolUnregisterParams,
};

/// The protocol version. A version may gain members and methods; existing ones keep their meaning.
pub const PROTOCOL: u32 = 1;

/// An empty result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmptyResult {}

/// Cancels a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelParams {
    /// The id of the request, as its sender chose it.
    pub id: serde_json::Value,
}
