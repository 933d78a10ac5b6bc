//! Tests of unattended runs: exit statuses, an empty prompt, and a home that cannot be written.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

const CALL: &str = r#"{"type": "function_call", "name": "read_file", "arguments": {"path": "a.txt"}}"#;
const REFUSED: &str =
    r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "rm -rf src"}}"#;

fn run_script(home: &TestHome, workspace: &TestWorkspace, items: &[&str]) -> CommandRun {
    let script = home.path().join("script.jsonl");
    fs::write(&script, format!("{{\"items\": [{}]}}\n", items.join(","))).unwrap();
    home.run(&workspace.path(), &["run", "--json", "--script", script.to_str().unwrap(), "go"], "")
}

#[test]
fn a_run_whose_calls_were_all_refused_says_so() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\n");
    let all = run_script(&home, &workspace, &[REFUSED, REFUSED]);
    assert_eq!(all.code, Some(4), "{}{}", all.out, all.err);
    assert!(
        all.err.contains("every call was refused; --sandbox, --approval and rules allow more"),
        "{}",
        all.err
    );
    let last = all.out.lines().last().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["why"], &last["status"]), (&Value::from("done"), &Value::from(4)), "{last}");
    assert!(last["detail"].as_str().unwrap().starts_with("every call was refused"), "{last}");
    for items in [&[REFUSED, CALL][..], &[CALL], &[r#"{"type": "message", "text": "nothing to do"}"#]] {
        let ran = run_script(&home, &workspace, items);
        assert_eq!(ran.code, Some(0), "{items:?}: {}{}", ran.out, ran.err);
        assert!(!ran.err.contains("every call"), "{}", ran.err);
        assert!(!ran.out.contains(r#""status""#), "{}", ran.out);
    }
}

#[test]
fn without_a_terminal_no_command_of_the_prompt_is_named() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let seq =
        r#"{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "seq 20"}}]}"#;
    workspace.write_file("script.jsonl", seq);
    let ran = home.run(&workspace.path(), &["run", "--script", "script.jsonl", "go"], "");
    let said = ran.out + &ran.err;
    assert!(said.contains("more above") && !said.contains("/output"), "{said}");
}

/// Starts a run whose script is `line`, and reads its events up to one that contains `text`.
fn start_until(
    home: &TestHome,
    workspace: &TestWorkspace,
    (line, more): (&str, &[&str]),
    text: &str,
) -> (Child, BufReader<ChildStdout>) {
    let script = home.path().join("slow.jsonl");
    fs::write(&script, line).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--json", "--script", script.to_str().unwrap(), "go"])
        .args(more)
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "no `{text}`");
    }
    (child, events)
}

fn send_signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_signal_decides_the_exit_status_and_ends_the_events() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let slow = r#"{"items": [{"type": "message", "text": "slow"}], "delay_ms": 600000}"#;
    for (signal, status, cause) in [
        ("TERM", 143, "the program was told to end (SIGTERM)"),
        ("HUP", 129, "the program was told to end (SIGHUP)"),
        ("INT", 130, "the user stopped it"),
    ] {
        let (mut child, mut events) = start_until(&home, &workspace, (slow, &[]), r#""type":"request""#);
        send_signal(&child, signal);
        let mut rest = String::new();
        events.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status), "{signal}");
        let last: Value = serde_json::from_str(rest.lines().last().unwrap_or_default()).unwrap();
        let told = [&last["type"], &last["why"], &last["detail"]];
        assert_eq!(told, ["end", "interrupted", cause], "{signal}: {rest}");
    }
}

#[test]
fn answers_and_the_log_name_what_ended_the_run() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let sleeps = r#"{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "sleep 600", "yield_time_ms": 30000}}]}"#;
    let done = r#"{"items": [{"type": "message", "text": "done"}]}"#;
    let end_of = |more: &[&str], line: &str, signal: Option<&str>| {
        let until = if signal.is_some() { r#""event":"started""# } else { r#""type":"request""# };
        let (mut child, mut events) = start_until(&home, &workspace, (line, more), until);
        if let Some(signal) = signal {
            send_signal(&child, signal);
        }
        let mut rest = String::new();
        events.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        let answer = rest.lines().find(|line| line.contains(r#""type":"answer""#)).unwrap_or_default();
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let listed = home.run(&workspace.path(), &["log", "--json", "-n", "1"], "").out;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let first = answer["text"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        let first = first.split_once(": ").map_or(first.clone(), |(_, cause)| cause.to_owned());
        (first, listed["state"].as_str().unwrap().to_owned(), listed["why"].as_str().unwrap().to_owned())
    };
    let words = |end: (&str, &str, &str)| (end.0.to_owned(), end.1.to_owned(), end.2.to_owned());
    let told = "the program was told to end (SIGTERM)";
    assert_eq!(end_of(&[], sleeps, Some("TERM")), words((told, "interrupted", told)));
    let late = "the time limit of the run was reached";
    assert_eq!(end_of(&["--max-time", "1s"], sleeps, None), words((late, "limit", "out_of_budget")));
    assert_eq!(end_of(&[], done, None), words(("", "ended", "done")));
    let (first, state, why) = end_of(&[], sleeps, Some("INT"));
    assert!(first.starts_with("aborted by the user after "), "{first}");
    assert_eq!((&*state, &*why), ("interrupted", "the user stopped it"));
}

/// A sandbox inside another one cannot create namespaces, as in most containers.
#[test]
fn a_run_whose_commands_cannot_be_confined_says_so() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let command = r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "true"}}"#;
    workspace.write_file("a.txt", "one\n");
    // A file tool works, and does not hide that commands do not.
    workspace.write_file("script.jsonl", format!("{{\"items\": [{CALL}, {command}]}}\n"));
    let toolgate = env!("CARGO_BIN_EXE_toolgate");
    let program = std::path::Path::new(toolgate).parent().unwrap().to_str().unwrap();
    let outer = ["sandbox", "--read-root", program, "--env", "XDG_STATE_HOME=/tmp/state", "--", toolgate];
    let run = |more: &[&str]| {
        let inner = ["run", "--json", "--script", "script.jsonl", "go"];
        home.run(&workspace.path(), &[&outer[..], &inner, more].concat(), "")
    };
    let refused = run(&[]);
    assert_eq!(refused.code, Some(4), "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("hint: no command could be confined"), "{}", refused.err);
    let weaker = run(&["--require", "landlock"]);
    assert_eq!(weaker.code, Some(0), "{}{}", weaker.out, weaker.err);
}

#[test]
fn output_that_is_lost_is_an_error() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("script.jsonl", r#"{"items": [{"type": "message", "text": "hello"}]}"#);
    for format in [&["--json"][..], &[]] {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args([&["run"], format, &["--script", "script.jsonl", "go"]].concat())
            .current_dir(workspace.path())
            .env_clear()
            .env("HOME", home.path())
            .stdin(std::process::Stdio::null())
            .stdout(fs::File::options().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{format:?}: {err}");
        assert!(err.contains("error: the output could not be written: No space left"), "{format:?}: {err}");
    }
}

#[test]
fn an_empty_prompt_is_refused() {
    let home = TestHome::new();
    for (prompt, stdin) in [("", ""), (" \n", ""), ("-", ""), ("-", "\n")] {
        let ran = home.run(home.path(), &["run", "--model", "m", prompt], stdin);
        assert_eq!(ran.code, Some(2), "{prompt:?} {stdin:?}");
        assert!(ran.err.starts_with("error: the prompt is empty\n"), "{}", ran.err);
    }
}

#[test]
fn a_home_that_cannot_be_written_is_reported_with_a_way_out() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\n");
    // Root may write everywhere, but not below a file.
    fs::write(home.path().join(".local"), "").unwrap();
    let told = |args: &[&str], stdin: &str| {
        let ran = home.run(&workspace.path(), args, stdin);
        (ran.code, ran.err.replace(home.path().to_str().unwrap(), "~"))
    };
    let hint = "hint: set XDG_STATE_HOME or TOOLGATE_HOME to a directory that you can write";
    let ran = run_script(&home, &workspace, &[CALL]);
    assert!(ran.code == Some(1) && ran.err.contains(hint), "{}", ran.err);
    let patch = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** End Patch\n";
    let (code, err) = told(&["patch", "-"], patch);
    assert!(code == Some(2) && err.contains(hint), "{err}");
    let (code, err) = told(&["mcp", "--http", "127.0.0.1:0"], "");
    assert!(code == Some(2) && err.contains(&format!("{hint}, or use --token-env")), "{err}");
    for server in ["mcp", "serve", "acp"] {
        let (code, err) = told(&[server], "");
        assert_eq!(code, Some(0), "{server}: {err}");
        let warning = "warning: sessions cannot be recorded in `~/.local/state/toolgate/sessions`, so calls are refused: ";
        assert!(err.contains(warning) && err.contains(hint), "{server}: {err}");
    }
    // Reading needs no state.
    for args in [&["call", "read_file", "--json", r#"{"path": "a.txt"}"#][..], &["tools"], &["config"]] {
        assert_eq!(told(args, ""), (Some(0), String::new()), "{args:?}");
    }
    let state = home.path().join("elsewhere");
    let script = home.path().join("script.jsonl");
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["run", "--script", script.to_str().unwrap(), "go"])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", &state)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fs::read_dir(state.join("toolgate/sessions")).unwrap().count(), 1);
}

/// Runs `toolgate doctor --json`, and returns its status, its report and its failed checks with their fixes.
fn doctor(variables: &[(&str, &str)], cwd: &std::path::Path) -> (Option<i32>, Value, Vec<String>) {
    let run = |format: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_toolgate"));
        command.arg("doctor").args(format).current_dir(cwd).env_clear().envs(variables.iter().copied());
        let ran = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert_eq!(String::from_utf8(ran.stderr).unwrap(), "", "{variables:?}");
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    let ((status, json), (text_status, text)) = (run(&["--json"]), run(&[]));
    assert_eq!(status, text_status, "{variables:?}: {text}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let failed: Vec<String> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["failed"] == true)
        .map(|check| {
            assert_eq!(check["ok"], false);
            format!("{}: {}; {}", check["name"].as_str().unwrap(), check["text"], check["fix"])
        })
        .collect();
    // The verdict is first in the text.
    assert_eq!(text.starts_with("No session can start here:\n"), !failed.is_empty(), "{text}");
    assert_eq!(report["can_start"], failed.is_empty(), "{report}");
    (status, report, failed)
}

#[test]
fn doctor_reports_each_unusable_directory_as_a_failed_check() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let (at, cwd) = (home.path().to_str().unwrap(), workspace.path());
    // Root may write everywhere, but not below a file.
    fs::write(home.path().join("file"), "").unwrap();
    let below_file = format!("{at}/file/x");
    let good = doctor(&[("HOME", at)], &cwd);
    assert_eq!((good.0, good.2), (Some(0), Vec::new()), "{}", good.1);
    for (variable, value, expected) in [
        ("TMPDIR", &*below_file, Expected { status: 125, name: "temporary", fix: "TMPDIR", full: false }),
        (
            "XDG_STATE_HOME",
            &below_file,
            Expected { status: 1, name: "state", fix: "TOOLGATE_HOME", full: true },
        ),
        ("TOOLGATE_HOME", "relative", Expected { status: 2, name: "config", fix: "", full: true }),
    ] {
        let (status, report, failed) = doctor(&[("HOME", at), (variable, value)], &cwd);
        assert_eq!(status, Some(expected.status), "{variable}: {report}");
        assert_eq!(report["full"], expected.full, "{variable}: {report}");
        let is_named = |failed: &String| failed.starts_with(expected.name) && failed.contains(expected.fix);
        assert!(failed.iter().any(is_named), "{variable}: {failed:?}");
    }
    // All faults are in one report.
    workspace.write_file("toolgate.toml", "[confinement]\nrequire = \"nothing\"\n");
    let (status, _, failed) = doctor(&[("HOME", at), ("XDG_STATE_HOME", &below_file)], &cwd);
    assert_eq!((status, failed.len()), (Some(2), 2), "{failed:?}");
    assert!(failed[0].contains("`confinement.require` belongs in your own file"), "{failed:?}");
}

struct Expected {
    status: i32,
    name: &'static str,
    fix: &'static str,
    full: bool,
}

#[test]
fn a_wrong_limit_is_one_clear_sentence() {
    let home = TestHome::new();
    for (args, value, expected) in [
        (&["run", "--max-time"][..], "-5s", "a time such as `90s`, `10m` or `1h30m`"),
        (&["run", "--max-time"], "soon", "a time such as `90s`, `10m` or `1h30m`"),
        (&["run", "--max-tokens"], "-5", "a whole number of at least 1"),
        (&["run", "--max-tokens"], "2M", "a whole number of at least 1"),
        (&["run", "--max-cost"], "-0.5", "more than 0 dollars, and at most a million"),
        (&["run", "--max-turns"], "-1", "a whole number of at least 1"),
        (&["run", "--context"], "-1", "a whole number of at least 1000"),
        (&["log", "prune", "--keep"], "-1", "a whole number of at least 0"),
        (&["log", "prune", "--older-than"], "-1d", "an age such as `12h`, `30d` or `8w`"),
    ] {
        let ran = home.run(home.path(), &[args, &[value]].concat(), "");
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        let lines: Vec<&str> = ran.err.lines().collect();
        let begins = format!("error: invalid value '{value}' for '{} <", args[args.len() - 1]);
        assert!(lines[0].starts_with(&begins), "{}", ran.err);
        assert!(lines[0].ends_with(&format!(": expected {expected}")), "{}", ran.err);
        assert_eq!(lines[1..], ["", "For more information, try '--help'."], "{}", ran.err);
    }
}

/// Serves chat completions that call a tool for ever and report no usage. Returns the address.
fn serve_without_usage() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"ID","type":"function","function":{"name":"list_dir","arguments":"{\"path\":\".\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let (mut reader, mut length, mut line) =
                (BufReader::new(stream.try_clone().unwrap()), 0, String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
                    length = bytes.trim().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
            let event = call.replace("ID", &format!("c{number}"));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            write!(stream, "{head}data: {event}\n\ndata: [DONE]\n\n").unwrap();
        }
    });
    address
}

#[test]
fn a_budget_of_tokens_holds_for_a_server_that_reports_none() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let url = format!("http://{}/v1", serve_without_usage());
    let model = ["--model", "m", "--wire", "chat", "--base-url", &url];
    let limits = ["--max-tokens", "5000", "--max-turns", "20"];
    let ran = home.run(&workspace.path(), &[&["run", "--json"][..], &model, &limits, &["go"]].concat(), "");
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("the budget of 5000 tokens is used up"), "{}", ran.out);
    assert_eq!(ran.out.matches("the budget counts an estimate, 4 bytes a token").count(), 1, "{}", ran.out);
}

#[test]
fn an_answer_has_the_refusals_of_the_sandbox() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let connects = r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "getent hosts packages.example.com; true"}}"#;
    let ran = run_script(
        &home,
        &workspace,
        &[
            connects,
            r#"{"type": "function_call", "name": "read_file", "arguments": {"path": "/proc/1/environ"}}"#,
        ],
    );
    let answers: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "answer")
        .collect();
    let refusals = |answer: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let denials = answer["denials"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert!(denials.iter().all(|denial| denial["message"].is_string()), "{answer}");
        denials.iter().map(|denial| (text(&denial["kind"]), text(&denial["flag"]))).collect()
    };
    let connection = ("may_not_connect".to_owned(), "--host packages.example.com".to_owned());
    assert!(refusals(&answers[0]).contains(&connection), "{}", answers[0]);
    assert_eq!(refusals(&answers[1]), [("outside".to_owned(), "--read-root /proc/1".to_owned())]);
    let allowed = run_script(
        &home,
        &workspace,
        &[r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "true"}}"#],
    );
    assert!(
        allowed.out.contains(r#""type":"answer""#) && !allowed.out.contains("denials"),
        "{}",
        allowed.out
    );
}
