//! A scripted editor that talks to the real binary over pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::TestWorkspace;

/// Time limit of a message on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace, a home, and a script that replaces the model.
pub(crate) struct AcpFixture {
    pub(crate) workspace: TestWorkspace,
    pub(crate) home: TempDir,
    script: PathBuf,
}

impl AcpFixture {
    /// Creates the fixture; each turn is the items of a response.
    pub(crate) fn with_turns(turns: &[Value]) -> Self {
        let (workspace, home) = (TestWorkspace::new(), tempfile::tempdir().unwrap());
        let script = home.path().join("script.jsonl");
        let desk = Self { workspace, home, script };
        desk.set_script(turns);
        desk
    }

    /// Replaces the model's script from the next session on.
    pub(crate) fn set_script(&self, turns: &[Value]) {
        let lines = turns.iter().map(|turn| match turn {
            Value::Array(_) => format!("{}\n", json!({ "items": turn })),
            turn => format!("{turn}\n"),
        });
        std::fs::write(&self.script, lines.collect::<String>()).unwrap();
    }

    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// Returns the flags that start the agent here.
    pub(crate) fn start_args(&self, more: &[&str]) -> Vec<String> {
        let script = self.script.display().to_string();
        let fixed = ["acp", "--script", &script, "--sandbox", "workspace-write"];
        fixed.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    /// Starts the agent and initializes the connection.
    pub(crate) fn start_editor(&self, more: &[&str]) -> TestEditor {
        let mut editor = TestEditor::start(self.home.path(), &self.start_args(more));
        let said = json!({"protocolVersion": 1, "clientCapabilities": {"terminal": true}});
        let answer = editor.request("initialize", &said);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// Opens a new session in the workspace.
    pub(crate) fn new_session(&self, editor: &mut TestEditor) -> String {
        let answer = editor.request("session/new", &json!({"cwd": self.workspace.path(), "mcpServers": []}));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// A running agent, and its messages.
pub(crate) struct TestEditor {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    next: u64,
    /// Updates since the last check.
    pub(crate) updates: Vec<Value>,
}

impl TestEditor {
    fn start(home: &Path, args: &[String]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(args)
            .current_dir("/")
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, out) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (send, from) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        Self { child, to, from, next: 0, updates: Vec::new() }
    }

    /// Writes an arbitrary line.
    pub(crate) fn write_line(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.write_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.write_line(
            &json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string(),
        );
        self.next
    }

    pub(crate) fn send_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send_request("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    /// Returns the next message that is not an update; updates are collected.
    pub(crate) fn next_message(&mut self) -> Value {
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("the agent says something");
            if message["method"] != "session/update" {
                return message;
            }
            self.updates.push(message["params"]["update"].clone());
        }
    }

    /// Waits for an update that satisfies `wanted`.
    pub(crate) fn wait_for_update(&mut self, wanted: impl Fn(&Value) -> bool) {
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("the agent says something");
            assert_eq!(message["method"], "session/update", "{message}");
            let update = message["params"]["update"].clone();
            self.updates.push(update.clone());
            if wanted(&update) {
                return;
            }
        }
    }

    /// Waits for the response to a request.
    pub(crate) fn wait_for_response(&mut self, id: u64) -> Value {
        let message = self.next_message();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send_request(method, params);
        self.wait_for_response(id)
    }

    /// Waits for a question, and answers it with this outcome.
    pub(crate) fn answer_question(&mut self, outcome: &Value) -> Value {
        let question = self.next_message();
        assert_eq!(question["method"], "session/request_permission", "{question}");
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}});
        self.write_line(&answer.to_string());
        question["params"].clone()
    }

    /// Returns the updates of this kind in order.
    pub(crate) fn updates_of_kind(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Returns the model's whole text.
    pub(crate) fn message_text(&self) -> String {
        let chunks = self.updates_of_kind("agent_message_chunk");
        chunks.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap()).collect()
    }

    /// Closes the connection, and returns the exit status.
    pub(crate) fn disconnect(mut self) -> Option<i32> {
        drop(self.to.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for TestEditor {
    fn drop(&mut self) {
        drop(self.to.take());
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// A message of the model.
pub(crate) fn message_item(text: &str) -> Value {
    json!([{"type": "message", "text": text}])
}

/// A tool call of the model.
pub(crate) fn call_item(name: &str, arguments: &Value) -> Value {
    json!([{"type": "function_call", "name": name, "arguments": arguments}])
}

/// A patch call of the model.
pub(crate) fn patch_item(body: &str) -> Value {
    let input = format!("*** Begin Patch\n{body}*** End Patch\n");
    json!([{"type": "custom_tool_call", "name": "apply_patch", "input": input}])
}
