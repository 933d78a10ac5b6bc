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

pub use args::{Args, Freeform, Language, MAX_ARGUMENT_BYTES};
pub use call::{CallId, LocalShell, ToolCall, ToolPayload};
pub use cx::{Cx, Place, Stop};
pub use error::{BadArguments, ErrorKind, ToolError};
pub use fit::{BYTES_PER_TOKEN, fit};
pub use foreign::{Answering, Answers, Foreign};
pub use futures_util::future::BoxFuture;
pub use halt::{GRACE, Halt};
pub use handler::{AnyTool, Attempt, Job, Lane, Needs, ShellForm, ToolHandler, ToolSource, erase};
pub use notice::{Listen, Notice, OutputStream, PlanStep, StepStatus};
pub use output::{Cut, Facts, Image, Item, ToolOutput, Usage};
pub use schema::{
    Additional, Bounds, Combined, JsonSchema, Lengths, Misfit, Notes, Object, SchemaFault, StrictFault, Type,
    Values,
};
pub use spec::{FreeformSpec, FunctionSpec, Grammar, Strict, ToolSpec};
pub use surrogates::without_lone_surrogates;
