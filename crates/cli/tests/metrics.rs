//! Tests of `toolgate serve --metrics`: real calls, a real scrape over HTTP, and Prometheus' own parser.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use support::TestHome;
use testkit::TestWorkspace;

/// A server with metrics that this test talks to over its standard input and output.
struct MeteredServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
    last_id: u64,
}

impl MeteredServer {
    fn start(home: &TestHome) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(["serve", "--metrics", "127.0.0.1:0", "--sandbox", "workspace-write"])
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("metrics at http://").and_then(|url| url.strip_suffix("/metrics"));
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let mut server = Self { child, input, output, address, last_id: 0 };
        server.request("initialize", &json!({"protocol": 1, "client": {"name": "test"}}));
        server
    }

    /// Sends a request, and returns its response. Other messages are skipped.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.input.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.last_id && message.get("method").is_none() {
                return message;
            }
            line.clear();
        }
        panic!("the server has ended");
    }

    fn get(&self, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Scrapes the metrics, and returns the page as Prometheus' parser reads it.
    fn scrape(&self) -> Value {
        let (head, body) = self.get("/metrics", &self.address);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/metrics_page/parse.py");
        serde_json::from_str(&testkit::python::run_script(Path::new(script), &body)).unwrap()
    }
}

impl Drop for MeteredServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Returns the value of the only sample with this name and these labels.
#[track_caller]
fn value(page: &Value, name: &str, labels: &Value) -> f64 {
    let is_it = |sample: &&Value| sample["name"] == name && sample["labels"] == *labels;
    let found: Vec<&Value> = page["samples"].as_array().unwrap().iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{name} {labels}: {page}");
    found[0]["value"].as_f64().unwrap()
}

#[test]
fn calls_tokens_and_processes_are_counted_and_nothing_else_is_told() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\n");
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id_rsa"), "key").unwrap();
    let script = home.path().join("script.jsonl");
    let call = r#"{"items": [{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo sekret-word"}}, {"type": "function_call", "name": "invented_by_a_model", "arguments": {}}]}"#;
    fs::write(&script, call).unwrap();
    let mut server = MeteredServer::start(&home);
    let before = server.scrape();
    assert_eq!(value(&before, "toolgate_sessions", &json!({})), 0.0);
    assert_eq!(value(&before, "toolgate_clients", &json!({})), 1.0);

    let start = json!({"cwd": workspace.path(), "model": {"script": script}});
    let id = server.request("session/start", &start)["result"]["session_id"].clone();
    let ended = server.request("session/prompt", &json!({"session_id": id, "text": "go"}));
    assert_eq!(ended["result"]["ended"], "done", "{ended}");
    let mut tool = |name: &str, arguments: Value| {
        server.request("tool/call", &json!({"session_id": id, "tool": name, "arguments": arguments}))
    };
    tool("read_file", json!({"path": "a.txt"}));
    tool("read_file", json!({"path": home.path().join(".ssh/id_rsa")}));
    let slow = tool("exec_command", json!({"cmd": "sleep 600", "yield_time_ms": 250}));
    assert_eq!(slow["result"]["success"], true, "{slow}");

    let page = server.scrape();
    let calls = |tool: &str, outcome: &str| {
        value(&page, "toolgate_calls_total", &json!({"tool": tool, "outcome": outcome}))
    };
    assert_eq!((calls("read_file", "ok"), calls("exec_command", "ok")), (1.0, 2.0));
    assert_eq!((calls("read_file", "forbidden"), calls("other", "unknown_tool")), (1.0, 1.0));
    for (name, expected) in [
        ("toolgate_sessions", 1.0),
        ("toolgate_sessions_started_total", 1.0),
        ("toolgate_processes", 1.0),
        ("toolgate_sandbox_refusals_total", 1.0),
        ("toolgate_model_requests_total", 2.0),
        ("toolgate_sandboxes_created_total", 1.0),
        ("toolgate_approvals_asked_total", 0.0),
    ] {
        assert_eq!(value(&page, name, &json!({})), expected, "{name}");
    }
    let duration =
        |part: &str, labels: Value| value(&page, &format!("toolgate_call_duration_seconds_{part}"), &labels);
    assert_eq!(duration("count", json!({"tool": "exec_command"})), 2.0);
    assert_eq!(duration("bucket", json!({"tool": "exec_command", "le": "+Inf"})), 2.0);
    assert!(duration("sum", json!({"tool": "exec_command"})) > 0.25);
    assert_eq!(page["types"]["toolgate_call_duration_seconds"], "histogram");
    assert_eq!(page["types"]["toolgate_calls"], "counter");
    assert_eq!(page["types"]["toolgate_sessions"], "gauge");
    // No content, no path, and no name that a model or a client invented.
    let text = page.to_string();
    for word in ["sekret-word", "invented_by_a_model", "a.txt", "id_rsa", home.path().to_str().unwrap()] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    server.request("session/close", &json!({"session_id": id}));
    let after = server.scrape();
    assert_eq!(value(&after, "toolgate_sessions", &json!({})), 0.0);
    assert_eq!(value(&after, "toolgate_processes", &json!({})), 0.0);
    assert_eq!(value(&after, "toolgate_sessions_started_total", &json!({})), 1.0);
}

#[test]
fn metrics_stay_on_this_machine_and_under_its_names() {
    let home = TestHome::new();
    let server = MeteredServer::start(&home);
    for (path, host, status) in [
        ("/", server.address.as_str(), "404"),
        ("/metrics", "evil.example", "403"),
        ("/metrics", server.address.as_str(), "200"),
    ] {
        let (head, _) = server.get(path, host);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {host}: {head}");
    }
    let refused = home.run(home.path(), &["serve", "--metrics", "0.0.0.0:0"], "");
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(refused.err, @"
    error: `0.0.0.0:0` can be reached from other machines, and nothing encrypts what is said
    hint: take 127.0.0.1, or --allow-remote NAME for scrapers on other machines
    ");
    let taken = home.run(home.path(), &["serve", "--metrics", &server.address], "");
    assert!(taken.code == Some(1) && taken.err.contains("cannot serve metrics at"), "{}", taken.err);
    let allowed = ["serve", "--metrics", "0.0.0.0:0", "--allow-remote", "pod.example"];
    let allowed = home.run(home.path(), &allowed, "");
    assert!(
        allowed.code == Some(0) && allowed.err.starts_with("metrics at http://0.0.0.0:"),
        "{}",
        allowed.err
    );
}

#[test]
fn the_probes_say_whether_the_server_answers_and_whether_sessions_can_start() {
    let home = TestHome::new();
    let server = MeteredServer::start(&home);
    let status = |path: &str, host: &str| {
        let (head, body) = server.get(path, host);
        (head.split(' ').nth(1).unwrap().to_owned(), body)
    };
    let told = |status: &str, body: &str| (status.to_owned(), body.to_owned());
    assert_eq!(status("/livez", &server.address), told("200", "live\n"));
    assert_eq!(status("/readyz", &server.address), told("200", "ready\n"));
    assert_eq!(status("/readyz", "evil.example").0, "403");
    // Root may write everywhere, but not below a file.
    let _none_yet = fs::remove_dir_all(home.path().join(".local"));
    fs::write(home.path().join(".local"), "").unwrap();
    assert_eq!(status("/readyz", &server.address), told("503", "sessions cannot be recorded\n"));
    assert_eq!(status("/livez", &server.address).0, "200");
    fs::remove_file(home.path().join(".local")).unwrap();
    assert_eq!(status("/readyz", &server.address).0, "200");
}

/// The arguments and the probes of the pod are those of docs/servers.md.
#[test]
fn the_pod_of_the_manual_is_ready_at_its_own_address() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/servers.md")).unwrap();
    let pod = page.split("kind: Pod").nth(1).unwrap().split("```").next().unwrap();
    for part in [
        "shareProcessNamespace: true",
        "path: /readyz",
        "path: /livez",
        "\"--metrics\", \"0.0.0.0:9469\"",
        "\"--allow-remote\", \"$(POD_IP)\"",
    ] {
        assert!(pod.contains(part), "{part}: {pod}");
    }
    let (home, work) = (TestHome::new(), TestWorkspace::new());
    let socket = home.path().join("t.sock");
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["serve", "--socket", socket.to_str().unwrap(), "--metrics", "0.0.0.0:0"])
        // The address of the pod stands for every name under which the kubelet may ask.
        .args(["--allow-remote", "127.0.0.2", "--sandbox", "workspace-write", "--require", "landlock"])
        .current_dir(work.path())
        .env_clear()
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let port =
        line.trim().strip_suffix("/metrics").and_then(|url| url.rsplit(':').next()).unwrap().to_owned();
    for (path, expected) in [("/readyz", "ready\n"), ("/livez", "live\n")] {
        let mut stream = TcpStream::connect(format!("127.0.0.2:{port}")).unwrap();
        // The headers that a kubelet sends.
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.2:{port}\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(expected), "{answer}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
