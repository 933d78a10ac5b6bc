//! Tests of real agents that `toolgate mcp setup` has set up, headless, with a scripted model over HTTP.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::node;

use crate::TOOLGATE;

/// A running `toolgate script-server`, with the log of its requests.
struct ScriptServer {
    server: Child,
    url: String,
    log: PathBuf,
}

impl ScriptServer {
    fn start(directory: &Path, turns: &[Value]) -> Self {
        let (script, log) = (directory.join("script.jsonl"), directory.join("requests.jsonl"));
        let lines: String = turns.iter().map(|turn| format!("{turn}\n")).collect();
        std::fs::write(&script, lines).unwrap();
        let mut server = Command::new(TOOLGATE)
            .arg("script-server")
            .arg(&script)
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { server, url: url.trim().to_owned(), log }
    }

    /// Returns the bodies of all requests that offer tools.
    fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        let bodies = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone());
        bodies.filter(|body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty())).collect()
    }
}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.server.kill();
        let _reaped = self.server.wait();
    }
}

/// A home and a project, in which an agent is set up by `toolgate mcp setup`.
struct AgentFixture {
    /// Outside /tmp: Codex stores no files there.
    place: TempDir,
}

impl AgentFixture {
    fn set_up(agent: &str) -> Self {
        let place = testkit::visible_tempdir();
        for name in ["home", "project"] {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        let world = Self { place };
        let ran = world.command(Path::new(TOOLGATE)).args(["mcp", "setup", agent, "--yes"]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        world
    }

    fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// Returns a command in the project, which finds `toolgate` by its name.
    fn command(&self, program: &Path) -> Command {
        let mut path = Path::new(TOOLGATE).parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(self.project()).env("HOME", self.home()).env("PATH", path).stdin(Stdio::null());
        for name in ["TOOLGATE_HOME", "CODEX_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns the sessions that `toolgate log` lists.
    fn recorded_sessions(&self) -> String {
        let ran = self.command(Path::new(TOOLGATE)).arg("log").output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    }
}

fn function_call(namespace: Option<&str>, name: &str, arguments: &Value) -> Value {
    let mut call = json!({ "type": "function_call", "name": name, "arguments": arguments });
    if let Some(namespace) = namespace {
        call["namespace"] = json!(namespace);
    }
    json!({ "items": [call] })
}

/// Returns the names of the tools and namespaces that a request offers.
fn tool_names(request: &Value) -> Vec<&str> {
    request["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
}

fn output_text(ran: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn codex_uses_our_tools_and_not_its_own() {
    let world = AgentFixture::set_up("codex");
    let patch = "*** Begin Patch\n*** Add File: own.txt\n+x\n*** End Patch\n";
    let model = ScriptServer::start(
        world.place.path(),
        &[
            function_call(
                Some("mcp__toolgate"),
                "exec_command",
                &json!({ "cmd": "echo made > made.txt; ls" }),
            ),
            json!({ "items": [{ "type": "custom_tool_call", "name": "apply_patch", "input": patch }] }),
            function_call(None, "exec_command", &json!({ "cmd": "touch own.txt" })),
            json!({ "items": [{ "type": "message", "text": "that is all" }] }),
        ],
    );
    let provider = format!(
        "model_providers.fake={{name=\"fake\",base_url={},wire_api=\"responses\",env_key=\"FAKE_KEY\"}}",
        json!(model.url)
    );
    let ran = world
        .command(&node::node_binary())
        .arg(node::codex_script())
        .args(["exec", "--skip-git-repo-check", "--json"])
        .args(["-c", "model_provider=fake", "-c", "model=gpt-5", "-c", &provider])
        .arg("go")
        .env("FAKE_KEY", "x")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", output_text(&ran));
    let requests = model.requests();
    assert_eq!(requests.len(), 4, "{}", output_text(&ran));
    let answers: Vec<String> = requests[1..]
        .iter()
        .map(|body| body["input"].as_array().unwrap().last().unwrap().to_string())
        .collect();
    assert!(answers[0].contains("exited with code 0") && answers[0].contains("made.txt"), "{}", answers[0]);
    assert!(world.project().join("made.txt").exists() && !world.project().join("own.txt").exists());
    let tools = tool_names(&requests[0]);
    assert!(tools.contains(&"mcp__toolgate"), "{tools:?}");
    for own in ["shell", "exec_command", "apply_patch"] {
        assert!(!tools.contains(&own), "{tools:?}");
    }
    assert!(
        world.recorded_sessions().contains("codex-mcp-client: exec_command"),
        "{}",
        world.recorded_sessions()
    );
}

#[test]
fn claude_code_uses_our_tools_and_not_its_own() {
    let world = AgentFixture::set_up("claude");
    let model = ScriptServer::start(
        world.place.path(),
        &[
            function_call(None, "mcp__toolgate__exec_command", &json!({ "cmd": "echo made > made.txt; ls" })),
            function_call(None, "Bash", &json!({ "command": "touch own.txt" })),
            json!({ "items": [{ "type": "message", "text": "that is all" }] }),
        ],
    );
    let url = model.url.strip_suffix("/v1").unwrap();
    let ran = world
        .command(&node::claude_code_program())
        .args(["-p", "go", "--model", "claude-sonnet-4-5", "--output-format", "json"])
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk-ant-test")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", output_text(&ran));
    let requests = model.requests();
    assert_eq!(requests.len(), 3, "{}", output_text(&ran));
    let tools = tool_names(&requests[0]);
    assert!(tools.contains(&"mcp__toolgate__apply_patch"), "loaded without a search: {tools:?}");
    for own in ["Bash", "Edit", "Write", "Read"] {
        assert!(!tools.contains(&own), "{tools:?}");
    }
    // The model reads text, not the data for programs.
    let answer =
        requests[1]["messages"].as_array().unwrap().last().unwrap()["content"][0]["content"].to_string();
    assert!(answer.contains("Process exited with code 0\\nOriginal token count"), "{answer}");
    assert!(answer.contains("made.txt"), "{answer}");
    assert!(world.project().join("made.txt").exists() && !world.project().join("own.txt").exists());
    assert!(world.recorded_sessions().contains("claude-code: exec_command"), "{}", world.recorded_sessions());
}
