//! Verdict → permit → attempt.

use policy::{Gate, Verdict};
use tool::{Attempt, Cx, ToolError, ToolOutput};

/// Has an intent judged, and attempts what is allowed.
#[derive(Debug, Clone)]
pub struct ToolOrchestrator {
    gate: Gate,
}

impl ToolOrchestrator {
    /// An orchestrator that asks `gate`.
    pub fn new(gate: Gate) -> Self {
        Self { gate }
    }

    /// Runs `attempt` with the permit that its intent earns, or says why it earns none.
    pub async fn run(&self, attempt: &dyn Attempt, cx: &Cx) -> Result<ToolOutput, ToolError> {
        match self.gate.decide(attempt.intent()) {
            Verdict::Allow(permit) => attempt.run(&permit, cx).await,
            Verdict::Forbid(denial) => Err(ToolError::Forbidden(denial)),
        }
    }
}
