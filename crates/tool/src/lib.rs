//! The tool contract between a model's call and the code that answers it.
//!
//! A tool is one type that implements [`ToolHandler`]: its name, its arguments as a Rust type, its effects and its
//! work. JSON Schema and documentation are derived from the argument type. The rest of Toolgate uses the erased form,
//! [`AnyTool`], which foreign tools (MCP, dynamic) implement directly.
//!
//! ```
//! use policy::Permit;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolgate_tool::{AnyTool, Cx, ToolError, ToolHandler, ToolOutput, erase};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Args {
//!     /// Who to greet, e.g. `Ada`.
//!     name: String,
//! }
//!
//! struct Hello;
//!
//! impl ToolHandler for Hello {
//!     type Args = Args;
//!     const NAME: &'static str = "hello";
//!     const ABOUT: &'static str = "Greets someone by name.";
//!
//!     async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
//!         Ok(ToolOutput::text(format!("hello, {}", args.name)))
//!     }
//! }
//!
//! assert_eq!(erase(Hello).unwrap().spec().name(), "hello");
//! ```

mod arg_aliases;
mod args;
mod call_context;
mod cancel_cause;
mod error;
mod error_hints;
mod foreign_tool;
mod handler;
mod lone_surrogates;
mod notice;
mod sanitize_text;
mod schema;
mod tool_call;
mod tool_output;
mod tool_spec;
mod truncate;

pub use args::{Args, FreeformArgs, FreeformLanguage, MAX_ARGUMENT_BYTES};
pub use call_context::{Cx, HALT_GRACE, HaltReason, StopFlag, WorkingDir};
pub use cancel_cause::CancelCause;
pub use error::{BadArguments, ToolError, ToolErrorKind};
pub use error_hints::ErrorHints;
pub use foreign_tool::{ForeignBackend, ForeignToolSpec, ToolOutputFuture};
pub use futures_util::future::BoxFuture;
pub use handler::{
    AnyTool, CallAttempt, Lane, RequiredCapability, ShellForm, TakenOverCall, ToolHandler, ToolJob,
    ToolSource, erase,
};
pub use lone_surrogates::replace_lone_surrogates;
pub use notice::{NoticeListener, OutputStream, PlanStep, StepStatus, ToolNotice};
pub use schema::{
    AdditionalProperties, JsonSchema, JsonType, LengthBounds, NumericBounds, ObjectSchema, SchemaComposition,
    SchemaFault, SchemaNotes, SchemaViolation, StrictFault, ValueConstraints,
};
pub use tool_call::{CallId, LocalShellCall, ToolCall, ToolPayload};
pub use tool_output::{OmittedSize, OutputFacts, OutputImage, OutputItem, ProcessUsage, ToolOutput};
pub use tool_spec::{FreeformSpec, FunctionSpec, StrictMode, TextGrammar, ToolSpec};
pub use truncate::{BYTES_PER_TOKEN, take_head, take_tail, truncate_middle, truncation_marker};
