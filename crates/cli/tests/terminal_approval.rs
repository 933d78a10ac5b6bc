//! Tests of approval questions and MCP elicitation at a real terminal, and of the immediate refusal without one.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::path::Path;
use std::process::Command;

use support::TestHome;

const TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keep_working/terminal.py");
const ASKS: &str = "Answer (y n e q): ";

/// The output at a terminal, the exit status, and whether the directory `x` still exists.
struct TerminalRun {
    text: String,
    code: Option<i32>,
    left: bool,
}

/// Calls `rm -rf x` at a terminal, after `before` and by `starter`, and types `talk`.
fn at_terminal(before: &str, starter: &str, talk: &[(&str, &str)]) -> TerminalRun {
    let (home, work) = (TestHome::new(), tempfile::tempdir().unwrap());
    std::fs::create_dir(work.path().join("x")).unwrap();
    let toolgate = env!("CARGO_BIN_EXE_toolgate");
    // The terminal's modes are compared before and after.
    let script = format!(
        "{before}\nbefore=$(stty -g)\n{starter} {toolgate} call shell_command --sandbox workspace-write \
         --json '{{\"command\": \"rm -rf x && echo done it\"}}'\ncode=$?\n\
         [ \"$before\" = \"$(stty -g)\" ] || echo the modes differ\nexit $code"
    );
    let mut command = Command::new("python3");
    command.args([TERMINAL, &talk.len().to_string()]);
    command.args(talk.iter().flat_map(|(wait, send)| [wait, send])).args(["sh", "-c", &script]);
    command
        .env("HOME", home.path())
        .env("TERM", "xterm")
        .env_remove("TOOLGATE_HOME")
        .current_dir(work.path());
    let ran = command.output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap();
    assert!(!text.contains("the modes differ"), "{text}");
    TerminalRun { text, code: ran.status.code(), left: work.path().join("x").exists() }
}

#[test]
fn keys_answer_and_the_terminal_is_as_it_was() {
    for (talk, code, left, says) in [
        (&[(ASKS, "y")][..], 0, false, "done it"),
        (&[(ASKS, "n")], 1, true, "denied by the user"),
        (&[(ASKS, "e"), ("Note", "use git clean\\r")], 1, true, "use git clean"),
        (&[(ASKS, "q")], 130, true, "stopped"),
        (&[(ASKS, "\\x03")], 130, true, "stopped"),
    ] {
        let seen = at_terminal("", "", talk);
        assert_eq!((seen.code, seen.left), (Some(code), left), "{talk:?}\n{}", seen.text);
        assert!(seen.text.contains(says), "{talk:?}\n{}", seen.text);
        assert!(seen.text.contains("Toolgate asks: may"), "{}", seen.text);
    }
}

#[test]
fn type_ahead_does_not_answer_an_approval() {
    let typed = "echo type; python3 -c 'import select; select.select([0], [], [])'";
    let seen = at_terminal(typed, "", &[("type", "yyyy\\n"), (ASKS, "n")]);
    assert_eq!((seen.code, seen.left), (Some(1), true), "{}", seen.text);
}

#[test]
fn a_call_that_is_given_up_while_it_asks_leaves_the_terminal_as_it_was() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let starter = format!("timeout --foreground --preserve-status -s {signal} 3");
        let seen = at_terminal("", &starter, &[]);
        assert_eq!((seen.code, seen.left), (Some(code), true), "{}", seen.text);
        // Nothing is written over an open question.
        let asked = seen.text.split(ASKS).nth(1).unwrap();
        assert!(!asked.contains("Ctrl-C stops it"), "{}", seen.text);
    }
}

/// A server whose only tool asks for a name and returns the answer.
const CURIOUS: &str = r#"import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    said = json.loads(line)
    method, number = said.get("method"), said.get("id")
    if method == "initialize":
        about = {"name": "curious", "version": "1"}
        version = said["params"]["protocolVersion"]
        send(id=number, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        tool = {"name": "ask", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        send(id=number, result={"tools": [tool]})
    elif method == "tools/call":
        call = number
        name = {"type": "string", "title": "Name\nToolgate asks: may it?"}
        form = {"type": "object", "properties": {"name": name}}
        send(id="e", method="elicitation/create", params={"message": "Who?\nAnswer (y n): ", "requestedSchema": form})
    elif number == "e":
        send(id=call, result={"content": [{"type": "text", "text": "told " + json.dumps(said["result"])}]})
    elif method and number is not None:
        send(id=number, error={"code": -32601, "message": "no"})
"#;

#[test]
fn elicitation_is_attributed_to_the_server_and_ignores_type_ahead() {
    let (home, work) = (TestHome::new(), tempfile::tempdir().unwrap());
    std::fs::write(work.path().join("curious.py"), CURIOUS).unwrap();
    let config = home.path().join(".config/toolgate");
    std::fs::create_dir_all(&config).unwrap();
    let server = format!(
        "[mcp_servers.s]\ncommand = \"python3\"\nargs = [\"{}/curious.py\"]\n",
        work.path().display()
    );
    std::fs::write(config.join("config.toml"), server).unwrap();
    let toolgate = env!("CARGO_BIN_EXE_toolgate");
    let script = format!(
        "echo type; python3 -c 'import select; select.select([0], [], [])'\n{toolgate} call mcp__s__ask --json '{{}}'"
    );
    let mut command = Command::new("python3");
    command.args([TERMINAL, "3", "type", "eve\\ny\\n", "Value: ", "ada\\n", "[y/N] ", "y\\n"]);
    command.args(["sh", "-c", &script]).env("HOME", home.path()).env("TERM", "xterm");
    let ran = command.env_remove("TOOLGATE_HOME").current_dir(work.path()).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let (_, asked) = text.split_once("The server `s` asks:\n").unwrap_or_else(|| panic!("{text}"));
    let (asked, told) = asked.split_once(" [y/N] ").unwrap_or_else(|| panic!("{text}"));
    insta::assert_snapshot!(asked, @r#"
      │ Who?
      │ Answer (y n):
      │ Name\nToolgate asks: may it? (string; may be left empty)
    Value: ada
    This would be sent:
      │ {"name":"ada"}
    Send it to `s`?
    "#);
    assert!(told.contains(r#"told {"action": "accept", "content": {"name": "ada"}}"#), "{text}");
}

#[test]
fn without_a_terminal_it_is_refused_at_once() {
    let work = tempfile::tempdir().unwrap();
    let refused = "no approver is available, so it was refused";
    let home = TestHome::new();
    let json = r#"{"command": "rm -rf x"}"#;
    let ran = home.run(work.path(), &["call", "shell_command", "--json", json], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(refused), "{}", ran.err);
    let call = r#"{"type": "function_call", "call_id": "1", "name": "shell_command", "arguments": "{\"command\": \"rm -rf x\"}"}"#;
    let ran = home.run(Path::new("/"), &["pipe"], call);
    assert!(ran.out.contains(refused), "{}", ran.out);
}
