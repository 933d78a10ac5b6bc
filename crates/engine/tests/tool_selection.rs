//! Tests tool selection (one shell is offered, the others stay callable unless removed) and reported waiting time.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::{DenyRead, Gate, Permit, ReadScope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::{
    Cx, ForeignToolSpec, Lane, ShellForm, ToolCall, ToolError, ToolHandler, ToolJob, ToolOutput, ToolSpec,
    WorkingDir,
};
use toolgate_engine::{RegistryFault, ShellType, ToolRegistry, ToolRegistryBuilder, ToolRouter, ToolsConfig};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool that answers with its own name.
macro_rules! names_itself {
    ($type:ident, $name:literal, $job:expr, $aliases:expr) => {
        struct $type;
        impl ToolHandler for $type {
            type Args = Nothing;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = "Says its name.";
            const JOB: ToolJob = $job;
            const ALIASES: &'static [&'static str] = $aliases;
            async fn run(&self, _: &Nothing, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
                Ok(ToolOutput::text($name))
            }
        }
    };
}

names_itself!(Exec, "exec_command", ToolJob::Shell(ShellForm::Exec), &[]);
names_itself!(Script, "shell_command", ToolJob::Shell(ShellForm::Script), &[]);
names_itself!(Words, "shell", ToolJob::Shell(ShellForm::Argv), &["container.exec", "local_shell"]);
names_itself!(Stdin, "write_stdin", ToolJob::Session, &[]);
names_itself!(Patch, "apply_patch", ToolJob::Unique, &["write_file"]);
names_itself!(OwnWriter, "write_file", ToolJob::Unique, &[]);

fn ours() -> ToolRegistryBuilder {
    ToolRegistry::builder().tool(Exec).tool(Script).tool(Words).tool(Stdin).tool(Patch)
}

fn with(config: ToolsConfig) -> ToolRegistry {
    ours().with_config(config).build().unwrap()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Returns the tool name or the error that each of `names` leads to.
fn found(registry: &ToolRegistry, names: &[&str]) -> Vec<String> {
    let one = |name: &&str| match registry.find(name) {
        Ok(tool) => tool.spec().name().to_owned(),
        Err(unknown) => unknown.to_string(),
    };
    names.iter().map(one).collect()
}

#[test]
fn one_shell_is_offered_and_every_name_of_every_shell_can_be_called() {
    let registry = with(ToolsConfig::default());
    assert_eq!(registry.offered_names(), ["apply_patch", "exec_command", "write_stdin"]);
    assert_eq!(
        found(
            &registry,
            &["exec_command", "shell", "shell_command", "local_shell", "container.exec", "write_file"]
        ),
        ["exec_command", "shell", "shell_command", "shell", "shell", "apply_patch"]
    );
    let callable: Vec<String> = registry.callable_specs().iter().map(|spec| spec.name().to_owned()).collect();
    assert_eq!(callable, ["apply_patch", "exec_command", "shell", "shell_command", "write_stdin"]);
}

#[test]
fn what_is_taken_away_is_gone_and_the_next_shell_is_offered() {
    let without = |names: &[&str]| with(ToolsConfig { without: set(names), ..ToolsConfig::default() });
    let registry = without(&["exec_command"]);
    // No remaining shell creates sessions, so the session tools are not offered.
    assert_eq!(registry.offered_names(), ["apply_patch", "shell_command"]);
    assert_eq!(
        found(&registry, &["exec_command", "shell"]),
        ["there is no tool `exec_command`; did you mean `shell_command`?", "shell"]
    );
    let registry = without(&["exec_command", "shell_command"]);
    assert_eq!(registry.offered_names(), ["apply_patch", "shell"]);
    let registry = without(&["shell"]);
    assert_eq!(
        found(&registry, &["container.exec", "shell_command"]),
        ["there is no tool `container.exec`; did you mean `exec_command`?", "shell_command"]
    );
    // An alias alone can be removed too, and an error never suggests a tool for another job.
    let registry = without(&["local_shell"]);
    assert_eq!(found(&registry, &["container.exec"]), ["shell"]);
    assert!(registry.find("local_shell").is_err());
    let registry = without(&["apply_patch"]);
    assert_eq!(
        found(&registry, &["write_file"]),
        ["there is no tool `write_file`; there are `exec_command`, `write_stdin`"]
    );
}

#[test]
fn a_list_of_tools_gives_those_and_no_stronger_shell() {
    let only = |names: &[&str]| with(ToolsConfig { only: Some(set(names)), ..ToolsConfig::default() });
    assert!(only(&["apply_patch"]).find("shell").is_err());
    let registry = only(&["exec_command"]);
    assert_eq!(registry.offered_names(), ["exec_command"]);
    assert_eq!(
        found(&registry, &["shell", "local_shell", "shell_command"]),
        ["shell", "shell", "shell_command"]
    );
    let registry = only(&["shell"]);
    assert_eq!(registry.offered_names(), ["shell"]);
    assert!(registry.find("exec_command").is_err());
    assert_eq!(only(&["shell", "exec_command"]).offered_names(), ["exec_command", "shell"]);
    assert_eq!(only(&["local_shell"]).offered_names(), ["shell"]);
}

#[test]
fn the_shell_that_a_model_wants_is_the_one_that_it_is_told_of() {
    let wants = |shell: ShellType| with(ToolsConfig { shell, ..ToolsConfig::default() });
    assert_eq!(wants(ShellType::ShellCommand).offered_names(), ["apply_patch", "shell_command"]);
    assert_eq!(wants(ShellType::Default).offered_names(), ["apply_patch", "shell"]);
    let local = wants(ShellType::Local);
    assert!(local.offered_specs().contains(&ToolSpec::LocalShell));
    assert_eq!(
        found(&local, &["local_shell", "exec_command", "write_stdin"]),
        ["shell", "exec_command", "write_stdin"]
    );
    let none = wants(ShellType::Disabled);
    assert_eq!(none.offered_names(), ["apply_patch"]);
    assert!(["shell", "local_shell", "exec_command"].iter().all(|name| none.find(name).is_err()));
}

#[test]
fn another_name_gives_way_to_a_tool_that_is_called_so() {
    let registry = ours().tool(OwnWriter).build().unwrap();
    assert_eq!(found(&registry, &["write_file"]), ["write_file"]);
    let foreign = |name: &str| {
        let foreign =
            ForeignToolSpec { name: name.to_owned(), description: String::new(), input_schema: json!({}) };
        foreign.into_tool_with(async |_, _: Cx| Ok(ToolOutput::text("foreign"))).unwrap()
    };
    // But no foreign tool may answer for the shell that an API calls by itself.
    let registry = ours().foreign(foreign("local_shell")).foreign(foreign("write_file")).build().unwrap();
    assert_eq!(registry.rejected_tools(), [RegistryFault::Duplicate("local_shell".to_owned())]);
    assert_eq!(found(&registry, &["local_shell", "write_file"]), ["shell", "write_file"]);
    assert!(!registry.is_name_available("local_shell"));
}

/// Runs until it is released.
struct WaitingTool(Arc<Notify>);

impl ToolHandler for WaitingTool {
    type Args = Nothing;
    const NAME: &'static str = "held";
    const ABOUT: &'static str = "Waits.";
    async fn run(&self, _: &Nothing, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        self.0.notified().await;
        Ok(ToolOutput::text("held"))
    }
}

struct SharedReadTool;

impl ToolHandler for SharedReadTool {
    type Args = Nothing;
    const NAME: &'static str = "reads";
    const ABOUT: &'static str = "Reads.";
    const LANE: Lane = Lane::Shared;
    async fn run(&self, _: &Nothing, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("read"))
    }
}

#[tokio::test]
async fn time_waiting_for_another_call_is_reported_separately() {
    const HELD: Duration = Duration::from_millis(30);
    let go = Arc::new(Notify::new());
    let registry =
        ToolRegistry::builder().tool(WaitingTool(Arc::clone(&go))).tool(SharedReadTool).build().unwrap();
    let gate = Gate::read_only(ReadScope::new(Vec::new(), DenyRead::new([""; 0], None).unwrap()));
    let router = ToolRouter::new(registry, gate, WorkingDir { cwd: "/".into() });
    let dispatch =
        |id: &str, name: &str| router.dispatch(ToolCall::function(id, name, "{}"), CancellationToken::new());
    let began = Instant::now();
    let (held, read) = (dispatch("1", "held"), dispatch("2", "reads"));
    let letting_go = async {
        tokio::time::sleep(HELD).await;
        go.notify_one();
    };
    let (_, read, ()) = tokio::join!(held, read, letting_go);
    let (took, facts) = (began.elapsed(), read.facts);
    assert!(facts.waited >= HELD, "{facts:?}");
    assert!(facts.duration.unwrap() + facts.waited <= took, "{facts:?} of {took:?}");
    let counted = router.metrics().snapshot();
    let reads = counted.iter().find(|stats| stats.tool == "reads").unwrap();
    // A bucket ends at most at twice its values.
    assert!(reads.percentile(50) <= facts.duration.unwrap() * 2 + Duration::from_micros(1), "{reads:?}");
}
