//! Tests of process output as events of `toolgate pipe`, and of resource usage in `pipe` and `call`.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

mod support;

use serde_json::{Value, json};
use support::TestHome;
use testkit::TestWorkspace;

const ALLOWED: [&str; 2] = ["--sandbox", "danger-full-access"];

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn all_output_of_a_process_comes_as_events_before_its_answer() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let script = json!({"command": "seq 1 100000; echo oops >&2"}).to_string();
    let call = json!({"type": "function_call", "call_id": "1", "name": "shell_command", "arguments": script});
    let args = [&["pipe", "--events"], &ALLOWED[..]].concat();
    let ran = home.run(&workspace.path(), &args, &call.to_string());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines = lines(&ran.out);
    let written = |stream: &str| -> String {
        lines
            .iter()
            .filter(|line| line["stream"] == stream)
            .map(|line| line["text"].as_str().unwrap())
            .collect()
    };
    let all: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(written("stdout") == all, "{} of {} bytes", written("stdout").len(), all.len());
    assert_eq!(written("stderr"), "oops\n");
    let [.., finished, answer] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(finished["event"], "finished");
    assert_eq!(finished["usage"]["stdout_bytes"], all.len());
    assert_eq!(finished["usage"]["stderr_bytes"], 5);
    assert_eq!(answer["type"], "function_call_output");
}

#[test]
fn a_call_says_what_its_process_took() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let script = json!({"command": "printf 12345"}).to_string();
    let args = [&["call", "shell_command", "--output", "json", "--json", &script], &ALLOWED[..]].concat();
    let ran = home.run(&workspace.path(), &args, "");
    let usage = &lines(&ran.out)[0]["usage"];
    assert_eq!(usage["stdout_bytes"], 5);
    assert_eq!(usage["stderr_bytes"], 0);
    assert!(usage["peak_memory_bytes"].as_u64().unwrap() > 0, "{usage}");
    for time in ["wall_ms", "user_ms", "system_ms"] {
        assert!(usage[time].is_f64(), "{time} in {usage}");
    }
}
