//! Tests that an MCP server's tools are reached by every name, in every command, and that no name bypasses a rule.
//!
//! The names are `server/tool`, `mcp_call_tool` and `mcp_read_resource`.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::{TestWorkspace, python};

/// A server in plain Python: `look` declares itself read-only, `change` declares nothing, `slow` takes its time.
const SERVER: &str = r#"
import json, sys, time
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "look", "description": "Looks.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "slow", "description": "Takes long.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "change", "description": "Changes.", "inputSchema": TEXT},
    {"name": "broken", "description": "Has no schema.", "inputSchema": 7},
]
for line in sys.stdin:
    asked = json.loads(line)
    method, result = asked.get("method"), None
    if method == "initialize":
        has = {"tools": {}, "resources": {}}
        result = {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        name, text = asked["params"]["name"], asked["params"].get("arguments", {}).get("text", "")
        if name == "slow":
            time.sleep(60)
        said = f"{name}: {text}"
        result = {"content": [{"type": "text", "text": said}], "structuredContent": {"content": said}}
    elif method == "resources/list":
        result = {"resources": [{"uri": "x://y", "name": "a page"}]}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": [{"uriTemplate": "x://{name}", "name": "a shape"}]}
    elif method == "resources/read":
        result = {"contents": [{"uri": asked["params"]["uri"], "text": "what there is"}]}
    if "id" in asked:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **({"error": error} if result is None else {"result": result})}), flush=True)
"#;

struct ServerNamesFixture {
    home: TestHome,
    w: TestWorkspace,
}

impl ServerNamesFixture {
    /// Configures the server as the founding documents do, and `more`.
    fn new(more: &str) -> Self {
        let desk = Self { home: TestHome::new(), w: TestWorkspace::new() };
        desk.w.write_file("server.py", SERVER);
        let python = json!(python::interpreter().to_str().unwrap());
        let server = format!(
            "[mcp_servers.filesystem]\ncommand = {python}\nargs = [\"server.py\"]\nenv = {{ \"MCP_ROOT\" = \"/workspace\" }}\ntimeout_seconds = 30\n"
        );
        desk.write("config.toml", &format!("{server}{more}"));
        desk
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.home.path().join(".config/toolgate").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn run(&self, args: &[&str], stdin: &str) -> CommandRun {
        self.home.run(&self.w.path(), args, stdin)
    }

    fn call(&self, name: &str, arguments: &Value) -> String {
        let ran = self.run(&["call", name, "--json", &arguments.to_string()], "");
        let text = format!("{:?} {}{}", ran.code, ran.out, ran.err);
        self.w.normalize(&text).replace(self.home.path().to_str().unwrap(), "$HOME")
    }
}

/// Each name with its arguments and its answer.
fn names() -> Vec<(&'static str, Value, &'static str)> {
    let call = |arguments: Value| json!({"server": "filesystem", "tool": "look", "arguments": arguments});
    vec![
        ("mcp__filesystem__look", json!({"text": "1"}), "look: 1"),
        ("filesystem/look", json!({"text": "2"}), "look: 2"),
        ("mcp_call_tool", call(json!({"text": "3"})), "look: 3"),
        ("mcp_call_tool", call(json!("{\"text\": \"4\"}")), "look: 4"),
        ("mcp", call(json!({"text": "5"})), "look: 5"),
        ("mcp_read_resource", json!({"server": "filesystem", "uri": "x://y"}), "what there is"),
        ("mcp_resource", json!({"server": "filesystem", "uri": "x://y"}), "what there is"),
    ]
}

fn item(id: usize, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "call_id": format!("c{id}"), "name": name, "arguments": arguments.to_string()})
}

#[test]
fn every_name_works_in_call() {
    let desk = ServerNamesFixture::new("");
    for (name, arguments, expected) in names() {
        assert_eq!(
            desk.run(&["call", name, "--json", &arguments.to_string()], "").out.trim_end(),
            expected,
            "{name}"
        );
    }
}

#[test]
fn every_name_works_in_a_pipe() {
    let desk = ServerNamesFixture::new("");
    let lines = names()
        .into_iter()
        .enumerate()
        .map(|(id, (name, arguments, _))| format!("{}\n", item(id, name, &arguments)));
    let ran = desk.run(&["pipe"], &lines.collect::<String>());
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (answer, (name, _, expected)) in answers.iter().zip(names()) {
        assert_eq!(answer["output"], expected, "{name} {}", ran.err);
    }
    assert_eq!(answers.len(), names().len(), "{}", ran.err);
    // The user is told about the omitted tool.
    assert!(
        ran.err.contains("a tool of the server `filesystem` is left out: the definition of `broken` does not follow the protocol"),
        "{}",
        ran.err
    );
}

#[test]
fn every_name_works_in_a_run_of_a_model() {
    let desk = ServerNamesFixture::new("");
    let items: Vec<Value> = names()
        .iter()
        .map(|(name, arguments, _)| json!({"type": "function_call", "name": name, "arguments": arguments}))
        .collect();
    desk.w.write_file(
        "script.jsonl",
        format!("{}\n{}\n", json!({"items": items}), json!({"items": [{"type": "message", "text": "done"}]})),
    );
    let ran = desk.run(&["run", "--script", "script.jsonl", "--json", "go"], "");
    for (name, _, expected) in names() {
        let escaped = json!(expected).to_string();
        assert!(ran.out.contains(escaped.trim_matches('"')), "{name}: {}{}", ran.out, ran.err);
    }
}

/// Writes a script of one turn, and returns its path.
fn scripted(desk: &ServerNamesFixture, items: &Value) -> &'static str {
    desk.w.write_file("script.jsonl", format!("{}\n", json!({ "items": items })));
    "script.jsonl"
}

#[test]
fn what_all_servers_have_to_read_is_listed_by_the_first_call() {
    for (name, expected) in [("list_mcp_resources", "a page"), ("list_mcp_resource_templates", "a shape")] {
        let desk = ServerNamesFixture::new("");
        let script = scripted(&desk, &json!([{"type": "function_call", "name": name, "arguments": {}}]));
        let ran = desk.run(&["run", "--script", script, "--json", "go"], "");
        assert!(ran.out.contains(expected), "{name}: {}{}", ran.out, ran.err);
        let ran = desk.run(&["pipe"], &format!("{}\n", item(0, name, &json!({}))));
        assert!(ran.out.contains(expected), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_session_that_ends_while_a_server_starts_leaves_nothing_in_the_workspace() {
    let desk = ServerNamesFixture::new("");
    let script = scripted(&desk, &json!([{"type": "message", "text": "hi"}]));
    for round in 0..6 {
        let ran = desk.run(&["run", "--script", script, "go"], "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let left = fs::read_dir(desk.w.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["script.jsonl", "server.py"], "{round}");
    }
}

#[test]
fn a_client_that_calls_no_tool_of_a_server_is_told_which_there_are() {
    let desk = ServerNamesFixture::new("");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "filesystem/nope", "arguments": {}}});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ran = desk.run(&["mcp"], &format!("{hello}\n{ready}\n{call}\n"));
    let there = "did you mean `mcp__filesystem__change`, `mcp__filesystem__look`, `mcp__filesystem__slow`";
    assert!(ran.out.contains(there), "{}{}", ran.out, ran.err);
}

#[test]
fn every_name_works_for_a_program_that_holds_a_session() {
    let desk = ServerNamesFixture::new("");
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .arg("serve")
        .current_dir(desk.w.path())
        .env_clear()
        .env("HOME", desk.home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |method: &str, params: Value| {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .unwrap();
        let answers = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        // ends: with the answer, or with the server
        answers.into_iter().find(|line| line["id"] == 1 && line.get("method").is_none()).unwrap()
    };
    ask("initialize", json!({"protocol": 1, "client": {"name": "test"}}));
    let started = ask("session/start", json!({"cwd": desk.w.path()}));
    let session = started["result"]["session_id"].as_str().unwrap().to_owned();
    for (name, arguments, expected) in names() {
        let said = ask("tool/call", json!({"session_id": session, "tool": name, "arguments": arguments}));
        assert!(said.to_string().contains(expected), "{name}: {said}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn every_name_works_for_an_agent_that_uses_ours_though_it_is_not_told() {
    let desk = ServerNamesFixture::new("");
    let ask = |id: usize, method: &str, params: Value| {
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut lines = ask(1, "initialize", hello);
    lines += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    lines += &ask(2, "tools/list", json!({}));
    for (at, (name, arguments, _)) in names().into_iter().enumerate() {
        lines += &ask(10 + at, "tools/call", json!({"name": name, "arguments": arguments}));
    }
    let ran = desk.run(&["mcp"], &lines);
    let list = ran.out.lines().find(|line| line.contains("\"tools\":[")).unwrap();
    assert!(!list.contains("filesystem") && !list.contains("mcp_call_tool"), "{list}");
    for (name, _, expected) in names() {
        let escaped = json!(expected).to_string();
        assert!(ran.out.contains(escaped.trim_matches('"')), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn no_name_is_a_way_round_a_question_or_a_rule() {
    let desk = ServerNamesFixture::new("");
    let through = json!({"server": "filesystem", "tool": "change", "arguments": {"text": "x"}});
    let plain = json!({"text": "x"});
    let ways =
        [("mcp__filesystem__change", &plain), ("filesystem/change", &plain), ("mcp_call_tool", &through)];
    let asked = ways.map(|(name, arguments)| desk.call(name, arguments));
    assert_snapshot!(asked[0], @r#"
    Some(1) hint: a tool of the server `filesystem` is left out: the definition of `broken` does not follow the protocol: its `inputSchema` is not a JSON object
    error: forbidden by policy: this needs approval: `change` is a tool of `filesystem`, and its effects are unknown; no approver is available, so it was refused: try a way that needs no approval; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule
    "#);
    assert_eq!((&asked[1], &asked[2]), (&asked[0], &asked[0]));
    for (rule, allowed) in [
        ("tool = \"mcp__filesystem__*\"\ndecision = \"forbid\"", false),
        ("tool = \"filesystem/change\"\ndecision = \"forbid\"", false),
        ("tool = \"filesystem/*\"\ndecision = \"allow\"", true),
        ("tool = \"mcp__filesystem__change\"\ndecision = \"allow\"", true),
        ("tool = \"mcp_call_tool\"\ndecision = \"allow\"", false),
    ] {
        desk.write("rules.toml", &format!("[[rule]]\n{rule}\n"));
        for (name, arguments) in ways {
            let said = desk.call(name, arguments);
            assert_eq!(said.contains("change: x"), allowed, "{rule} {name}: {said}");
        }
    }
}

#[test]
fn omitted_tool_is_absent_under_every_name() {
    let through = json!({"server": "filesystem", "tool": "look", "arguments": {"text": "x"}});
    let ways =
        [("mcp__filesystem__look", json!({})), ("filesystem/look", json!({})), ("mcp_call_tool", through)];
    for (more, reached) in [
        ("[tools]\nwithout = [\"filesystem/look\"]\n", [false, false, false]),
        ("[tools]\nwithout = [\"mcp__filesystem__look\"]\n", [false, false, false]),
        ("[tools]\nwithout = [\"mcp_call_tool\"]\n", [true, true, false]),
        ("[tools]\nwithout = [\"filesystem/*\"]\n", [false, false, false]),
        ("[tools]\nwithout = [\"mcp__filesystem__*\"]\n", [false, false, false]),
        ("[tools]\nwithout = [\"read_mcp_resource\", \"tool_search\"]\n", [true, true, true]),
        ("[tools]\nonly = [\"filesystem/lo*\"]\n", [true, true, true]),
        ("[tools]\nonly = [\"read_file\"]\n", [false, false, false]),
        ("[tools]\nonly = [\"filesystem/look\"]\n", [true, true, true]),
    ] {
        let desk = ServerNamesFixture::new(more);
        let said = ways.clone().map(|(name, arguments)| desk.call(name, &arguments));
        assert_eq!(said.clone().map(|said| said.contains("look: ")), reached, "{more} {said:?}");
    }
}

#[test]
fn unknown_server_error_lists_the_known_ones() {
    let desk = ServerNamesFixture::new("");
    assert_snapshot!(desk.call("files/look", &json!({})), @"Some(2) error: there is no MCP server `files`; there are `filesystem`");
    // The existing server may have reported its omitted tool by then.
    let said = desk.call("mcp_call_tool", &json!({"server": "files", "tool": "look"}));
    assert!(said.starts_with("Some(2) "), "{said}");
    assert!(
        said.trim_end().ends_with("error: there is no MCP server `files`; there are `filesystem`"),
        "{said}"
    );
    assert_snapshot!(desk.call("filesystem/lok", &json!({})), @r#"
    Some(2) hint: a tool of the server `filesystem` is left out: the definition of `broken` does not follow the protocol: its `inputSchema` is not a JSON object
    error: there is no tool `mcp__filesystem__lok`; did you mean `mcp__filesystem__look`, `mcp__filesystem__slow`?
    "#);
    desk.write("config.toml", "");
    assert_snapshot!(desk.call("files/look", &json!({})), @"Some(2) error: there is no MCP server `files`: none is configured here");
    let line = item(0, "files/look", &json!({}));
    assert!(desk.run(&["pipe"], &format!("{line}\n")).out.contains("no MCP server `files`"));
}

#[test]
fn common_timeout_limits_calls() {
    let desk = ServerNamesFixture::new("");
    let config = fs::read_to_string(desk.home.path().join(".config/toolgate/config.toml")).unwrap();
    desk.write("config.toml", &config.replace("timeout_seconds = 30", "timeout_seconds = 0.5"));
    let said = desk.call("filesystem/slow", &json!({}));
    assert!(said.contains("timed out after 0.5 seconds"), "{said}");
}

#[test]
fn a_tool_with_a_broken_schema_is_told_of_and_the_others_work() {
    let desk = ServerNamesFixture::new("");
    let tried = desk.run(&["mcp", "test"], "");
    assert!(
        tried.out.contains("left out: the definition of `broken` does not follow the protocol"),
        "{}",
        tried.out
    );
    assert!(tried.out.contains("3 tools in"), "{}", tried.out);
}

#[test]
fn a_hook_for_a_server_hears_of_a_call_by_every_name() {
    let hook = "[[hook]]\nname = \"guard\"\ncommand = [\"/bin/sh\", \"-c\", \"echo not now >&2; exit 2\"]\n";
    let desk = ServerNamesFixture::new(&format!("{hook}tools = [\"filesystem/*\"]\n"));
    let through = json!({"server": "filesystem", "tool": "look", "arguments": {"text": "x"}});
    let ways =
        [("mcp__filesystem__look", json!({})), ("filesystem/look", json!({})), ("mcp_call_tool", through)];
    for (name, arguments) in ways {
        let said = desk.call(name, &arguments);
        assert!(said.contains("the hook `guard` forbids it: not now"), "{name}: {said}");
    }
}
