//! Tests of MCP servers, published and scripted: adding and listing them, calling their tools, and confining them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::{TestWorkspace, node, python};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything/dist/index.js";
const FILES: &str = "@modelcontextprotocol/server-filesystem/dist/index.js";

struct ServersFixture {
    home: TestHome,
    w: TestWorkspace,
}

impl ServersFixture {
    fn new() -> Self {
        Self { home: TestHome::new(), w: TestWorkspace::new() }
    }

    /// Creates a fixture with these servers: names, further settings and command lines.
    fn with(servers: &[(&str, &str, Vec<String>)]) -> Self {
        let desk = Self::new();
        let table = |(name, more, command): &(&str, &str, Vec<String>)| {
            let (program, args) = command.split_first().unwrap();
            format!("[mcp_servers.{name}]\ncommand = {}\nargs = {}\n{more}\n", json!(program), json!(args))
        };
        desk.write(&servers.iter().map(table).collect::<String>());
        desk
    }

    fn config(&self) -> PathBuf {
        self.home.path().join(".config/toolgate/config.toml")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.config().parent().unwrap()).unwrap();
        fs::write(self.config(), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> CommandRun {
        let ran = self.home.run(&self.w.path(), args, "");
        let home = self.home.path().to_str().unwrap();
        let normal = |text: &str| self.w.normalize(text).replace(home, "$HOME");
        CommandRun { code: ran.code, out: normal(&ran.out), err: normal(&ran.err) }
    }

    /// Runs the command, and formats exit code, stdout and stderr as one text.
    fn transcript(&self, args: &[&str]) -> String {
        let CommandRun { code, out, err } = self.run(args);
        format!("{}\n-- out\n{out}-- err\n{err}", code.unwrap())
    }

    fn call(&self, tool: &str, arguments: &Value) -> CommandRun {
        self.run(&["call", tool, "--json", &arguments.to_string()])
    }
}

fn of_node(script: &str, args: &[&str]) -> Vec<String> {
    let mut words = vec![
        node::node_binary().to_str().unwrap().to_owned(),
        node::package_script(script).to_str().unwrap().to_owned(),
    ];
    words.extend(args.iter().map(|&arg| arg.to_owned()));
    words
}

fn of_python(module: &str) -> Vec<String> {
    [python::interpreter().to_str().unwrap(), "-m", module].map(str::to_owned).to_vec()
}

fn hostile(mode: &str) -> Vec<String> {
    let script =
        testkit::visible_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/hostile/server.py"));
    [python::interpreter().to_str().unwrap(), script.to_str().unwrap(), mode].map(str::to_owned).to_vec()
}

#[test]
fn a_server_is_added_listed_shown_and_removed() {
    let desk = ServersFixture::new();
    assert_snapshot!(desk.transcript(&["mcp", "list"]), @"
    0
    -- out
    -- err
    hint: there are no servers; `toolgate mcp add NAME -- COMMAND` adds one
    ");
    desk.write("# mine\nmodel = \"gpt-5\" # the one\n");
    assert_snapshot!(desk.transcript(&["mcp", "add", "git", "--network", "off", "--env", "A=1", "--", "uvx", "mcp-server-git", "-v"]), @"
    0
    -- out
    added `git` to $HOME/.config/toolgate/config.toml
    -- err
    hint: `toolgate mcp test git` starts it
    ");
    assert_snapshot!(desk.transcript(&["mcp", "add", "docs", "--url", "https://example.org/mcp", "--header", "X-Key=secret"]), @"
    0
    -- out
    added `docs` to $HOME/.config/toolgate/config.toml
    -- err
    hint: `toolgate mcp test docs` starts it
    ");
    assert_snapshot!(fs::read_to_string(desk.config()).unwrap(), @r#"
    # mine
    model = "gpt-5" # the one

    [mcp_servers.git]
    command = "uvx"
    args = ["mcp-server-git", "-v"]
    network = "off"
    env = { A = "1" }

    [mcp_servers.docs]
    url = "https://example.org/mcp"
    http_headers = { X-Key = "secret" }
    "#);
    assert_snapshot!(desk.transcript(&["mcp", "list"]), @"
    0
    -- out
    docs  https://example.org/mcp  # $HOME/.config/toolgate/config.toml:10
    git   uvx mcp-server-git -v  # $HOME/.config/toolgate/config.toml:4
    -- err
    ");
    assert_snapshot!(desk.transcript(&["mcp", "list", "--json"]), @r#"
    0
    -- out
    {"servers":[{"enabled":true,"name":"docs","reached":"https://example.org/mcp","source":"$HOME/.config/toolgate/config.toml:10","transport":"http"},{"enabled":true,"name":"git","reached":"uvx mcp-server-git -v","source":"$HOME/.config/toolgate/config.toml:4","transport":"stdio"}]}
    -- err
    "#);
    assert_snapshot!(desk.transcript(&["mcp", "get", "docs"]), @r#"
    0
    -- out
    [mcp_servers.docs]  # $HOME/.config/toolgate/config.toml:10
    http_headers = { X-Key = "…" }
    url = "https://example.org/mcp"
    -- err
    "#);
    assert_snapshot!(desk.transcript(&["mcp", "get", "absent"]), @"
    2
    -- out
    -- err
    error: there is no server `absent`; there are `docs`, `git`
    ");
    assert_snapshot!(desk.transcript(&["mcp", "remove", "git"]), @"
    0
    -- out
    removed `git` from $HOME/.config/toolgate/config.toml
    -- err
    ");
    assert_snapshot!(desk.transcript(&["mcp", "remove", "git"]), @"
    2
    -- out
    -- err
    error: $HOME/.config/toolgate/config.toml: there is no server `git` in it; `toolgate mcp list` has them; nothing was changed
    ");
    assert_snapshot!(fs::read_to_string(desk.config()).unwrap(), @r#"
    # mine
    model = "gpt-5" # the one

    [mcp_servers.docs]
    url = "https://example.org/mcp"
    http_headers = { X-Key = "secret" }
    "#);
}

#[test]
fn what_cannot_be_a_server_is_not_added() {
    let desk = ServersFixture::new();
    let rows: &[&[&str]] = &[
        &["mcp", "add", "a b", "--", "x"],
        &["mcp", "add", "a", "--url", "http://example.org"],
        &["mcp", "add", "a", "--env", "A", "--", "x"],
        &["mcp", "add", "a", "--env", "A=1", "--url", "https://example.org"],
    ];
    let told: Vec<String> = rows.iter().map(|args| desk.transcript(args)).collect();
    assert_snapshot!(told.join("\n"), @"
    2
    -- out
    -- err
    error: `a b` is not a server name: use 1 to 64 of A-Z a-z 0-9 _ -

    2
    -- out
    -- err
    error: the server `a`: its `url` must begin with https://, unless it is on this machine

    2
    -- out
    -- err
    error: `A` is not NAME=VALUE

    2
    -- out
    -- err
    error: the server `a`: `env` is for a server with a `command`
    ");
    assert!(!desk.config().exists());
}

#[test]
fn a_project_names_no_servers() {
    let desk = ServersFixture::new();
    desk.w.write_file("toolgate.toml", "[mcp_servers.x]\ncommand = \"x\"\n");
    assert_snapshot!(desk.transcript(&["mcp", "list"]), @"
    2
    -- out
    -- err
    error: $DIR/toolgate.toml:1:1: a project may narrow what tools can do, not widen it: `mcp_servers` belongs in your own file ($HOME/.config/toolgate/config.toml)
    hint: `toolgate config --help` says what can be set
    ");
}

#[test]
fn servers_of_both_eras_are_tried() {
    let desk = ServersFixture::with(&[
        ("everything", "", of_node(EVERYTHING, &["stdio"])),
        ("time", "", of_python("mcp_server_time")),
        ("gone", "", vec!["/no/such/program".to_owned()]),
        ("dies", "", hostile("dies-at-start")),
    ]);
    let ran = desk.run(&["mcp", "test", "--json"]);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    let shown: Vec<String> = value["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            let tools = server["tools"].as_array().map(Vec::len);
            format!(
                "{} {} {} {tools:?} {}",
                server["name"], server["usable"], server["protocol"], server["why"]
            )
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
    "dies" false null None "has ended: exit code 3; it last said: these are my last words"
    "everything" true "2025-11-25" Some(14) null
    "gone" false null None "cannot be started: `/no/such/program` is not an executable program"
    "time" true "2026-07-28" Some(2) null
    "#);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(desk.transcript(&["mcp", "test", "time", "absent"]), @"
    2
    -- out
    -- err
    error: there is no server `absent`; there are `dies`, `everything`, `gone`, `time`
    ");
}

#[test]
fn read_only_server_tools_run_and_undeclared_ones_need_approval() {
    let desk = ServersFixture::with(&[
        ("everything", "", of_node(EVERYTHING, &["stdio"])),
        ("time", "", of_python("mcp_server_time")),
    ]);
    let ran = desk.call(
        "mcp__time__convert_time",
        &json!({"source_timezone": "UTC", "target_timezone": "UTC", "time": "12:00"}),
    );
    assert!(ran.out.contains("\"target\"") && ran.code == Some(0), "{} {}", ran.out, ran.err);
    // The tool declares itself read-only.
    let ran = desk.call("mcp__everything__get-sum", &json!({"a": 2, "b": 3}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(0) The sum of 2 and 3 is 5.");
    let ran = desk.call("mcp__everything__get-sum", &json!({"a": "two"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(2) error: the arguments do not fit at `a`: expected a number, found a string");
    let ran = desk.call("mcp__everything__get-su", &json!({"a": "two"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(2) error: there is no tool `mcp__everything__get-su`; did you mean `mcp__everything__get-sum`, `mcp__everything__get-env`, `mcp__everything__get-roots-list`?");
    // The tool declares nothing.
    let ran = desk.call("mcp__everything__simulate-research-query", &json!({"topic": "x"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(1) error: forbidden by policy: this needs approval: `simulate-research-query` is a tool of `everything`, and its effects are unknown; no approver is available, so it was refused: try a way that needs no approval; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule");
    let ran = desk.call("mcp__everything__get-tiny-image", &json!({}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"
    Some(0) Here's the image you requested:
    [image/png, 4033 bytes; --output json has them]
    The image above is the MCP logo.
    ");
}

#[test]
fn a_server_is_confined_as_a_command_is() {
    let desk = ServersFixture::with(&[
        ("inside", "approval = \"allow\"", of_node(FILES, &["."])),
        ("reads", "approval = \"allow\"\nsandbox = \"read-only\"", of_node(FILES, &["."])),
    ]);
    desk.w.write_file("a.txt", "one\n");
    let write = |server: &str, name: &str| {
        let path = desk.w.path().join(name);
        let ran = desk.call(&format!("mcp__{server}__write_file"), &json!({"path": path, "content": "new"}));
        (ran.code, desk.w.path().join(name).exists(), ran.out + &ran.err)
    };
    let (code, there, said) = write("inside", "b.txt");
    assert_eq!((code, there), (Some(0), true), "{said}");
    let (code, there, said) = write("reads", "c.txt");
    assert_eq!((code, there), (Some(1), false), "{said}");
}

#[test]
fn resources_are_listed_and_read() {
    let desk = ServersFixture::with(&[("everything", "", of_node(EVERYTHING, &["stdio"]))]);
    let ran = desk.call("list_mcp_resources", &json!({}));
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    let first = &value["resources"][0];
    assert_eq!(first["server"], "everything", "{}", ran.out);
    let ran = desk.call("read_mcp_resource", &json!({"server": "everything", "uri": first["uri"]}));
    assert!(ran.code == Some(0) && ran.out.starts_with('#'), "{}{}", ran.out, ran.err);
    let ran = desk.call("list_mcp_resource_templates", &json!({"server": "everything"}));
    assert!(ran.out.contains("uriTemplate"), "{}{}", ran.out, ran.err);
    let ran = desk.call("read_mcp_resource", &json!({"server": "everything", "uri": "demo://none"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(1) the server `everything` refuses: MCP error -32602: Resource demo://none not found (code -32602); list_mcp_resources has what there is");
    let ran = desk.call("read_mcp_resource", &json!({"server": "absent", "uri": "x://y"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(2) error: the arguments do not fit at `server`: there is no server `absent`; there are `everything`");
}

#[test]
fn a_tool_that_is_not_what_it_was_is_asked_about_again() {
    let desk = ServersFixture::with(&[("h", "approval = \"allow\"", hostile("honest"))]);
    assert_eq!(desk.call("mcp__h__echo", &json!({"text": "hi"})).out, "hi\n");
    let text = fs::read_to_string(desk.config()).unwrap();
    desk.write(&text.replace("honest", "redefined"));
    let ran = desk.call("mcp__h__echo", &json!({"text": "hi"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(1) error: forbidden by policy: this needs approval: `h` has changed what it says about its tool `echo` since it was last used; no approver is available, so it was refused: try a way that needs no approval; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule");
    // An unreadable record of the definition leads to a question too.
    desk.write(&text);
    fs::write(desk.home.path().join(".local/state/toolgate/mcp/h.json"), "no JSON").unwrap();
    let ran = desk.call("mcp__h__echo", &json!({"text": "hi"}));
    assert_snapshot!(format!("{:?} {}{}", ran.code, ran.out, ran.err), @"Some(1) error: forbidden by policy: this needs approval: `h` has changed what it says about its tool `echo` since it was last used; no approver is available, so it was refused: try a way that needs no approval; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule");
}

#[test]
fn a_model_calls_tools_of_servers_as_soon_as_it_starts() {
    let desk = ServersFixture::with(&[
        ("time", "", of_python("mcp_server_time")),
        ("mute", "startup_timeout_sec = 3", hostile("mute")),
    ]);
    let call = |id: &str, name: &str, arguments: Value| {
        json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string()})
            .to_string()
    };
    let calls = [
        call("1", "mcp__time__get_current_time", json!({"timezone": "UTC"})),
        call("2", "mcp__mute__x", json!({})),
        call("3", "list_dir", json!({"path": "."})),
    ];
    let ran = desk.home.run(&desk.w.path(), &["pipe"], &calls.join("\n"));
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |at: usize| answers[at]["output"].to_string();
    assert!(said(0).contains("timezone"), "{}", said(0));
    assert!(said(1).contains("has not started within 3 s"), "{}", said(1));
    assert_eq!(answers.len(), 3, "{}", ran.err);
}

#[test]
fn too_many_tools_are_searched_and_not_sent() {
    let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    let servers: Vec<(&str, &str, Vec<String>)> =
        names.iter().map(|name| (name.as_str(), "", of_node(EVERYTHING, &["stdio"]))).collect();
    let desk = ServersFixture::with(&servers);
    let ran = desk.run(&["tools", "--json"]);
    let tools: Value = serde_json::from_str(&ran.out).unwrap();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(
        names.contains(&"tool_search") && !names.iter().any(|name| name.starts_with("mcp__")),
        "{names:?}"
    );
    let ran = desk.call("tool_search", &json!({"query": "add two numbers", "limit": 2}));
    assert!(ran.out.contains("__get-sum"), "{}{}", ran.out, ran.err);
}

/// A session of `toolgate pipe`, line by line.
struct PipeConversation {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl PipeConversation {
    fn with(desk: &ServersFixture) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(["pipe", "--ask", "--events"])
            .current_dir(desk.w.path())
            .env_clear()
            .env("HOME", desk.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, lines: BufReader::new(output).lines() }
    }

    fn say(&mut self, line: &Value) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn call(&mut self, id: &str, name: &str, arguments: &Value) {
        let arguments = arguments.to_string();
        self.say(&json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
    }

    /// Returns the next line that satisfies `is`.
    fn wait(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let mut seen = String::new();
        // ends: with the line, or with the session
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            if is(&value) {
                return value;
            }
            seen = format!("{seen}\n{line}");
        }
        panic!("it did not come:{seen}");
    }

    fn answer(&mut self, id: &str) -> String {
        self.wait(|line| line["type"] == "function_call_output" && line["call_id"] == id)["output"]
            .to_string()
    }
}

impl Drop for PipeConversation {
    fn drop(&mut self) {
        let _over = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn a_long_call_says_how_far_it_is_and_is_stopped() {
    let desk =
        ServersFixture::with(&[("everything", "approval = \"allow\"", of_node(EVERYTHING, &["stdio"]))]);
    let mut talk = PipeConversation::with(&desk);
    let long = "mcp__everything__trigger-long-running-operation";
    talk.call("1", long, &json!({"duration": 1, "steps": 4}));
    let step = talk.wait(|line| line["event"] == "progress");
    assert!(step["percent"].is_number() && step["text"].as_str().unwrap().contains("/4"), "{step}");
    let said = talk.answer("1");
    assert!(said.contains("completed"), "{said}");
    talk.call("2", long, &json!({"duration": 600, "steps": 600}));
    talk.wait(|line| line["event"] == "progress");
    talk.say(&json!({"type": "toolgate.cancel", "call_id": "2"}));
    let said = talk.answer("2");
    assert!(said.contains("aborted by the user"), "{said}");
    // The server continues.
    talk.call("3", "mcp__everything__echo", &json!({"message": "still here"}));
    let said = talk.answer("3");
    assert!(said.contains("still here"), "{said}");
}

#[test]
fn elicitation_is_answered_through_the_pipe() {
    let desk = ServersFixture::with(&[
        ("everything", "approval = \"allow\"", of_node(EVERYTHING, &["stdio"])),
        ("h", "", hostile("asks-password")),
    ]);
    let mut talk = PipeConversation::with(&desk);
    talk.call("1", "mcp__everything__trigger-elicitation-request", &json!({}));
    let asked = talk.wait(|line| line["type"] == "toolgate.elicitation");
    assert_eq!(asked["server"], "everything", "{asked}");
    assert!(asked["schema"]["properties"]["name"].is_object(), "{asked}");
    talk.say(&json!({"type": "toolgate.elicited", "id": "other", "action": "accept"}));
    talk.wait(|line| line["type"] == "toolgate.fault");
    let content = json!({"name": "Ada", "check": true});
    talk.say(
        &json!({"type": "toolgate.elicited", "id": asked["id"], "action": "accept", "content": content}),
    );
    let said = talk.answer("1");
    assert!(said.contains("Ada"), "{said}");
    // The user is not asked for a password.
    talk.call("2", "mcp__h__echo", &json!({"text": "x"}));
    let said = talk.answer("2");
    assert!(said.contains("decline"), "{said}");
}

#[test]
fn what_a_server_does_in_git_is_done() {
    let desk = ServersFixture::with(&[(
        "git",
        "approval = \"allow\"\nnetwork = \"off\"",
        of_python("mcp_server_git"),
    )]);
    let git = |args: &[&str]| {
        let ran = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args)
            .current_dir(desk.w.path())
            .env("HOME", desk.home.path())
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "trunk"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let repository = desk.w.path().to_str().unwrap().to_owned();
    let arguments = json!({"repo_path": repository, "branch_name": "made"});
    let ran = desk.call("mcp__git__git_create_branch", &arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(git(&["branch", "--list", "made"]).contains("made"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_server_that_lacks_a_variable_takes_no_other_down() {
    let desk = ServersFixture::with(&[("time", "", of_python("mcp_server_time"))]);
    let text = fs::read_to_string(desk.config()).unwrap();
    desk.write(&format!(
        "{text}[mcp_servers.docs]\nurl = \"https://example.org\"\nbearer_token_env_var = \"NOT_SET\"\n"
    ));
    let ran = desk.run(&["mcp", "test"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("2 tools"), "{}", ran.out);
    assert!(ran.out.contains("your variable `NOT_SET` is not set"), "{}", ran.out);
}

#[test]
fn a_server_that_cannot_be_reached_is_told_of_in_words() {
    let desk = ServersFixture::new();
    desk.write("[mcp_servers.docs]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    let ran = desk.run(&["mcp", "test"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let told = ran.out + &ran.err;
    assert!(!told.contains("rmcp") && !told.contains("::") && told.contains("cannot be used"), "{told}");
}

/// A server with one tool, `run`, which runs a script and returns its output.
const RUNNER: &str = r#"
import json, os, subprocess, sys
TOOL = {"name": "run", "description": "Runs.", "inputSchema": {"type": "object", "properties": {"script": {"type": "string"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    method, result = asked.get("method"), None
    if method == "initialize":
        info = {"name": "runner", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        script = asked["params"]["arguments"]["script"]
        ran = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        result = {"content": [{"type": "text", "text": ran.stdout}]}
        if script == "close":
            os.close(1)
            sys.stdin.read()
    if "id" in asked:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **({"error": error} if result is None else {"result": result})}), flush=True)
"#;

fn runner(more: &str) -> ServersFixture {
    let desk = ServersFixture::new();
    desk.w.write_file("runner.py", RUNNER);
    let command = json!(python::interpreter().to_str().unwrap());
    desk.write(&format!(
        "{more}\n[mcp_servers.r]\ncommand = {command}\nargs = [\"runner.py\"]\napproval = \"allow\"\ntool_timeout_sec = 20\n"
    ));
    desk
}

#[test]
fn a_server_is_held_to_what_commands_are_held_to() {
    let desk = runner("");
    let private = desk.home.path().join("private");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("s"), "PRIVATE").unwrap();
    desk.w.write_file("keep/f", "kept\n").write_file("toolgate.toml", "approval = \"untrusted\"\n");
    let text = fs::read_to_string(desk.config()).unwrap();
    let keep = json!(desk.w.path().join("keep"));
    let more = format!(
        "[files]\ndeny_read = [\"~/private\"]\n[confinement]\nread_only = [{keep}]\nfile_size_mb = 1\n"
    );
    desk.write(&format!("{more}{text}"));
    let script = format!(
        "cat {}/s; echo x > keep/f; echo x > toolgate.toml; head -c 5000000 /dev/zero > big; wc -c < big",
        private.display()
    );
    let ran = desk.call("mcp__r__run", &json!({"script": script}));
    assert!(!ran.out.contains("PRIVATE") && ran.out.contains("1048576"), "{}{}", ran.out, ran.err);
    assert_eq!(fs::read_to_string(desk.w.path().join("keep/f")).unwrap(), "kept\n");
    assert!(fs::read_to_string(desk.w.path().join("toolgate.toml")).unwrap().contains("untrusted"));
    // The placeholders are gone with it.
    for held in [".git", ".claude", ".codex", ".agents", ".toolgate"] {
        assert!(!desk.w.path().join(held).exists(), "{held}");
    }
}

#[test]
fn secrets_saved_while_a_server_runs_are_hidden() {
    let desk = runner("");
    desk.w.write_file(".env", "OLD=1\n");
    let mut talk = PipeConversation::with(&desk);
    let cat = "cat .env ~/.ssh/id ~/.netrc";
    talk.call("1", "mcp__r__run", &json!({"script": cat}));
    let said = talk.answer("1");
    assert!(said.contains("Permission denied") && !said.contains("OLD"), "{said}");
    desk.w.write_file("new", "NEWSECRET\n");
    fs::rename(desk.w.path().join("new"), desk.w.path().join(".env")).unwrap();
    fs::create_dir(desk.home.path().join(".ssh")).unwrap();
    fs::write(desk.home.path().join(".ssh/id"), "NEWSECRET\n").unwrap();
    fs::write(desk.home.path().join(".netrc"), "NEWSECRET\n").unwrap();
    // New secrets are hidden within 500 ms; this waits four times as long.
    talk.call("2", "mcp__r__run", &json!({"script": format!("sleep 2; {cat}")}));
    let said = talk.answer("2");
    assert!(said.contains("Permission denied") && !said.contains("NEWSECRET"), "{said}");
}

#[test]
fn a_server_that_closes_its_output_is_gone() {
    let desk = runner("");
    let mut talk = PipeConversation::with(&desk);
    talk.call("1", "mcp__r__run", &json!({"script": "close"}));
    let said = talk.answer("1");
    assert!(said.contains("ended during the call"), "{said}");
    talk.call("2", "mcp__r__run", &json!({"script": "echo again"}));
    let said = talk.answer("2");
    assert!(said.contains("again"), "{said}");
}

#[test]
fn a_server_that_has_to_be_there_is_missed_for_want_of_a_variable_too() {
    let desk = ServersFixture::new();
    desk.write("[mcp_servers.docs]\nurl = \"https://example.org\"\nbearer_token_env_var = \"NOT_SET\"\nrequired = true\n");
    let ran = desk.run(&["pipe"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("required") && ran.err.contains("NOT_SET"), "{}", ran.err);
}

#[test]
fn without_a_required_server_nothing_is_done() {
    let desk = ServersFixture::new();
    desk.write("[mcp_servers.docs]\ncommand = \"no-such-program\"\nrequired = true\n");
    let missing = "the server `docs` is required, and ";
    let patch = json!({"patch": "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch\n"}).to_string();
    let sandbox = ["--sandbox", "workspace-write"];
    let ran = desk.run(&[&["call", "apply_patch", "--json", &patch], &sandbox[..]].concat());
    assert!(ran.code == Some(2) && ran.err.contains(missing), "{:?} {}{}", ran.code, ran.out, ran.err);

    desk.w.write_file("model.jsonl", r#"{"items": [{"type": "message", "text": "I was asked."}]}"#);
    let ran = desk.run(&["run", "--script", "model.jsonl", "go"]);
    assert!(ran.code == Some(1) && ran.err.contains(missing), "{:?} {}{}", ran.code, ran.out, ran.err);
    assert!(!ran.out.contains("I was asked."), "{}", ran.out);
    assert!(!desk.w.path().join("made").exists());

    // Without `required` it is one warning, and everything else works.
    desk.write("[mcp_servers.docs]\ncommand = \"no-such-program\"\n");
    let ran = desk.run(&["run", "--script", "model.jsonl", "go"]);
    assert!(ran.code == Some(0) && ran.out.contains("I was asked."), "{:?} {}{}", ran.code, ran.out, ran.err);
    assert_eq!(ran.err.matches("`docs`").count(), 1, "{}", ran.err);
    let ran = desk.run(&[&["call", "apply_patch", "--json", &patch], &sandbox[..]].concat());
    assert_eq!((ran.code, desk.w.path().join("made").exists()), (Some(0), true), "{}", ran.err);
}

#[test]
fn no_secret_is_shown() {
    let desk = ServersFixture::new();
    desk.write(
        "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"--api-key\", \"S1\", \"--token=S2\", \"KEY=S3\", \"--tokenizer\", \"fast\"]\n\
         [mcp_servers.b]\nurl = \"https://example.org/mcp?key=S4#S5\"\n",
    );
    assert_snapshot!(desk.run(&["mcp", "list"]).out, @r"
    a  x --api-key … --token=… KEY=… --tokenizer fast  # $HOME/.config/toolgate/config.toml:1
    b  https://example.org/mcp?…  # $HOME/.config/toolgate/config.toml:4
    ");
    for args in [
        &["mcp", "get", "a"][..],
        &["mcp", "get", "b"],
        &["mcp", "list", "--json"],
        &["mcp", "get", "a", "--json"],
    ] {
        let told = desk.transcript(args);
        assert!(!["S1", "S2", "S3", "S4", "S5"].iter().any(|secret| told.contains(secret)), "{told}");
    }
}

#[test]
fn partly_confined_server_is_reported_and_not_trusted() {
    let desk = runner("[confinement]\ntier = \"landlock\"\n");
    let ran = desk.run(&["mcp", "test"]);
    assert!(ran.out.contains("confined only in part"), "{}{}", ran.out, ran.err);
    let text = fs::read_to_string(desk.config()).unwrap();
    desk.write(&text.replace("approval = \"allow\"", ""));
    desk.w.write_file(
        "runner.py",
        RUNNER.replace("\"description\"", "\"annotations\": {\"readOnlyHint\": True}, \"description\""),
    );
    let ran = desk.call("mcp__r__run", &json!({"script": "echo ran"}));
    assert!(ran.code == Some(1) && ran.err.contains("needs approval"), "{}{}", ran.out, ran.err);
    // With full confinement, the declaration is trusted.
    desk.write(&text.replace("approval = \"allow\"", "").replace("tier = \"landlock\"", ""));
    let ran = desk.call("mcp__r__run", &json!({"script": "echo ran"}));
    assert_eq!(ran.out, "ran\n", "{}", ran.err);
}
