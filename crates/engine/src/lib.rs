//! Selects the tools of a model and routes its calls under the policy: one call in, one answer out.
//!
//! [`ToolRouter::dispatch`] is the entry point: it finds the tool, parses the arguments, asks the policy, waits for a
//! lane, runs the tool and always answers. The [`ToolCallRuntime`] does this for a whole turn and returns the answers
//! in the model's order. This crate knows no concrete tool, model API or operating system.

mod approver;
mod call_stop;
mod finalize_output;
mod hook;
mod hook_runner;
mod lanes;
mod metrics;
mod model_family;
mod observer;
mod orchestrator;
mod registry;
mod router;
mod runtime;
mod stopwatch;
mod tool_selection;
mod tools_config;

pub use approver::{Approver, Rulebook};
pub use call_stop::SharedCancelCause;
pub use finalize_output::OverflowStore;
pub use hook::{Hook, HookDecision, HookResponse, PlannedCall};
pub use metrics::{ToolMetrics, ToolStats};
pub use model_family::{ApplyPatchToolType, ModelFamily, ShellType};
pub use observer::{CallEvent, CallObserver};
pub use orchestrator::ToolOrchestrator;
pub use registry::{RegistryFault, ToolRegistry, ToolRegistryBuilder};
pub use router::{CallLimits, ToolRouter};
pub use runtime::{AnsweredCall, DuplicateCall, ToolCallRuntime};
pub use tool::{BYTES_PER_TOKEN, truncate_middle};
pub use tools_config::{ToolsConfig, WebSearchMode};
