//! `update_plan`: shows the model's plan and progress to the user.

use std::collections::HashSet;

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{
    BadArguments, Cx, PlanStep, StepStatus, StrictMode, ToolError, ToolHandler, ToolNotice, ToolOutput,
    ToolPayload, ToolSpec,
};

/// A longer plan is rejected.
const MAX_STEPS: usize = 100;

/// The `update_plan` tool.
pub(crate) struct UpdatePlan;

/// A plan in any form that models send: JSON, or lines of text.
pub(crate) struct PlanArgs(Args);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// All steps, in order.
    steps: Vec<PlanStepArg>,
    /// Why the plan changed.
    explanation: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanStepArg {
    /// Stable step name.
    id: Option<String>,
    description: String,
    status: Option<PlanStatusArg>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlanStatusArg {
    #[default]
    Pending,
    InProgress,
    Completed,
}

impl tool::Args for PlanArgs {
    fn schema() -> tool::JsonSchema {
        Args::schema()
    }

    fn spec(name: &str, about: &str, strict: StrictMode) -> ToolSpec {
        Args::spec(name, about, strict)
    }

    fn parse_payload(
        payload: &ToolPayload,
        schema: &tool::JsonSchema,
        aliases: &[(&str, &str)],
    ) -> Result<Self, BadArguments> {
        let arguments = match plan_as_text(&payload.arguments()) {
            Some((lines, explanation)) => {
                json!({ "steps": parse_steps(&lines), "explanation": explanation }).to_string()
            }
            None => payload.arguments().into_owned(),
        };
        Args::parse_payload(&ToolPayload::Function { arguments }, schema, aliases).map(Self)
    }
}

/// Returns a plan written as text instead of a list of steps, with its explanation. The text is all of `arguments`, or
/// stands in place of the steps.
fn plan_as_text(arguments: &str) -> Option<(String, Value)> {
    let value: Value = match serde_json::from_str(arguments) {
        Ok(value) => value,
        Err(_) if arguments.trim_start().starts_with(['{', '[']) || arguments.trim().is_empty() => {
            return None;
        }
        Err(_) => return Some((arguments.to_owned(), Value::Null)),
    };
    let text =
        value.as_str().or_else(|| ["steps", "plan", "input"].iter().find_map(|name| value[*name].as_str()));
    Some((text?.to_owned(), value["explanation"].clone()))
}

/// Parses the steps of a plan written as a list: `- [x] done`, `- [>] under way`, `1. to do`, or a plain line.
fn parse_steps(text: &str) -> Vec<Value> {
    let step = |line: &str| {
        let line = line.trim();
        let bare = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let numbered = bare.strip_prefix(['.', ')']).filter(|_| bare.len() < line.len());
        let line = numbered.or_else(|| line.strip_prefix(['-', '*', '+'])).unwrap_or(line).trim_start();
        let marks = [
            ("[x]", "completed"),
            ("[X]", "completed"),
            ("[>]", "in_progress"),
            ("[~]", "in_progress"),
            ("[-]", "in_progress"),
            ("[ ]", "pending"),
            ("[]", "pending"),
        ];
        let marked = marks.iter().find_map(|(mark, status)| Some((line.strip_prefix(mark)?, *status)));
        let (description, status) = marked.unwrap_or((line, "pending"));
        let description = description.trim();
        (!description.is_empty()).then(|| json!({ "description": description, "status": status }))
    };
    text.lines().filter_map(step).collect()
}

impl ToolHandler for UpdatePlan {
    type Args = PlanArgs;
    const NAME: &'static str = "update_plan";
    const ABOUT: &'static str =
        "Shows the user your plan. Send all of it each time; at most one step may be in_progress.";
    // Models that were trained on another form of this tool send `plan[{step, status}]`.
    const ALIASES: &'static [&'static str] = &["plan"];
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("plan", "steps"), ("steps[].step", "description")];

    async fn run(&self, PlanArgs(args): &PlanArgs, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        check_steps(&args.steps)?;
        let steps = (1..).zip(&args.steps).map(|(number, step)| plan_step(number, step)).collect();
        cx.notify(ToolNotice::PlanUpdated { steps, explanation: args.explanation.clone() });
        Ok(ToolOutput::text("Plan updated"))
    }
}

fn check_steps(steps: &[PlanStepArg]) -> Result<(), ToolError> {
    if steps.len() > MAX_STEPS {
        let why = format!("{} steps are too many; {MAX_STEPS} are the most", steps.len());
        return Err(ToolError::bad_argument("steps", why));
    }
    let mut ids = HashSet::new();
    let mut current = None;
    for (at, step) in steps.iter().enumerate() {
        if step.description.trim().is_empty() {
            return Err(ToolError::bad_argument(format!("steps[{at}].description"), "it is empty"));
        }
        if step.id.as_ref().is_some_and(|id| !ids.insert(id)) {
            return Err(ToolError::bad_argument(format!("steps[{at}].id"), "another step has the same id"));
        }
        if step.status == Some(PlanStatusArg::InProgress)
            && let Some(other) = current.replace(at)
        {
            let why = format!(
                "at most one step may be in_progress, and the step at index {other} is; mark one of them pending or completed"
            );
            return Err(ToolError::bad_argument(format!("steps[{at}].status"), why));
        }
    }
    Ok(())
}

fn plan_step(number: usize, step: &PlanStepArg) -> PlanStep {
    let status = match step.status.unwrap_or_default() {
        PlanStatusArg::Pending => StepStatus::Pending,
        PlanStatusArg::InProgress => StepStatus::InProgress,
        PlanStatusArg::Completed => StepStatus::Completed,
    };
    let id = step.id.clone().unwrap_or_else(|| number.to_string());
    PlanStep { id, description: step.description.clone(), status }
}
