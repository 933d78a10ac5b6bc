//! Tests of the record that calls over MCP leave: `log`, `stats`, `diff` and `replay` know them.

use serde_json::json;

use crate::server_process::{McpFixture, result_text};

/// Runs `toolgate` in the fixture, and returns its exit status and output.
fn toolgate(world: &McpFixture, args: &[&str]) -> (Option<i32>, String) {
    let done = world.command(args).output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn calls_of_a_client_are_in_the_log_with_their_changes() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    assert_eq!(server.call("read_file", &json!({ "path": "a.txt" }))["isError"], false);
    let done = server.call("exec_command", &json!({ "cmd": "echo three >> a.txt" }));
    assert_eq!(done["isError"], false, "{done}");
    let refused = server.call("exec_command", &json!({ "cmd": "rm -rf x" }));
    assert!(result_text(&refused).contains("no approver is available"), "{refused}");
    assert_eq!(server.disconnect().0, Some(0));

    let (_, sessions) = toolgate(&world, &["log"]);
    assert!(sessions.contains("(calls of test)") && sessions.contains("ended"), "{sessions}");
    let (_, log) = toolgate(&world, &["log", "last"]);
    for part in ["calls of test", "read_file", "echo three >> a.txt", "rm -rf x", "+three"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert_eq!(toolgate(&world, &["log", "verify", "last"]).0, Some(0));
    let (_, stats) = toolgate(&world, &["stats"]);
    assert!(stats.contains("exec_command"), "{stats}");
    let (_, diff) = toolgate(&world, &["diff"]);
    assert!(diff.contains("+three"), "{diff}");
    let (status, replayed) = toolgate(&world, &["replay", "last"]);
    assert!(status == Some(0) && replayed.contains("as it was before the session"), "{replayed}");
}

#[test]
fn a_server_without_calls_leaves_no_journal() {
    let world = McpFixture::new();
    let server = world.serve_initialized(&[], &json!({}));
    assert_eq!(server.disconnect().0, Some(0));
    let (_, sessions) = toolgate(&world, &["log", "--json"]);
    assert!(!sessions.contains("client"), "{sessions}");
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_made() {
    let world = McpFixture::new();
    let state = world.home.path().join(".local/state/toolgate");
    std::fs::create_dir_all(&state).unwrap();
    // A file where the directory of journals belongs: also root cannot write there.
    std::fs::write(state.join("sessions"), "").unwrap();
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let refused = server.call("exec_command", &json!({ "cmd": "touch made" }));
    assert!(refused["isError"] == true && !world.work.path().join("made").exists(), "{refused}");
    assert!(result_text(&refused).contains("the journal cannot be written"), "{refused}");
}
