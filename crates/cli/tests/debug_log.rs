//! Tests of `TOOLGATE_LOG=debug`: it prints the steps of docs/follow-a-call.md, in their order.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

use std::process::Command;

use testkit::TestWorkspace;

/// Runs one call with the debug log and returns the messages in it.
fn logged_steps(workspace: &TestWorkspace, tool: &str, arguments: &str) -> Vec<String> {
    testkit::restore_signals();
    let home = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["call", tool, "--sandbox", "workspace-write", "--approval", "never", "--json", arguments])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("TOOLGATE_LOG", "debug")
        .output()
        .unwrap();
    let log = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{log}");
    log.lines().filter_map(|line| line.split(": ").last()).map(str::to_owned).collect()
}

#[track_caller]
fn assert_in_order(steps: &[String], expected: &[&str]) {
    let mut rest = steps.iter();
    for step in expected {
        assert!(rest.any(|found| found.starts_with(step)), "no `{step}` in its place:\n{}", steps.join("\n"));
    }
}

/// The steps of every call, up to its own work.
const BEFORE: [&str; 6] = [
    "found the tool",
    "parsed the arguments and stated the intent",
    "joined the lane queue",
    "left the lane queue",
    "the gate decided",
    "runs the tool with its permit",
];

#[test]
fn reading_a_file_logs_each_step() {
    let workspace = TestWorkspace::new();
    workspace.write_file("a.txt", "one\n");
    let steps = logged_steps(&workspace, "read_file", r#"{"path": "a.txt"}"#);
    assert_in_order(&steps, &[&BEFORE[..], &["looked up a path beneath its root", "answered"]].concat());
}

#[test]
fn a_confined_command_logs_each_step() {
    let steps = logged_steps(&TestWorkspace::new(), "shell_command", r#"{"command": "echo hi > a"}"#);
    let command = [
        "planned the mounts and filters of a cell",
        "created a cell",
        "starts a command",
        "sent the order to a supervisor",
        "all processes of the command ended",
        "reports the command",
        "answered",
    ];
    assert_in_order(&steps, &[&BEFORE[..], &command].concat());
}

#[test]
fn a_patch_logs_each_step() {
    let workspace = TestWorkspace::new();
    workspace.write_file("a.txt", "one\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    let arguments = serde_json::json!({ "input": patch }).to_string();
    let steps = logged_steps(&workspace, "apply_patch", &arguments);
    assert_in_order(
        &steps,
        &["found the tool", "parsed a patch", "parsed the arguments", "the gate decided"],
    );
    assert_in_order(
        &steps,
        &[
            "runs the tool with its permit",
            "planned the changes of a patch",
            "committed all files",
            "answered",
        ],
    );
}
