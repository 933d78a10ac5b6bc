//! Hooks: see every call before its verdict and after its answer, and can deny it, ask about it or add a note.
//!
//! A [`Hook`] is a type of your program. A [`CommandHook`] is a program of the user's that reads the call as JSON. A
//! hook cannot allow anything. [`ToolgateBuilder::hook`](crate::ToolgateBuilder::hook) adds one.

#[cfg(feature = "tools")]
pub use runtime::{CommandHook, HookFailurePolicy, HookMoment};
pub use runtime::{Hook, HookDecision, HookResponse, PlannedCall};
