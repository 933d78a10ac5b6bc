//! `update_plan`: the model tells the user what it is about to do and how far it is.

use std::collections::HashSet;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Notice, PlanStep, StepStatus, ToolError, ToolHandler, ToolOutput};

/// A plan longer than this helps nobody.
const MAX_STEPS: usize = 100;

/// The tool.
pub(crate) struct UpdatePlan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// All of it, in order.
    steps: Vec<Step>,
    /// Why it changed.
    explanation: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// A name that stays.
    id: Option<String>,
    description: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl ToolHandler for UpdatePlan {
    type Args = Args;
    const NAME: &'static str = "update_plan";
    const ABOUT: &'static str =
        "Shows the user your plan. Send all of it each time; at most one step may be in_progress.";
    // Models that were trained on another form of this tool send `plan[{step, status}]`.
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("plan", "steps"), ("steps[].step", "description")];

    async fn run(&self, args: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        check(&args.steps)?;
        let steps = (1..).zip(&args.steps).map(|(number, step)| plan_step(number, step)).collect();
        cx.tell(Notice::PlanUpdated { steps, explanation: args.explanation.clone() });
        Ok(ToolOutput::text("Plan updated"))
    }
}

fn check(steps: &[Step]) -> Result<(), ToolError> {
    if steps.len() > MAX_STEPS {
        let why = format!("{} steps are too many; {MAX_STEPS} are the most", steps.len());
        return Err(ToolError::argument("steps", why));
    }
    let mut ids = HashSet::new();
    let mut current = None;
    for (at, step) in steps.iter().enumerate() {
        if step.description.trim().is_empty() {
            return Err(ToolError::argument(format!("steps[{at}].description"), "it is empty"));
        }
        if step.id.as_ref().is_some_and(|id| !ids.insert(id)) {
            return Err(ToolError::argument(format!("steps[{at}].id"), "another step has the same id"));
        }
        if step.status == Status::InProgress
            && let Some(other) = current.replace(at)
        {
            let why = format!(
                "at most one step may be in_progress, and steps[{other}] is; mark one of them pending or completed"
            );
            return Err(ToolError::argument(format!("steps[{at}].status"), why));
        }
    }
    Ok(())
}

fn plan_step(number: usize, step: &Step) -> PlanStep {
    let status = match step.status {
        Status::Pending => StepStatus::Pending,
        Status::InProgress => StepStatus::InProgress,
        Status::Completed => StepStatus::Completed,
    };
    let id = step.id.clone().unwrap_or_else(|| number.to_string());
    PlanStep { id, description: step.description.clone(), status }
}
