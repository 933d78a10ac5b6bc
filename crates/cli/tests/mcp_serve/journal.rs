//! Tests of the record that calls over MCP leave: `log`, `stats`, `diff` and `replay` know them.

use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::server_process::{McpFixture, result_text, wait_until_runs};

const TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keep_working/terminal.py");

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
    assert!(sessions.contains("test: read_file a.txt") && sessions.contains("ended"), "{sessions}");
    let (_, log) = toolgate(&world, &["log", "last"]);
    for part in ["calls of test", "read_file", "echo three >> a.txt", "rm -rf x", "+three"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert_eq!(toolgate(&world, &["log", "verify", "last"]).0, Some(0));
    let (_, stats) = toolgate(&world, &["stats"]);
    assert!(stats.contains("exec_command"), "{stats}");
    let (_, diff) = toolgate(&world, &["diff"]);
    assert!(
        diff.starts_with("diff --git") && diff.contains("+three"),
        "what a program reads is a diff: {diff}"
    );
    let mut terminal = Command::new("python3");
    terminal.args([TERMINAL, "0", env!("CARGO_BIN_EXE_toolgate"), "diff"]).current_dir(world.work.path());
    terminal.env("HOME", world.home.path()).env("TERM", "xterm").env_remove("TOOLGATE_HOME");
    terminal.env_remove("XDG_STATE_HOME").env_remove("NO_COLOR");
    let shown = String::from_utf8(terminal.output().unwrap().stdout).unwrap();
    let (origin, rest) = shown.split_once('\n').unwrap();
    assert!(origin.starts_with("\u{1b}[2msession ") && origin.contains(" UTC: calls of test"), "{shown}");
    assert!(rest.contains("+three"), "{shown}");
    let (status, replayed) = toolgate(&world, &["replay", "last"]);
    assert!(status == Some(0) && replayed.contains("as it was before the session"), "{replayed}");
}

#[test]
fn a_server_that_is_killed_after_its_answer_has_stored_its_changes() {
    let world = McpFixture::new();
    let run = |cmd: &str, from: usize| {
        let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
        for (at, cmd) in cmd.split("; ").enumerate() {
            let done = server.call("exec_command", &json!({ "cmd": cmd }));
            assert_eq!(done["isError"], false, "{from} {at}: {done}");
        }
        server.send_signal("KILL");
        let (status, diff) = toolgate(&world, &["diff"]);
        assert_eq!(status, Some(0));
        diff
    };
    let first = run("echo first >> a.txt", 1);
    assert!(first.contains("+first"), "{first}");
    // All calls of a session are one group.
    let second = run("echo second >> a.txt; echo new > b.txt; ls", 2);
    assert!(second.contains("+second") && second.contains("+new") && !second.contains("+first"), "{second}");
    // What was made and removed again leaves no older diff.
    let none = run("echo third > c.txt; rm c.txt", 3);
    assert!(none.contains("changed nothing"), "{none}");
}

#[test]
fn a_server_that_is_killed_leaves_no_placeholder_directories() {
    let world = McpFixture::new();
    let hidden = || -> Vec<String> {
        let entries = std::fs::read_dir(world.work.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with('.')).collect()
    };
    for _ in 0..3 {
        let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
        assert_eq!(server.call("exec_command", &json!({ "cmd": "true" }))["isError"], false);
        assert!(hidden().contains(&".claude".to_owned()), "{:?}", hidden());
        server.send_signal("KILL");
        // The spawner outlives the server by a moment.
        let until = Instant::now() + std::time::Duration::from_secs(1);
        while !hidden().is_empty() {
            assert!(Instant::now() < until, "{:?}", hidden());
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_diff_says_that_a_newer_session_was_killed_during_a_call() {
    let world = McpFixture::new();
    let flags = ["--sandbox", "workspace-write"];
    let mut server = world.serve_initialized(&flags, &json!({}));
    server.call("exec_command", &json!({ "cmd": "echo first >> a.txt" }));
    server.disconnect();
    let mut server = world.serve_initialized(&flags, &json!({}));
    let marker = format!("34{}", std::process::id());
    let cmd = format!("echo second >> a.txt; sleep {marker}");
    let arguments = json!({ "cmd": cmd, "yield_time_ms": 30000 });
    server.request("tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
    wait_until_runs(&marker, true);
    let (_, running) = toolgate(&world, &["diff"]);
    assert!(running.contains("+first") && running.contains("its call is not over yet"), "{running}");
    server.send_signal("KILL");
    let (_, diff) = toolgate(&world, &["diff"]);
    assert!(diff.contains("was killed while a call ran"), "{diff}");
    let json: Value = serde_json::from_str(&toolgate(&world, &["diff", "--json"]).1).unwrap();
    assert_eq!(json["cut_off_sessions"].as_array().unwrap().len(), 1, "{json}");
    // A newer diff is the newest again.
    let mut server = world.serve_initialized(&flags, &json!({}));
    server.call("exec_command", &json!({ "cmd": "echo third >> a.txt" }));
    server.send_signal("KILL");
    let (_, diff) = toolgate(&world, &["diff"]);
    assert!(diff.contains("+third") && !diff.contains("was killed"), "{diff}");
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

#[test]
fn a_call_that_the_client_stopped_has_its_true_duration() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let marker = format!("33{}", std::process::id());
    let id = server.request(
        "tools/call",
        &json!({
            "name": "exec_command",
            "arguments": { "cmd": format!("echo begun; sleep {marker}"), "yield_time_ms": 30000 },
            "_meta": { "progressToken": "how far" },
        }),
    );
    assert_eq!(server.next_message()["params"]["message"], "begun\n");
    let begun = Instant::now();
    wait_until_runs(&marker, true);
    let ran = begun.elapsed();
    server.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    wait_until_runs(&marker, false);
    assert_eq!(server.disconnect().0, Some(0));
    let (_, lines) = toolgate(&world, &["log", "last", "--json"]);
    let entries = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answers: Vec<Value> = entries.filter(|entry| entry["kind"] == "answered").collect();
    let [answer] = answers.as_slice() else { panic!("{lines}") };
    assert_eq!((&answer["text"], &answer["error"]), (&json!("stopped by the client"), &json!("cancelled")));
    let took = u128::from(answer["took_ms"].as_u64().unwrap());
    assert!(took > 0 && took >= ran.as_millis(), "{answer}");
    let (_, log) = toolgate(&world, &["log", "last"]);
    assert!(log.contains("stopped by the client"), "{log}");
}
