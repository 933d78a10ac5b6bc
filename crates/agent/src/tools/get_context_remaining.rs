//! `get_context_remaining`: reports the remaining context tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput};

/// The length of a conversation and its limit, in tokens.
#[derive(Debug, Default)]
pub struct ContextMeter {
    used: AtomicU64,
    limit: AtomicU64,
}

impl ContextMeter {
    pub(crate) fn update(&self, used: u64, limit: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
    }
}

/// The `get_context_remaining` tool.
pub struct GetContextRemaining(pub Arc<ContextMeter>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

impl ToolHandler for GetContextRemaining {
    type Args = Args;
    const NAME: &'static str = "get_context_remaining";
    const ABOUT: &'static str = "Tells how many tokens are left before the conversation is shortened.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, _: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let (used, limit) = (self.0.used.load(Ordering::Relaxed), self.0.limit.load(Ordering::Relaxed));
        let left = limit.saturating_sub(used);
        Ok(ToolOutput::text(format!("about {left} of {limit} tokens are left")))
    }
}
