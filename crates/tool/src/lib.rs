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

mod args;
mod call;
mod cx;
mod error;
mod fit;
mod foreign;
mod halt;
mod handler;
mod notice;
mod output;
mod schema;
mod spec;
mod spelling;
mod surrogates;
mod text;

pub use args::{Args, FreeformArgs, FreeformLanguage, MAX_ARGUMENT_BYTES};
pub use call::{CallId, LocalShellCall, ToolCall, ToolPayload};
pub use cx::{Cx, WorkingDir, StopFlag};
pub use error::{BadArguments, ToolErrorKind, ToolError};
pub use fit::{BYTES_PER_TOKEN, truncate_middle};
pub use foreign::{ToolOutputFuture, ForeignBackend, ForeignToolSpec};
pub use futures_util::future::BoxFuture;
pub use halt::{GRACE, HaltReason};
pub use handler::{AnyTool, CallAttempt, ToolJob, Lane, RequiredCapability, ShellForm, ToolHandler, ToolSource, erase};
pub use notice::{NoticeListener, ToolNotice, OutputStream, PlanStep, StepStatus};
pub use output::{OmittedSize, OutputFacts, OutputImage, OutputItem, ToolOutput, ProcessUsage};
pub use schema::{
    AdditionalProperties, NumericBounds, SchemaComposition, JsonSchema, LengthBounds, SchemaViolation, SchemaNotes, ObjectSchema, SchemaFault, StrictFault, JsonType,
    ValueConstraints,
};
pub use spec::{FreeformSpec, FunctionSpec, TextGrammar, StrictMode, ToolSpec};
pub use surrogates::replace_lone_surrogates;
