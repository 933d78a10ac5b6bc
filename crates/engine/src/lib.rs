//! One call in, one answer out.
//!
//! [`ToolRouter::dispatch`] is the front door: it finds the tool, reads the arguments, has the intent judged, waits
//! for its lane, runs the tool and answers, whatever happens. [`ToolCallRuntime`] does that for a whole turn and
//! gives the answers back in the model's order. Nothing here knows a concrete tool, a model API or an operating
//! system.

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

pub use answer::Keep;
pub use approver::{Approver, Rulebook};
pub use family::{ApplyPatchToolType, Family, ShellType};
pub use hook::{Hook, HookSays, HookWants, Planned};
pub use metrics::{Metrics, ToolStats};
pub use observer::{Event, Observer};
pub use orchestrator::ToolOrchestrator;
pub use registry::{RegistryFault, ToolRegistry, ToolRegistryBuilder};
pub use router::{Limits, ToolRouter};
pub use runtime::{Answer, DuplicateCall, ToolCallRuntime};
pub use tool::{BYTES_PER_TOKEN, fit};
pub use tools_config::{ToolsConfig, WebSearch};
