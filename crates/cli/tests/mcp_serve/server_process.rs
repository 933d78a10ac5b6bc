//! A running MCP server for tests, with its requests and responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestWorkspace;

/// Time limit for an expected message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// A home and a workspace of one test.
pub(crate) struct McpFixture {
    pub(crate) home: tempfile::TempDir,
    pub(crate) work: TestWorkspace,
}

impl McpFixture {
    pub(crate) fn new() -> Self {
        let work = TestWorkspace::new();
        work.write_file("a.txt", "one\ntwo\n");
        Self { home: tempfile::tempdir().unwrap(), work }
    }

    /// Returns `toolgate` with these arguments in this home.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        let path = std::env::var_os("PATH").unwrap();
        command.args(args).current_dir(self.work.path()).env_clear();
        command.env("HOME", self.home.path()).env("PATH", path).env("TERM", "xterm");
        command.env("XDG_RUNTIME_DIR", self.home.path());
        command
    }

    /// Starts a server over pipes.
    pub(crate) fn serve(&self, args: &[&str]) -> McpServerProcess {
        McpServerProcess::spawn(self.command(&[&["mcp"], args].concat()))
    }

    /// Starts a server with a minimal environment, as many clients do.
    pub(crate) fn serve_bare_env(&self) -> McpServerProcess {
        let mut command = self.command(&["mcp"]);
        command.env_remove("XDG_RUNTIME_DIR");
        McpServerProcess::spawn(command)
    }

    /// Starts a server, and initializes it as a client of the older era with these capabilities.
    pub(crate) fn serve_initialized(&self, args: &[&str], capabilities: &Value) -> McpServerProcess {
        self.serve(args).initialized(capabilities)
    }

    /// Returns the directory of the approval sockets.
    pub(crate) fn approval_socket_dirs(&self) -> std::path::PathBuf {
        self.home.path().join("toolgate")
    }
}

/// Returns the `_meta` of every request in the stateless era.
pub(crate) fn stateless_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A server that runs until it is dropped.
pub(crate) struct McpServerProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    errors: Option<std::thread::JoinHandle<String>>,
    next: u64,
}

impl McpServerProcess {
    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else { panic!("no JSON: {line}") };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _gone = errors.read_to_string(&mut text);
            text
        });
        Self { child, input, lines, errors: Some(errors), next: 0 }
    }

    /// Initializes the connection as a client of the older era with these capabilities.
    pub(crate) fn initialized(mut self, capabilities: &Value) -> Self {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let hello = self.ask("initialize", &params);
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    /// Sends a signal, and returns the exit status.
    pub(crate) fn send_signal(mut self, signal: &str) -> Option<i32> {
        let sent = Command::new("kill").args(["-s", signal, &self.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Returns the next message.
    pub(crate) fn next_message(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("the server says something")
    }

    /// Sends a request, and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// Sends a request, and returns the next message, which must be its response.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let said = self.next_message();
        assert_eq!(said["id"], id, "{said}");
        said
    }

    /// Calls a tool, and returns the result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    /// Sends the client's response to the request `asked`.
    pub(crate) fn answer(&mut self, asked: &Value, result: &Value) {
        let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        self.send(&reply);
    }

    /// Answers the form `asked`, and once more if the server asks again because no person answers so fast. Returns the
    /// next message.
    pub(crate) fn answer_form(&mut self, asked: &Value, answer: &Value) -> Value {
        self.answer(asked, answer);
        let next = self.next_message();
        if next["method"] != "elicitation/create" {
            return next;
        }
        assert!(answer["content"]["answer"].as_str().unwrap().starts_with("yes"), "a no is not asked again");
        let params = &next["params"];
        assert!(params["message"].as_str().unwrap().contains("This is asked again"), "{next}");
        assert_eq!(params["requestedSchema"]["properties"]["answer"]["default"], "no");
        self.answer(&next, answer);
        self.next_message()
    }

    /// Closes the input, as a client that is killed does.
    pub(crate) fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Disconnects, and returns the exit status and stderr.
    pub(crate) fn disconnect(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        (status.code(), self.errors.take().unwrap().join().unwrap())
    }
}

impl Drop for McpServerProcess {
    fn drop(&mut self) {
        let _over = self.child.kill();
        let _over = self.child.wait();
    }
}

/// Returns the text of a result.
pub(crate) fn result_text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Waits until a process with `marker` in its command line runs, or until none does.
///
/// A process that `exec` is just replacing has no command line to read for a moment, so one look is not enough.
pub(crate) fn wait_until_runs(marker: &str, expected: bool) {
    let until = std::time::Instant::now() + PATIENCE;
    while runs(marker) != expected {
        assert!(std::time::Instant::now() < until, "{marker}: expected a running process: {expected}");
        std::thread::yield_now();
    }
}

/// Returns whether a process has `marker` in its command line.
fn runs(marker: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.windows(marker.len()).any(|part| part == marker.as_bytes()))
}

/// Returns the permission bits of a file.
pub(crate) fn file_mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}
