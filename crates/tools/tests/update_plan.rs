//! Tests `update_plan` through the router, as a model calls it.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;

use engine::CallEvent;
use insta::{assert_debug_snapshot, assert_snapshot};
use serde_json::{Value, json};
use testkit::{TestWorkspace, ToolTestSession};
use tool::ToolNotice;
use toolgate_tools::ImageSettings;

fn update(arguments: &Value) -> (String, Vec<ToolNotice>) {
    let session = ToolTestSession::new(
        &TestWorkspace::new(),
        toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap(),
    );
    let text = session.call("update_plan", arguments).joined_text();
    let notices = session.events().into_iter().filter_map(|event| match event {
        CallEvent::Notice(notice) => Some(notice),
        CallEvent::Queued { .. }
        | CallEvent::Asked { .. }
        | CallEvent::Decided { .. }
        | CallEvent::Started
        | CallEvent::Judged { .. }
        | CallEvent::Attempted { .. }
        | CallEvent::Finished { .. } => None,
    });
    (text, notices.collect())
}

#[test]
fn plan_is_sent_to_observers() {
    let (text, notices) = update(&json!({
        "steps": [
            {"id": "look", "description": "look around", "status": "completed"},
            {"id": "fix", "description": "fix it", "status": "in_progress"},
        ],
        "explanation": "found it",
    }));
    assert_eq!(text, "Plan updated");
    assert_debug_snapshot!(notices, @r#"
    [
        PlanUpdated {
            steps: [
                PlanStep {
                    id: "look",
                    description: "look around",
                    status: Completed,
                },
                PlanStep {
                    id: "fix",
                    description: "fix it",
                    status: InProgress,
                },
            ],
            explanation: Some(
                "found it",
            ),
        },
    ]
    "#);
}

#[test]
fn plan_in_the_codex_form_is_accepted() {
    let (text, notices) =
        update(&json!({"plan": [{"step": "a", "status": "pending"}, {"step": "b", "status": "pending"}]}));
    assert_eq!(text, "Plan updated");
    let ToolNotice::PlanUpdated { steps, explanation } = &notices[0] else { panic!("{notices:?}") };
    let ids: Vec<_> = steps.iter().map(|step| (step.id.as_str(), step.description.as_str())).collect();
    assert_eq!((ids, explanation), (vec![("1", "a"), ("2", "b")], &None));
}

#[test]
fn invalid_plan_changes_nothing() {
    let say = |arguments: Value| {
        let (text, notices) = update(&arguments);
        assert_eq!(notices, []);
        text
    };
    let step = |id: &str, status: &str| json!({"id": id, "description": "x", "status": status});
    assert_snapshot!(say(json!({"steps": [step("a", "in_progress"), step("b", "pending"), step("c", "in_progress")]})), @"the arguments do not fit at `steps[2].status`: at most one step may be in_progress, and the step at index 0 is; mark one of them pending or completed");
    assert_snapshot!(say(json!({"steps": [step("a", "pending"), step("a", "pending")]})), @"the arguments do not fit at `steps[1].id`: another step has the same id");
    assert_snapshot!(say(json!({"steps": [step("a", "done")]})), @"the arguments do not fit at `steps[0].status`: expected one of `pending`, `in_progress`, `completed`, found `done`");
    assert_snapshot!(say(json!({"steps": [{"description": " ", "status": "pending"}]})), @"the arguments do not fit at `steps[0].description`: it is empty");
    assert_snapshot!(say(json!({"steps": 7})), @"the arguments do not fit at `steps`: expected an array, found a number");
    assert_snapshot!(say(json!({})), @"the arguments do not fit at `steps`: expected an array, found nothing");
    assert_snapshot!(say(json!({"steps": (0..101).map(|n| step(&n.to_string(), "pending")).collect::<Vec<_>>()})), @"the arguments do not fit at `steps`: 101 steps are too many; 100 are the most");
}

#[test]
fn a_fault_names_the_arguments_of_the_other_form() {
    let say = |plan: Value| update(&json!({ "plan": plan })).0;
    assert_snapshot!(say(json!(5)), @"the arguments do not fit at `plan`: expected an array, found a number");
    assert_snapshot!(say(json!([{"step": 5}])), @"the arguments do not fit at `plan[0].step`: expected a string, found a number");
    assert_snapshot!(say(json!([{"step": "a"}, {"step": " "}])), @"the arguments do not fit at `plan[1].step`: it is empty");
    assert_snapshot!(say(json!([{"step": "a"}, {"status": "pending"}])), @"the arguments do not fit at `plan[1].description`: expected a string, found nothing");
}

#[test]
fn a_plan_may_be_text_and_a_step_need_not_say_how_far_it_is() {
    let steps = |arguments: &Value| {
        let (text, notices) = update(arguments);
        assert_eq!(text, "Plan updated", "{arguments}");
        let [ToolNotice::PlanUpdated { steps, .. }] = &notices[..] else { panic!("{notices:?}") };
        steps.iter().map(|step| format!("{:?} {}", step.status, step.description)).collect::<Vec<_>>()
    };
    assert_eq!(steps(&json!({"steps": [{"description": "look"}]})), ["Pending look"]);
    let text = "- [x] look\n* [>] mend it\n\n3. test\n  [ ] tell\nend";
    let expected = ["Completed look", "InProgress mend it", "Pending test", "Pending tell", "Pending end"];
    assert_eq!(steps(&json!({ "plan": text })), expected);
    assert_eq!(steps(&json!(text)), expected);
}
