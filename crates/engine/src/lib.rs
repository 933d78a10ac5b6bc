//! Routes tool calls: one call in, one answer out.
//!
//! [`ToolRouter::dispatch`] is the entry point: it finds the tool, parses the arguments, asks the policy, waits for a
//! lane, runs the tool and always answers. The [`ToolCallRuntime`] does this for a whole turn and returns the answers
//! in the model's order. This crate knows no concrete tool, model API or operating system.

mod answer;
mod approver;
mod family;
mod halting;
mod hook;
mod hooks;
mod lanes;
mod metrics;
mod observer;
mod offer;
mod orchestrator;
mod registry;
mod router;
mod runtime;
mod stopwatch;
mod tools_config;

pub use answer::OverflowStore;
pub use approver::{Approver, Rulebook};
pub use family::{ApplyPatchToolType, ModelFamily, ShellType};
pub use hook::{Hook, HookResponse, HookDecision, PlannedCall};
pub use metrics::{ToolMetrics, ToolStats};
pub use observer::{CallEvent, CallObserver};
pub use orchestrator::ToolOrchestrator;
pub use registry::{RegistryFault, ToolRegistry, ToolRegistryBuilder};
pub use router::{CallLimits, ToolRouter};
pub use runtime::{AnsweredCall, DuplicateCall, ToolCallRuntime};
pub use tool::{BYTES_PER_TOKEN, fit};
pub use tools_config::{ToolsConfig, WebSearchMode};
