//! An embedding program needs no preparation: these tests run commands in the standard test harness.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests may unwrap, and lay out files")]

use std::path::Path;
use std::time::Duration;

use toolgate::call::{CallId, SharedCancelCause, ToolRouter};
use toolgate::observe::{CallEvent, CallObserver};
use toolgate::sandbox::{DenyRead, DenyReadFault, Enforcement, OneShotFault, OneShotOutput};
use toolgate::sandbox::{EnvironmentPolicy, SandboxCommand, SandboxFault, SandboxPolicy};
use toolgate::tool::{JsonSchema, SchemaFault, StrictFault};
use toolgate::{BuildFault, ToolErrorKind, Toolgate, json};

/// Runs `command` in `directory`, which it may change.
fn run(directory: &Path, command: &SandboxCommand) -> Result<OneShotOutput, SandboxFault> {
    let sandbox = Toolgate::at(directory)
        .sandbox(SandboxPolicy::WorkspaceWrite)
        .environment(EnvironmentPolicy::default())
        .build_sandbox()
        .unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(sandbox.run_to_end(command))
}

fn script(text: &str) -> SandboxCommand {
    SandboxCommand::new(["/bin/sh", "-c", text])
}

#[test]
fn a_runtime_of_one_thread_runs_commands() -> Result<(), BuildFault> {
    let directory = testkit::visible_tempdir();
    // No runtime is needed yet.
    let toolgate = Toolgate::at(directory.path()).with_tools().build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(toolgate.call("shell_command", json!({"command": "echo from here"})));
    assert!(answer.success, "{}", answer.joined_text());
    assert!(answer.joined_text().contains("from here"), "{}", answer.joined_text());
    runtime.block_on(toolgate.close());
    Ok(())
}

#[test]
fn a_call_without_a_runtime_is_answered_with_what_is_missing() -> Result<(), BuildFault> {
    use std::task::{Context, Poll, Waker};
    let toolgate = Toolgate::at(testkit::visible_tempdir().path()).with_tools().build()?;
    let mut call = std::pin::pin!(toolgate.call("list_dir", json!({"path": "."})));
    let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it waits")
    };
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Fatal));
    assert!(answer.joined_text().contains("without a tokio runtime"), "{}", answer.joined_text());
    Ok(())
}

#[test]
fn each_call_has_an_id_of_its_own() -> Result<(), BuildFault> {
    struct Ids(std::sync::mpsc::Sender<String>);
    impl CallObserver for Ids {
        fn on_event(&self, call: &CallId, event: &CallEvent) {
            if matches!(event, CallEvent::Queued { .. }) {
                self.0.send(call.as_str().to_owned()).unwrap();
            }
        }
    }
    let (sender, ids) = std::sync::mpsc::channel();
    let directory = testkit::visible_tempdir();
    let observer = std::sync::Arc::new(Ids(sender)) as std::sync::Arc<dyn CallObserver>;
    let toolgate = Toolgate::at(directory.path()).with_tools().observer(observer).build()?;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..2 {
        runtime.block_on(toolgate.call("list_dir", json!({"path": "."})));
    }
    let ids: Vec<String> = ids.try_iter().collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    Ok(())
}

/// The types that public signatures name.
#[test]
fn types_of_signatures_can_be_named() {
    let _strict: fn(&JsonSchema) -> Result<(), StrictFault> = JsonSchema::check_strict;
    let _foreign: fn(&toolgate::Value, usize) -> Result<JsonSchema, SchemaFault> = JsonSchema::from_foreign;
    let _deny: Result<DenyRead, DenyReadFault> = DenyRead::new(["*.pem"], None);
    let _cause: fn(&ToolRouter) -> &SharedCancelCause = ToolRouter::cancel_cause;
    #[cfg(feature = "agent")]
    let _plain = toolgate::agent::PlainHttp::default();
}

#[test]
fn after_close_the_directory_has_no_placeholders() -> Result<(), BuildFault> {
    let directory = testkit::visible_tempdir();
    let names = || {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let toolgate =
        Toolgate::at(directory.path()).with_tools().sandbox(SandboxPolicy::WorkspaceWrite).build()?;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // A closed one can be used again.
    for _ in 0..2 {
        let refused = toolgate.call("shell_command", json!({"command": "touch .claude/settings.json"}));
        assert!(!runtime.block_on(refused).success);
        assert!(names().contains(&".claude".to_owned()), "{:?}", names());
        runtime.block_on(toolgate.close());
        assert_eq!(names(), [""; 0]);
    }
    Ok(())
}

#[test]
fn a_command_gets_its_input_and_its_variables() {
    let directory = testkit::visible_tempdir();
    let command = script("cat; echo $GREETING; pwd; exit 3").input("one\n").env("GREETING", "hello");
    let output = run(directory.path(), &command).unwrap();
    let real = directory.path().canonicalize().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("one\nhello\n{}\n", real.display()));
    assert_eq!(output.exit.code(), 3);
    assert!(!matches!(output.enforcement, Enforcement::None { .. }), "{:?}", output.enforcement);
}

#[test]
fn a_read_only_sandbox_keeps_what_a_dangerous_command_would_remove() {
    let directory = testkit::visible_tempdir();
    let kept = directory.path().join("src/kept");
    std::fs::create_dir(directory.path().join("src")).unwrap();
    std::fs::write(&kept, "kept").unwrap();
    std::os::unix::fs::symlink("src", directory.path().join("link")).unwrap();
    let sandbox = Toolgate::at(directory.path()).sandbox(SandboxPolicy::ReadOnly).build_sandbox().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for dangerous in [
        "rm -rf src",
        "rm -f src/kept",
        "rm -rf ./src/..",
        "rm -rf link/kept",
        "find . -delete",
        "rm -rf src; mkdir src; echo evil > src/kept",
        "mv src gone",
        "truncate -s 0 src/kept",
        "dd if=/dev/zero of=src/kept count=1",
        "chmod -R 000 src",
        "shred -u src/kept",
        "git clean -fdx",
    ] {
        let command = SandboxCommand::new(["sh", "-c", dangerous]);
        let ran = runtime.block_on(sandbox.run_to_end(&command)).unwrap();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept", "{dangerous}: {ran:?}");
    }
    let ran = runtime.block_on(sandbox.run_to_end(&SandboxCommand::new(["rm", "-rf", "src"]))).unwrap();
    assert!(kept.exists() && ran.exit.code() != 0, "{ran:?}");
}

#[test]
fn limits_end_a_command() {
    let directory = testkit::visible_tempdir();
    let limit = Duration::from_millis(300);
    let slow = run(directory.path(), &script("sleep 60").time_limit(limit));
    assert!(matches!(slow, Err(SandboxFault::OneShot(OneShotFault::TimedOut(after))) if after == limit));
    let long = run(directory.path(), &script("yes").max_output_bytes(1000));
    assert!(matches!(long, Err(SandboxFault::OneShot(OneShotFault::TooMuch(1000)))));
}

#[test]
fn a_commit_by_a_command_lands_in_the_repository() {
    let directory = testkit::visible_tempdir();
    let git = "git -c user.name=a -c user.email=a@b.c";
    let made = run(directory.path(), &script("git init -q . && echo one > a.txt && ls -d .git")).unwrap();
    assert_eq!(made.exit.code(), 0, "{}", String::from_utf8_lossy(&made.stderr));
    let commit = format!("git add a.txt && {git} commit -qm first");
    let committed = run(directory.path(), &script(&commit)).unwrap();
    assert_eq!(committed.exit.code(), 0, "{}", String::from_utf8_lossy(&committed.stderr));
    let log = run(directory.path(), &script("git log --format=%s")).unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "first\n", "{:?}", committed.notes);
}
