//! Calls of a model and their answers: the router, the calls of a turn, limits, and the tools that are offered.
//!
//! [`Toolgate::call`](crate::Toolgate::call) is the short way for one call. A program with a model takes one of these:
//!
//! - [`ToolRouter::dispatch`] answers one [`ToolCall`](crate::ToolCall) and takes a
//!   [`CancellationToken`](crate::CancellationToken).
//! - [`ToolCallRuntime`] runs all calls of a model's turn, at the same time where their tools allow it, and returns the
//!   answers in the model's order.
//!
//! Both always answer. A refusal, a timeout, a crash or an unknown tool is a [`ToolOutput`](crate::ToolOutput) with
//! `success: false`, a sentence for the model, and a [`ToolErrorKind`](crate::ToolErrorKind) in its [`OutputFacts`].
//!
//! [`CallLimits`] limits the time and the output of each call.

#[cfg(feature = "tools")]
pub use runtime::Spill;
pub use runtime::{
    AnsweredCall, ApplyPatchToolType, BYTES_PER_TOKEN, CallId, CallLimits, DuplicateCall, ErrorHints,
    FreeformSpec, FunctionSpec, LocalShellCall, ModelFamily, OmittedSize, OutputFacts, OutputImage,
    OutputItem, OverflowStore, ProcessUsage, RegistryFault, SharedCancelCause, ShellType, TextGrammar,
    ToolCallRuntime, ToolPayload, ToolRegistry, ToolRouter, ToolSpec, ToolsConfig, WebSearchMode,
    replace_lone_surrogates, truncate_middle,
};
#[cfg(feature = "tools")]
pub use runtime::{DEFAULT_SESSIONS, ImageSettings};
