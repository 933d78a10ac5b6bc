//! Shows what happens: events of each call, streamed output, metrics, and the file changes of a turn.
//!
//! A [`CallObserver`] receives each [`CallEvent`] as it happens, and cannot change the outcome.
//! [`ToolgateBuilder::observer`](crate::ToolgateBuilder::observer) adds one. The example `observer` prints them all.
//!
//! [`ToolRouter::metrics`](crate::call::ToolRouter::metrics) returns counters and latencies of all calls.
//! [`Toolgate::track_turns`](crate::Toolgate::track_turns) follows the changes that patches and commands make to files.

pub use runtime::{
    CallEvent, CallObserver, OutputStream, PlanStep, StepStatus, ToolMetrics, ToolNotice, ToolStats,
};
#[cfg(feature = "tools")]
pub use runtime::{TurnDiff, TurnDiffTracker};
