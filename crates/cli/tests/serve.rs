//! Tests of `toolgate serve`: the real binary, real sockets, a scripted model, real tools and the real sandbox.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::TestHome;
use testkit::TestWorkspace;

/// Time limit of any step.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(home: &TestHome, cwd: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    command.args(args).current_dir(cwd).env_clear().env("HOME", home.path());
    command
}

/// A server at a socket; killed on drop.
struct SocketServer {
    child: Child,
    socket: PathBuf,
}

impl SocketServer {
    fn start(home: &TestHome, name: &str) -> Self {
        let socket = home.path().join(name);
        let mut command = command(home, Path::new("/"), &["serve", "--socket", socket.to_str().unwrap()]);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, socket }
    }

    fn client(&self) -> RpcTestClient<UnixStream> {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = RpcTestClient::over(stream.try_clone().unwrap(), stream);
        client.hello();
        client
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A minimal JSON-RPC client.
struct RpcTestClient<W> {
    read: BufReader<Box<dyn Read>>,
    write: W,
    next: i64,
    events: VecDeque<Value>,
    /// Answers to the server's questions, in order.
    answers: VecDeque<Value>,
    asked: Vec<Value>,
}

impl<W: Write> RpcTestClient<W> {
    fn over(read: impl Read + 'static, write: W) -> Self {
        let read = BufReader::new(Box::new(read) as Box<dyn Read>);
        Self { read, write, next: 1, events: VecDeque::new(), answers: VecDeque::new(), asked: Vec::new() }
    }

    fn hello(&mut self) {
        let capabilities = json!({"approvals": true, "questions": true});
        self.ok(
            "initialize",
            &json!({"protocol": 1, "client": {"name": "test"}, "capabilities": capabilities}),
        );
    }

    fn send(&mut self, method: &str, params: &Value) -> i64 {
        self.next += 1;
        self.line(
            &json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}).to_string(),
        );
        self.next
    }

    fn line(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.write.flush().unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.read.read_line(&mut line).unwrap() > 0, "the server left");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    /// Returns the next response to any request; collects events, and answers questions.
    fn answer(&mut self) -> Value {
        loop {
            let message = self.read();
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (Some(_), Some(id)) => {
                    let id = id.clone();
                    self.asked.push(message);
                    if let Some(result) = self.answers.pop_front() {
                        self.line(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
                    }
                }
                (Some("session/event"), None) => self.events.push_back(message["params"].clone()),
                (Some(_), None) => {}
                (None, _) => return message,
            }
        }
    }

    fn result(&mut self, id: i64) -> Value {
        loop {
            let answer = self.answer();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.result(id)
    }

    #[track_caller]
    fn ok(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    #[track_caller]
    fn fault(&mut self, method: &str, params: &Value) -> (i64, String) {
        let answer = self.ask(method, params);
        let error = &answer["error"];
        (
            error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")),
            error["message"].as_str().unwrap().to_owned(),
        )
    }

    fn start(&mut self, workspace: &TestWorkspace, more: &Value) -> String {
        let mut params = json!({"cwd": workspace.path(), "sandbox": "workspace-write"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ok("session/start", &params)["session_id"].as_str().unwrap().to_owned()
    }

    /// Returns the events up to the first of this kind.
    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen: Vec<Value> = self.events.drain(..).collect();
        while !seen.iter().any(|event| event["event"]["kind"] == kind) {
            let message = self.read();
            if message["method"] == "session/event" {
                seen.push(message["params"].clone());
            }
        }
        seen
    }
}

fn script(home: &TestHome, name: &str, turns: &[Value]) -> PathBuf {
    let file = home.path().join(name);
    fs::write(&file, turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
    file
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "name": name, "arguments": arguments})
}

fn weather() -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"name": "weather", "description": "Says what the weather is.", "input_schema": schema})
}

fn numbers(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["cursor"].as_u64().unwrap()).collect()
}

#[test]
fn a_program_at_a_pipe_uses_tools_without_a_model() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\ntwo\n");
    let mut child = command(&home, &workspace.path(), &["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (read, write) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = RpcTestClient::over(read, write);
    assert_eq!(client.fault("session/list", &json!({})).0, -32000);
    client.hello();
    assert_eq!(client.fault("initialize", &json!({"protocol": 1, "client": {"name": "again"}})).0, -32000);
    let id = client.start(&workspace, &json!({}));
    let read = client
        .ok("tool/call", &json!({"session_id": id, "tool": "read_file", "arguments": {"path": "a.txt"}}));
    assert_eq!(read["content_items"], json!([{"type": "text", "text": "1| one\n2| two"}]));
    // A program gets the fact and its kind, and reads about no flag of ours.
    let passwd = json!({"session_id": id, "tool": "read_file", "arguments": {"path": "/etc/passwd"}});
    let refused = client.ok("tool/call", &passwd);
    let kind = [&refused["error"], &refused["denials"][0]["kind"]];
    assert_eq!((kind, refused.to_string().contains("--")), ([&json!("forbidden"), &json!("outside")], false));
    // By any of its names.
    let run = client.ok(
        "tool/call",
        &json!({"session_id": id, "tool": "local_shell", "arguments": {"command": "echo by another name"}}),
    );
    assert!(run["content_items"][0]["text"].as_str().unwrap().ends_with("by another name\n"), "{run}");
    // It runs once, however often it is requested.
    let append = json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "echo x >> n.txt"}, "key": "once"});
    let (first, second) = (client.send("tool/call", &append), client.send("tool/call", &append));
    let answers = [client.answer(), client.answer()];
    let of =
        |id: i64| answers.iter().find(|answer| answer["id"] == id).unwrap()["result"]["repeated"].clone();
    assert_eq!((of(first), of(second)), (json!(false), json!(true)));
    assert_eq!(client.ok("tool/call", &append)["repeated"], true);
    assert_eq!(fs::read_to_string(workspace.path().join("n.txt")).unwrap(), "x\n");
    let here = |more: Value| {
        let mut params = json!({"session_id": id});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    assert_eq!(
        client.ok("fs/read", &here(json!({"path": "a.txt", "offset": 4}))),
        json!({"text": "two\n", "size": 8})
    );
    assert_eq!(client.ok("fs/write", &here(json!({"path": "d/b.bin", "base64": "AP8="})))["created"], true);
    assert_eq!(client.ok("fs/read", &here(json!({"path": "d/b.bin"})))["base64"], "AP8=");
    assert_eq!(client.fault("fs/write", &here(json!({"path": "a.txt", "text": "", "new": true}))).0, -32008);
    assert_eq!(client.fault("fs/write", &here(json!({"path": "/etc/oops", "text": ""}))).0, -32008);
    assert_eq!(client.fault("fs/read", &here(json!({"path": "/etc/shadow"}))).0, -32008);
    let hits = client.ok("fs/search", &here(json!({"pattern": "^t"})));
    assert_eq!(hits, json!({"hits": [{"path": "a.txt", "line": 2, "text": "two"}], "complete": true}));
    let listed = client.ok("fs/list", &here(json!({"path": "d"})));
    assert_eq!(listed, json!({"entries": [{"path": "b.bin", "kind": "file", "size": 2}], "complete": true}));
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-two\n+three\n*** End Patch\n";
    let applied = client.ok("patch/apply", &here(json!({"patch": patch, "key": "p"})));
    assert_eq!(applied["changes"], json!([{"kind": "M", "path": "a.txt"}]));
    let explained = client.ok("policy/explain", &here(json!({"command": "rm -rf src"})));
    assert_eq!(explained["explanation"]["verdict"], "ask");
    assert_eq!(client.fault("session/prompt", &here(json!({"text": "hi"}))).0, -32002);
    drop(client);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_a_process_writes_is_read_whole_and_what_is_typed_reaches_it() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let id = client.start(&workspace, &json!({}));
    let read = |client: &mut RpcTestClient<UnixStream>, process: &Value| {
        let (mut from, mut text) = (0, String::new());
        loop {
            let params = json!({"session_id": id, "process_id": process, "from": from, "wait_ms": 10_000, "max_bytes": 100_000});
            let read = client.ok("process/read", &params);
            for piece in read["pieces"].as_array().unwrap() {
                text += piece["text"].as_str().unwrap();
            }
            from = read["next"].as_u64().unwrap();
            if read["state"] != "running" {
                return (text, read["exit_code"].clone());
            }
        }
    };
    let command = "seq 1 400000; exit 3";
    let process =
        client.ok("process/start", &json!({"session_id": id, "command": command}))["process_id"].clone();
    let (text, code) = read(&mut client, &process);
    let expected: String = (1..=400_000).map(|number| format!("{number}\n")).collect();
    assert!(text == expected, "{} of {} bytes", text.len(), expected.len());
    assert_eq!(code, 3);
    assert_eq!(client.fault("process/read", &json!({"session_id": id, "process_id": process})).0, -32005);
    let started = json!({"session_id": id, "argv": ["cat"], "stdin": true});
    let cat = client.ok("process/start", &started)["process_id"].clone();
    client
        .ok("process/write", &json!({"session_id": id, "process_id": cat, "text": "typed\n", "close": true}));
    assert_eq!(read(&mut client, &cat), ("typed\n".to_owned(), json!(0)));
    let tty = json!({"session_id": id, "command": "stty size; sleep 600", "tty": {"rows": 7, "cols": 70}});
    let shell = client.ok("process/start", &tty)["process_id"].clone();
    let first = client.ok("process/read", &json!({"session_id": id, "process_id": shell, "wait_ms": 10_000}));
    assert_eq!(first["pieces"], json!([{"stream": "terminal", "text": "7 70\r\n"}]));
    client.ok(
        "process/resize",
        &json!({"session_id": id, "process_id": shell, "size": {"rows": 9, "cols": 90}}),
    );
    assert_eq!(
        client.fault("process/signal", &json!({"session_id": id, "process_id": shell, "signal": "KIL"})).0,
        -32602
    );
    client.ok("process/kill", &json!({"session_id": id, "process_id": shell}));
    let (_, code) = read(&mut client, &shell);
    assert!([129, 143, 137].contains(&code.as_i64().unwrap()), "{code}");
}

#[test]
fn a_tool_of_the_client_answers_the_model_and_a_client_that_does_not_is_no_disaster() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let asks = |city: &str| json!({"items": [call("weather", &json!({"city": city}))]});
    let wrong = json!({"items": [call("weather", &json!({"town": 1}))]});
    let turns = [
        asks("Oslo"),
        wrong,
        asks("Rome"),
        asks("Bern"),
        json!({"items": [{"type": "message", "text": "So."}]}),
    ];
    let file = script(&home, "turns", &turns);
    let mut client = server.client();
    let mut tool = weather();
    tool["timeout_ms"] = json!(300);
    let id = client.start(&workspace, &json!({"model": {"script": file}, "tools": [tool]}));
    client
        .answers
        .push_back(json!({"content_items": [{"type": "text", "text": "rain in Oslo"}], "success": true}));
    client.answers.push_back(json!({"nonsense": true}));
    let done = client.ok("session/prompt", &json!({"session_id": id, "text": "weather?"}));
    assert_eq!((&done["ended"], &done["text"]), (&json!("done"), &json!("So.")));
    assert_eq!(client.asked[0]["params"]["arguments"], json!({"city": "Oslo"}));
    assert_eq!(client.asked[0]["params"]["turn_id"], done["turn_id"]);
    let events = client.until("turn");
    let answers: Vec<&Value> =
        events.iter().map(|event| &event["event"]).filter(|event| event["kind"] == "answered").collect();
    let texts: Vec<&str> = answers.iter().map(|answer| answer["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "rain in Oslo");
    assert!(texts[1].contains("do not fit"), "{texts:?}");
    assert!(
        texts[2]
            .contains("the client's answer to `tool/invoke` cannot be read: missing field `content_items`"),
        "{texts:?}"
    );
    assert!(texts[3].contains("took longer than"), "{texts:?}");
    for name in ["read_file", "mcp_call_tool"] {
        let taken =
            json!({"session_id": id, "tools": [{"name": name, "description": "", "input_schema": {}}]});
        assert_eq!(client.fault("tool/register", &taken).0, -32602, "{name}");
    }
    assert_eq!(
        client.ok("tool/unregister", &json!({"session_id": id, "names": ["weather"]}))["tools"],
        json!([])
    );
}

#[test]
fn questions_go_to_attached_clients_or_are_refused() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    workspace.write_file("precious.txt", "");
    let (mut one, mut other) = (server.client(), server.client());
    let id = one.start(&workspace, &json!({"approval": "on-request"}));
    other.ok("session/attach", &json!({"session_id": id}));
    let remove =
        json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "rm -rf precious.txt"}});
    // Both clients are asked, the first answer counts, and the other client is told.
    let request = one.send("tool/call", &remove);
    let asked = loop {
        let message = other.read();
        if message["method"] == "approval/request" {
            break message;
        }
    };
    assert!(asked["params"]["question"]["command"].as_str().unwrap().contains("rm -rf"), "{asked}");
    other.line(
        &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"decision": "denied", "note": "not that"}})
            .to_string(),
    );
    let answer = one.result(request)["result"].clone();
    assert_eq!(answer["content_items"][0]["text"], "denied by the user: not that");
    assert!(one.asked.iter().any(|asked| asked["method"] == "approval/request"));
    one.answers.push_back(json!({"decision": "approved"}));
    assert_eq!(one.ok("tool/call", &remove)["success"], true);
    assert!(!workspace.path().join("precious.txt").exists());
    // A client that cannot be asked.
    let stream = UnixStream::connect(&server.socket).unwrap();
    let mut mute = RpcTestClient::over(stream.try_clone().unwrap(), stream);
    mute.ok("initialize", &json!({"protocol": 1, "client": {"name": "mute"}}));
    let alone = mute.start(&workspace, &json!({"approval": "on-request"}));
    let params =
        json!({"session_id": alone, "tool": "exec_command", "arguments": {"cmd": "rm -rf precious.txt"}});
    let refused = mute.ok("tool/call", &params);
    assert_eq!(refused["success"], false, "{refused}");
}

#[test]
fn a_session_goes_on_with_another_server_and_nothing_is_lost_or_done_twice() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let running = json!({"items": [call("exec_command", &json!({"cmd": "echo x >> n.txt; sleep 600"}))]});
    let file = script(&home, "turns", &[running, json!({"items": [{"type": "message", "text": "On."}]})]);
    let (id, seen) = {
        let server = SocketServer::start(&home, "s");
        let mut client = server.client();
        let id = client.start(&workspace, &json!({"model": {"script": file}, "tools": [weather()]}));
        let append = json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "echo k >> k.txt"}, "key": "k"});
        assert_eq!(client.ok("tool/call", &append)["success"], true);
        client.send("session/prompt", &json!({"session_id": id, "text": "go"}));
        let began = Instant::now();
        while !workspace.path().join("n.txt").exists() {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        let added = client.ok("session/prompt", &json!({"session_id": id, "text": "and this"}));
        assert_eq!(added["ended"], "steered");
        let mut seen = client.until("added");
        seen.extend(client.events.drain(..));
        // The server is killed during the turn.
        (id, seen)
    };
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let last = *numbers(&seen).last().unwrap();
    let rest = script(&home, "rest", &[json!({"items": [{"type": "message", "text": "On."}]})]);
    let start = json!({"cwd": workspace.path(), "sandbox": "workspace-write", "model": {"script": rest}});
    let attached = client.ok(
        "session/attach",
        &json!({"session_id": id, "cursor": last, "start": start, "tools": [weather()]}),
    );
    assert_eq!((&attached["resumed"], &attached["busy"]), (&json!(true), &json!(false)));
    assert!(attached["tools"].as_array().unwrap().contains(&json!("weather")));
    // A session that is open in one server cannot be opened in another.
    let second = SocketServer::start(&home, "t");
    assert_eq!(second.client().fault("session/attach", &json!({"session_id": id, "start": start})).0, -32007);
    let done = client.ok("session/prompt", &json!({"session_id": id, "text": "go on"}));
    assert_eq!(done["text"], "On.");
    let append = json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "echo k >> k.txt"}, "key": "k"});
    assert_eq!(client.ok("tool/call", &append)["repeated"], true);
    seen.iter().for_each(|event| assert_eq!(event["session_id"], id));
    let turns = |events: &[Value]| events.iter().filter(|event| event["event"]["kind"] == "turn").count();
    let mut all = seen;
    while turns(&all) < 2 {
        all.extend(client.until("turn"));
    }
    // A message added during the turn is not lost, although the model never read it.
    let prompts = all.iter().filter(|event| event["event"]["kind"] == "prompt");
    let prompts: Vec<&Value> = prompts.map(|event| &event["event"]["text"]).collect();
    assert_eq!(prompts, ["go", "and this", "go on"]);
    // The interrupted turn has an end too.
    let turns = all.iter().filter(|event| event["event"]["kind"] == "turn");
    let ended: Vec<&Value> = turns.map(|event| &event["event"]["ended"]).collect();
    assert_eq!(ended, ["interrupted", "done"]);
    assert_eq!(numbers(&all), (1..=all.len() as u64).collect::<Vec<_>>(), "each once, in order");
    let answers = |id: &str| {
        all.iter()
            .filter(|event| event["event"]["kind"] == "answered" && event["event"]["call"] == id)
            .count()
    };
    let calls: Vec<&str> = all
        .iter()
        .filter(|event| event["event"]["kind"] == "call")
        .map(|event| event["event"]["id"].as_str().unwrap())
        .collect();
    assert!(calls.len() == 2 && calls.iter().all(|id| answers(id) == 1), "{calls:?}");
    let text = |name: &str| fs::read_to_string(workspace.path().join(name)).unwrap();
    assert_eq!((text("n.txt").as_str(), text("k.txt").as_str()), ("x\n", "k\n"));
}

#[test]
fn slow_reader_is_dropped_or_awaited_and_the_session_survives() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let (mut worker, mut idle) = (server.client(), server.client());
    let id = worker.start(&workspace, &json!({}));
    idle.ok("session/attach", &json!({"session_id": id}));
    // Far more than fits into the buffers, while one client reads nothing.
    let print = json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "head -c 30000 /dev/zero | tr '\\0' x"}});
    for _ in 0..300 {
        assert_eq!(worker.ok("tool/call", &print)["success"], true);
    }
    let memory = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let resident: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(resident < 120_000, "{resident} kB");
    // It reads at last, and has missed nothing.
    let mut count = 0;
    while count < 1 + 300 * 5 {
        if idle.read()["method"] == "session/event" {
            count += 1;
        }
    }
    assert_eq!(idle.ok("session/list", &json!({"live": true}))["sessions"][0]["session_id"], id);
}

#[test]
fn requests_are_handled_in_order() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let said = vec![json!({"items": [{"type": "message", "text": "So."}]}); 40];
    let id = client.start(&workspace, &json!({"model": {"script": script(&home, "said", &said)}}));
    // A client that has the answer may send the next prompt: it begins a new turn, and is not added to the finished
    // one.
    for number in 0..40 {
        let done = client.ok("session/prompt", &json!({"session_id": id, "text": number.to_string()}));
        assert_eq!((&done["ended"], &done["text"]), (&json!("done"), &json!("So.")), "{number}");
        assert!(done["turn_id"].as_str().unwrap().starts_with('t'), "{done}");
    }
    // An interrupt before the turn has begun counts too.
    let slow = vec![json!({"delay_ms": 600_000, "items": []}); 8];
    let model = json!({"model": {"script": script(&home, "slow", &slow)}});
    let id = client.start(&workspace, &model);
    let stopped = |client: &mut RpcTestClient<UnixStream>, method: &str| {
        let turn = client.next + 1;
        let message = |id: i64, method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        };
        client.next += 2;
        let prompt = message(turn, "session/prompt", json!({"session_id": id, "text": "go"}));
        client.line(&format!("{prompt}\n{}", message(turn + 1, method, json!({"session_id": id}))));
        client.result(turn)["result"]["ended"].clone()
    };
    for _ in 0..5 {
        assert_eq!(stopped(&mut client, "session/interrupt"), "interrupted");
    }
    assert_eq!(stopped(&mut client, "session/close"), "interrupted");
    // An added message begins no turn in a closed session.
    let id = client.start(&workspace, &model);
    let turn = client.send("session/prompt", &json!({"session_id": id, "text": "go"}));
    assert_eq!(client.ok("session/prompt", &json!({"session_id": id, "text": "on"}))["ended"], "steered");
    client.send("session/close", &json!({"session_id": id}));
    assert_eq!(client.result(turn)["result"]["ended"], "interrupted");
    let (code, _) = client.fault("session/prompt", &json!({"session_id": id, "text": "and?"}));
    assert_eq!(code, -32001);
}

#[test]
fn interrupt_stops_the_turns_agents() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let turns = [
        json!({"when": "the first prompt", "items": [call("spawn_agent", &json!({"message": "go slowly"}))]}),
        json!({"when": "the first prompt", "items": [call("wait", &json!({"ids": ["a1"], "timeout_ms": 300_000}))]}),
        json!({"when": "go slowly", "items": [call("exec_command", &json!({"cmd": "touch begun; sleep 600", "yield_time_ms": 30_000}))]}),
        json!({"when": "go slowly", "items": [call("exec_command", &json!({"cmd": "touch after"}))]}),
        json!({"when": "how far", "items": [call("list_agents", &json!({}))]}),
    ];
    let model = json!({"model": {"script": script(&home, "agents", &turns)}, "agents": true});
    let id = client.start(&workspace, &model);
    let turn = client.send("session/prompt", &json!({"session_id": id, "text": "the first prompt"}));
    let began = Instant::now();
    while !workspace.path().join("begun").exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    client.ok("session/interrupt", &json!({"session_id": id}));
    assert_eq!(client.result(turn)["result"]["ended"], "interrupted");
    // The status is reported as soon as the agent has stopped.
    let mut listed = String::new();
    while !listed.contains("interrupted") {
        assert!(began.elapsed() < PATIENCE, "{listed}");
        let call = json!({"session_id": id, "tool": "list_agents"});
        listed = client.ok("tool/call", &call)["content_items"][0]["text"].as_str().unwrap().to_owned();
    }
    assert!(!workspace.path().join("after").exists());
}

#[test]
fn a_key_is_for_one_call_whatever_it_looks_like() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let call = |id: &str, key: &str, cmd: &str| json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": cmd}, "key": key});
    let keys = ["order-1", "token=order42abcdef", "https://u:pw12345678@h/x"];
    let id = {
        let server = SocketServer::start(&home, "s");
        let mut client = server.client();
        let id = client.start(&workspace, &json!({}));
        for key in keys {
            assert_eq!(client.ok("tool/call", &call(&id, key, "echo x >> n.txt"))["repeated"], false);
        }
        let (code, why) = client.fault("tool/call", &call(&id, keys[0], "echo y >> n.txt"));
        assert!(code == -32602 && why.contains("used for another call"), "{why}");
        let patch = json!({"session_id": id, "patch": "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch", "key": "p"});
        assert_eq!(client.ok("patch/apply", &patch)["repeated"], false);
        assert_eq!(client.ok("patch/apply", &patch)["repeated"], true);
        id
    };
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    client.ok("session/attach", &json!({"session_id": id}));
    for key in keys {
        assert_eq!(client.ok("tool/call", &call(&id, key, "echo x >> n.txt"))["repeated"], true, "{key}");
    }
    assert_eq!(client.fault("tool/call", &call(&id, keys[1], "echo y >> n.txt")).0, -32602);
    assert_eq!(fs::read_to_string(workspace.path().join("n.txt")).unwrap(), "x\nx\nx\n");
}

#[test]
fn unknown_fields_are_rejected_and_a_failed_start_leaves_nothing() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "old");
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let journals =
        || fs::read_dir(home.path().join(".local/state/toolgate/sessions")).map_or(0, Iterator::count);
    let bad = json!([{"name": "web_search", "description": "", "input_schema": {}}]);
    for wrong in [
        json!({"cwd": "/nowhere/at/all"}),
        json!({"cwd": workspace.path(), "tools": bad}),
        json!({"cwd": workspace.path(), "model": {"script": "/dev/zero"}}),
    ] {
        client.fault("session/start", &wrong);
    }
    assert_eq!(journals(), 0);
    // A client's own tool is available whatever tools are selected.
    let id = client.start(&workspace, &json!({"only_tools": ["read_file"], "tools": [weather()]}));
    let tools = client.ok("tool/list", &json!({"session_id": id}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file", "weather"]);
    let (code, why) =
        client.fault("fs/write", &json!({"session_id": id, "path": "a.txt", "text": "new", "New": true}));
    assert!(code == -32602 && why.contains("unknown field `New`"), "{why}");
    assert_eq!(fs::read_to_string(workspace.path().join("a.txt")).unwrap(), "old");
    // Bytes that are long in JSON are sent in base64.
    fs::write(workspace.path().join("odd"), vec![1; 3 << 20]).unwrap();
    let read = client.ok("fs/read", &json!({"session_id": id, "path": "odd", "length": 8 << 20}));
    assert!(read["text"].is_null() && read["base64"].as_str().unwrap().len() == 4 << 20);
}

#[test]
fn malformed_messages_get_errors_and_the_server_survives() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let id = client.start(&workspace, &json!({}));
    for (line, code) in [
        ("{", -32700),
        ("[1]", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/call","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/kall","params":{}}"#, -32601),
        (r#"{"jsonrpc":"1.0","id":7,"method":"tool/call","params":{}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"session/attach","params":{"session_id":"../../etc/passwd"}}"#,
            -32001,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"session/start","params":{"sandbox":"nothing"}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":7,"method":"session/start","params":{"cwd":"/nowhere/at/all"}}"#, -32004),
    ] {
        client.line(line);
        assert_eq!(client.answer()["error"]["code"], code, "{line}");
    }
    client.line(&"x".repeat(17 << 20));
    assert_eq!(client.answer()["error"]["code"], -32600);
    // Responses without a request, and meaningless messages.
    client.line(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    client.line(r#"{"jsonrpc":"2.0","method":"what/ever","params":{}}"#);
    client.line("\u{0}\u{1}");
    assert_eq!(client.answer()["error"]["code"], -32700);
    let unknown = client.ok("tool/call", &json!({"session_id": id, "tool": "raed_file", "arguments": {}}));
    assert_eq!((&unknown["success"], &unknown["error"]), (&json!(false), &json!("unknown_tool")));
    let sleep = json!({"session_id": id, "tool": "exec_command", "arguments": {"cmd": "sleep 600", "yield_time_ms": 30_000}});
    // A client that disconnects leaves no call without an answer.
    let mut leaving = server.client();
    leaving.ok("session/attach", &json!({"session_id": id}));
    leaving.send("tool/call", &sleep);
    leaving.until("attempt");
    drop(leaving);
    while !client.until("answered").iter().any(|event| event["event"]["error"] == "cancelled") {}
    let request = client.send("tool/call", &sleep);
    client.line(&json!({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": request}}).to_string());
    assert_eq!(client.result(request)["result"]["error"], "cancelled");
}

#[test]
fn only_its_owner_reaches_the_socket_and_a_second_server_does_not_take_it() {
    let home = TestHome::new();
    let server = SocketServer::start(&home, "s");
    assert_eq!(fs::metadata(&server.socket).unwrap().permissions().mode() & 0o777, 0o600);
    let second = home.run(Path::new("/"), &["serve", "--socket", server.socket.to_str().unwrap()], "");
    // Not the status of a wrong command line, after which no unit is restarted.
    assert_eq!((second.code, second.out.as_str()), (Some(1), ""));
    assert!(second.err.contains("another server has the socket"), "{}", second.err);
}

#[test]
fn a_websocket_wants_the_token_and_no_page_gets_in() {
    let home = TestHome::new();
    let token = "0123456789abcdef0123456789abcdef";
    let mut command =
        command(&home, Path::new("/"), &["serve", "--websocket", "127.0.0.1:0", "--token-env", "THE_TOKEN"]);
    let mut child =
        command.env("THE_TOKEN", token).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("serving at ws://").unwrap_or_else(|| panic!("{said}")).to_owned();
    let shake = |more: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(shake(""), "401");
    assert_eq!(shake("Authorization: Bearer 0123456789abcdef0123456789abcdee\r\n"), "401");
    assert_eq!(shake(&format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1\r\n")), "401");
    assert_eq!(shake(&format!("Authorization: Bearer {token}\r\n")), "101");
    child.kill().unwrap();
    child.wait().unwrap();
    let beyond = home.run(Path::new("/"), &["serve", "--websocket", "0.0.0.0:0"], "");
    assert_eq!(beyond.code, Some(2), "{}", beyond.err);
}

#[test]
fn the_models_questions_and_those_of_its_agents_reach_the_client() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("precious.txt", "");
    let server = SocketServer::start(&home, "s");
    let prompt = "the first prompt";
    let when = |when: &str, items: Value| json!({"when": when, "items": items});
    let question = json!({"questions": [{"id": "db", "question": "Which?", "options": [{"label": "sqlite", "description": "small"}]}]});
    let turns = [
        when(prompt, json!([call("request_user_input", &question)])),
        when(prompt, json!([call("spawn_agent", &json!({"message": "tidy up"}))])),
        when(prompt, json!([call("wait", &json!({"ids": ["a1"], "timeout_ms": 60_000}))])),
        when(prompt, json!([{"type": "message", "text": "Done."}])),
        when("tidy up", json!([call("exec_command", &json!({"cmd": "rm -rf precious.txt"}))])),
        when("tidy up", json!([{"type": "message", "text": "It was refused."}])),
    ];
    let file = script(&home, "turns", &turns);
    let mut client = server.client();
    let id = client
        .start(&workspace, &json!({"model": {"script": file}, "agents": true, "approval": "on-request"}));
    client.answers.push_back(json!({"answer": "postgres"}));
    client.answers.push_back(json!({"decision": "denied"}));
    let done = client.ok("session/prompt", &json!({"session_id": id, "text": prompt}));
    assert_eq!(done["text"], "Done.");
    assert_eq!(client.asked[0]["method"], "user/ask");
    assert_eq!(client.asked[0]["params"]["options"], json!([{"label": "sqlite", "description": "small"}]));
    assert_eq!(client.asked[1]["method"], "approval/request");
    assert_eq!(client.asked[1]["params"]["agents"], json!(["a1"]));
    let said = client.until("turn").iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("postgres") && said.contains("It was refused."), "{said}");
    assert!(workspace.path().join("precious.txt").exists());
}

#[test]
fn a_client_may_bring_servers_and_choose_tools() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "from the server\n");
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    // A confined server can reach it there, wherever the checkout lies.
    let toolgate = testkit::WorldExecutableCopy::new(env!("CARGO_BIN_EXE_toolgate"));
    let servers = json!({"other": {"command": toolgate.path(), "args": ["mcp"], "approval": "allow"}});
    let id = client.start(
        &workspace,
        &json!({"mcp_servers": servers, "only_tools": ["list_dir", "mcp__other__read_file"]}),
    );
    let read = json!({"session_id": id, "tool": "mcp__other__read_file", "arguments": {"path": "a.txt"}});
    let answer = client.ok("tool/call", &read);
    assert!(answer["content_items"][0]["text"].as_str().unwrap().contains("from the server"), "{answer}");
    let tools = client.ok("tool/list", &json!({"session_id": id}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["list_dir", "mcp__other__read_file"]);
    let wrong = json!({"cwd": workspace.path(), "mcp_servers": {"bad": {}}});
    assert_eq!(client.fault("session/start", &wrong).0, -32602);
}

#[test]
fn without_a_required_server_a_session_makes_no_call_and_asks_no_model() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let settings = home.path().join(".config/toolgate");
    fs::create_dir_all(&settings).unwrap();
    let required = "[mcp_servers.docs]\ncommand = \"no-such-program\"\nrequired = true\n";
    fs::write(settings.join("config.toml"), required).unwrap();
    let file = script(&home, "turns", &[json!({"items": [{"type": "message", "text": "I was asked."}]})]);
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let id = client.start(&workspace, &json!({"model": {"script": file}}));
    let call = json!({"session_id": id, "tool": "list_dir", "arguments": {"path": "."}});
    let answer = client.ok("tool/call", &call);
    assert!(answer["success"] == false && answer.to_string().contains("`docs` is required"), "{answer}");
    let prompted = client.ok("session/prompt", &json!({"session_id": id, "text": "go"}));
    assert_eq!((&prompted["ended"], &prompted["text"]), (&json!("failed"), &json!("")), "{prompted}");
    assert!(prompted["detail"].as_str().unwrap().contains("`docs` is required"), "{prompted}");
}

#[test]
fn a_client_reads_the_answer_of_a_call_that_the_end_of_the_server_stops() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let server = SocketServer::start(&home, "s");
    let mut client = server.client();
    let id = client.start(&workspace, &json!({}));
    let arguments = json!({"command": "touch started; sleep 600"});
    let call =
        client.send("tool/call", &json!({"session_id": id, "tool": "shell_command", "arguments": arguments}));
    let began = Instant::now();
    while !workspace.path().join("started").exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let answer = client.answer();
    assert_eq!(answer["id"], call, "{answer}");
    assert!(answer["result"]["success"] == false || answer["error"].is_object(), "{answer}");
    let cause = "the program was told to end (SIGTERM)";
    assert!(answer.to_string().contains(cause), "{answer}");
}
