//! Tools of your own: the trait of a tool, its arguments, its context and what it may touch.
//!
//! A tool is one type that implements [`ToolHandler`]. Its arguments are a struct that derives `Deserialize` from the
//! crate `serde` and `JsonSchema` from the crate `schemars` (version 1). The model reads the doc comments of the fields.
//! [`ToolgateBuilder::tool`](crate::ToolgateBuilder::tool) adds the tool:
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolgate::tool::{Cx, Permit, ToolHandler};
//! use toolgate::{ToolError, ToolOutput, Toolgate, json};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Words {
//!     /// The text, e.g. `one two`.
//!     text: String,
//! }
//!
//! struct CountWords;
//!
//! impl ToolHandler for CountWords {
//!     type Args = Words;
//!     const NAME: &'static str = "count_words";
//!     const ABOUT: &'static str = "Counts the words of a text.";
//!
//!     async fn run(&self, args: &Words, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
//!         Ok(ToolOutput::text(args.text.split_whitespace().count().to_string()))
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), toolgate::BuildFault> {
//! let toolgate = Toolgate::at(".").tool(CountWords).build()?;
//! assert_eq!(toolgate.call("count_words", json!({"text": "one two"})).await.joined_text(), "2");
//! # Ok(())
//! # }
//! ```
//!
//! A tool that opens files states so in [`ToolHandler::intent`]. The [`Permit`] that `run` gets opens exactly these
//! files, with [`fs::ConfinedFs`](crate::fs::ConfinedFs). Blocking work goes into [`Cx::run_blocking`].
//!
//! A tool that is known only at run time, e.g. from a description in JSON, is a [`ForeignToolSpec`] with a
//! [`JsonSchema`]. Tools that come and go are a [`ToolSource`].

pub use runtime::{
    AnyTool, Args, BadArguments, CallAttempt, CancelCause, Cx, Effect, Escalation, ExecEffect,
    ForeignBackend, ForeignToolSpec, FreeformArgs, FreeformLanguage, HALT_GRACE, HaltReason, Intent,
    JsonSchema, JsonType, Lane, NoticeListener, Permit, RequiredCapability, SchemaFault, SchemaViolation,
    ShellForm, StopFlag, StrictFault, StrictMode, TakenOverCall, ToolHandler, ToolJob, ToolOutputFuture,
    ToolSource, WorkingDir, erase,
};
