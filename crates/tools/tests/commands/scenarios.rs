//! Tests two workflows of an agent: a web server in the background, and a failing build that is then fixed.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{CommandHarness, eventually, output_text, python_path};

pub(crate) fn a_web_server_in_the_background() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("site/hello.txt", "hello from the server\n");
    let serve = format!("exec {} -u -m http.server 0 --bind 127.0.0.1", python_path());
    let started = bench.start_script(&serve, &json!({"workdir": "site"}));
    let id = crate::harness::session_id(&started).unwrap_or_else(|| panic!("{}", started.joined_text()));
    let mut said = output_text(&started);
    for _ in 0..10 {
        if said.contains(" port ") {
            break;
        }
        said.push_str(&output_text(&bench.call("write_stdin", &json!({"session_id": id}))));
    }
    let port =
        said.split_once(" port ").unwrap_or_else(|| panic!("{said}")).1.split(' ').next().unwrap().to_owned();
    let fetch = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /hello.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    );
    let page = bench.run_script(&fetch);
    assert!(output_text(&page).ends_with("\n\nhello from the server\n"), "{}", output_text(&page));
    // The server has logged the request, and the log line waits for the next call.
    eventually("a line in its log", || bench.find_session(id).pending_output() > 0);
    let listed = bench.call_text("list_sessions", &json!({}));
    assert!(listed.starts_with(&format!("1 session:\n{id}: running for T s, ")), "{listed}");
    let killed = bench.call("kill_session", &json!({"session_id": id}));
    assert!(output_text(&killed).contains("\"GET /hello.txt HTTP/1.0\" 200"), "{}", killed.joined_text());
    assert_eq!(killed.facts.exit_code, Some(143));
    let refused = bench.run_script(&fetch);
    assert!(output_text(&refused).contains("Connection refused"), "{}", output_text(&refused));
    assert_snapshot!(bench.call_text("list_sessions", &json!({})), @"No sessions.");
}

pub(crate) fn a_build_that_fails_and_then_does_not() {
    let bench = CommandHarness::new();
    bench.workspace.write_file(
        "check.sh",
        "grep -q good input || { echo 'input is not good' >&2; exit 1; }; echo fine\n",
    );
    bench.workspace.write_file("input", "bad\n");
    let answer = bench.call("shell_command", &json!({"command": "bash check.sh"}));
    assert_eq!((answer.success, answer.facts.exit_code), (false, Some(1)));
    assert_eq!(output_text(&answer), "input is not good\n");
    assert!(bench.call("shell", &json!({"command": ["sed", "-i", "s/bad/good/", "input"]})).success);
    let answer = bench.call("shell_command", &json!({"command": "bash check.sh"}));
    assert_eq!((answer.success, output_text(&answer).as_str()), (true, "fine\n"));
}
