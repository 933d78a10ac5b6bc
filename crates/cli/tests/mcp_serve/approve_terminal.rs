//! Tests of `toolgate approve`: only the user can answer, at another terminal, and stale sockets are removed.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::server_process::{McpFixture, McpServerProcess, PATIENCE, file_mode, result_text, stateless_meta};

const TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keep_working/terminal.py");
const ASKS: &str = "Answer (y s n e q): ";

fn call() -> Value {
    json!({ "name": "shell_command", "arguments": { "command": "rm -rf x; echo done it" } })
}

/// A terminal that runs `toolgate approve`, with `talk` typed at it.
struct ApproveTerminal(Child);

impl ApproveTerminal {
    fn start(world: &McpFixture, talk: &[(&str, &str)]) -> Self {
        let mut command = Command::new("python3");
        command.args([TERMINAL, &talk.len().to_string()]);
        command.args(talk.iter().flat_map(|(wait, send)| [wait, send]));
        command.args([env!("CARGO_BIN_EXE_toolgate"), "approve"]);
        command.env("HOME", world.home.path()).env("TERM", "xterm");
        command.env_remove("TOOLGATE_HOME").env_remove("XDG_STATE_HOME");
        command.env("XDG_RUNTIME_DIR", world.home.path());
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for ApproveTerminal {
    fn drop(&mut self) {
        // Killing it closes the terminal, which ends the program on it.
        let _over = self.0.kill();
        let _over = self.0.wait();
    }
}

/// Returns the result of the call once an approver is connected.
fn answered(server: &mut McpServerProcess) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let result = server.ask("tools/call", &call())["result"].clone();
        if !result_text(&result).contains("no approver is available") {
            return result;
        }
        assert!(Instant::now() < until, "no approver connected");
    }
}

#[test]
fn approve_command_answers_a_question() {
    for (talk, runs, says) in [
        (&[(ASKS, "y")][..], true, "done it"),
        (&[(ASKS, "n")], false, "denied by the user"),
        (&[(ASKS, "e"), ("Note", "use git clean\\r")], false, "use git clean"),
        (&[(ASKS, "q")], false, "stopped"),
    ] {
        let world = McpFixture::new();
        let _terminal = ApproveTerminal::start(&world, talk);
        let mut server = world.serve_initialized(&[], &json!({}));
        let result = answered(&mut server);
        assert_eq!(result["isError"], !runs, "{talk:?}: {result}");
        assert!(result_text(&result).contains(says), "{talk:?}: {result}");
    }
}

#[test]
fn a_server_is_found_whose_client_does_not_hand_on_the_environment() {
    let world = McpFixture::new();
    let _terminal = ApproveTerminal::start(&world, &[(ASKS, "y")]);
    let mut server = world.serve_bare_env().initialized(&json!({}));
    assert!(result_text(&answered(&mut server)).contains("done it"));
}

#[test]
fn session_approval_at_a_terminal_is_asked_once() {
    let world = McpFixture::new();
    let _terminal = ApproveTerminal::start(&world, &[(ASKS, "s")]);
    let mut server = world.serve_initialized(&[], &json!({}));
    for _ in 0..3 {
        assert!(result_text(&answered(&mut server)).contains("done it"));
    }
}

/// Reads a line from the approval socket.
fn hear(lines: &mut BufReader<UnixStream>) -> Option<Value> {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).ok()
}

/// Connects to the server as a terminal does.
fn connected(world: &McpFixture, server: &McpServerProcess) -> (UnixStream, BufReader<UnixStream>) {
    let path = world.approval_socket_dirs().join(format!("mcp-{}.sock", server.id()));
    let until = Instant::now() + PATIENCE;
    let mut stream = loop {
        match UnixStream::connect(&path) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    writeln!(stream, r#"{{"type": "hello", "width": 80, "height": 24}}"#).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let hello = hear(&mut lines).unwrap();
    assert_eq!(hello["type"], "hello", "{hello}");
    assert_eq!((file_mode(&path), file_mode(&world.approval_socket_dirs())), (0o600, 0o700));
    (stream, lines)
}

#[test]
fn a_client_that_declines_at_once_does_not_answer_for_the_terminal() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({ "elicitation": {} }));
    let (mut stream, mut lines) = connected(&world, &server);
    let id = server.request("tools/call", &call());
    let asked = server.next_message();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    server.answer(&asked, &json!({ "action": "decline" }));
    // Messages are read in order: with this answer, the decline was read.
    assert_eq!(server.call("list_dir", &json!({ "path": "." }))["isError"], false);
    let question = hear(&mut lines).unwrap();
    assert_eq!(question["type"], "question", "{question}");
    let answer =
        json!({ "type": "answer", "id": question["id"], "digest": question["digest"], "said": "once" });
    writeln!(stream, "{answer}").unwrap();
    let answered = server.next_message();
    assert_eq!(answered["id"], id, "{answered}");
    assert!(result_text(&answered["result"]).contains("done it"), "{answered}");
}

#[test]
fn a_yes_runs_nothing_for_a_client_that_has_left() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({ "elicitation": {} }));
    let (mut stream, mut lines) = connected(&world, &server);
    server.request(
        "tools/call",
        &json!({ "name": "shell_command", "arguments": { "command": "rm -rf x; touch ran" } }),
    );
    let question = hear(&mut lines).unwrap();
    assert_eq!(question["type"], "question", "{question}");
    server.close_input();
    // It is closed before the server ends, which waits for its calls.
    assert_eq!(hear(&mut lines), Some(json!({ "type": "settled", "id": question["id"] })));
    let yes = json!({ "type": "answer", "id": question["id"], "digest": question["digest"], "said": "once" });
    let _server_may_be_gone = writeln!(stream, "{yes}");
    assert_eq!(server.disconnect().0, Some(0));
    assert!(!world.work.path().join("ran").exists());
}

#[test]
fn first_answer_wins() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({ "elicitation": {} }));
    let (mut stream, mut lines) = connected(&world, &server);
    // The client answers first: the terminal is told that the question is settled.
    server.request("tools/call", &call());
    let form = server.next_message();
    let question = hear(&mut lines).unwrap();
    assert_eq!((&form["method"], &question["type"]), (&json!("elicitation/create"), &json!("question")));
    let yes = json!({ "action": "accept", "content": { "answer": "yes" } });
    assert!(result_text(&server.answer_form(&form, &yes)["result"]).contains("done it"));
    assert_eq!(hear(&mut lines).unwrap(), json!({ "type": "settled", "id": question["id"] }));
    assert_eq!(question["form_keeper"], Value::Null, "this era withdraws a form");
    // The terminal answers first: the client's later answer has no effect.
    let id = server.request("tools/call", &call());
    let form = server.next_message();
    let question = hear(&mut lines).unwrap();
    let answer = |digest: &Value, said: Value| json!({ "type": "answer", "id": question["id"], "digest": digest, "said": said });
    // An answer for another question is ignored.
    writeln!(stream, "{}", answer(&json!("00"), json!("once"))).unwrap();
    writeln!(stream, "{}", answer(&question["digest"], json!({ "no": { "note": "from the terminal" } })))
        .unwrap();
    assert_eq!(hear(&mut lines).unwrap()["type"], "settled");
    server.answer(&form, &json!({ "action": "accept", "content": { "answer": "yes" } }));
    let said = std::iter::repeat_with(|| server.next_message()).find(|said| said["id"] == id).unwrap();
    assert!(result_text(&said["result"]).contains("from the terminal"), "{said}");
}

#[test]
fn a_terminal_says_that_a_form_stays_open_which_cannot_be_withdrawn() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let mut params = call();
    params["_meta"] = stateless_meta(&json!({ "elicitation": {} }));
    let asked = server.ask("tools/call", &params)["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    // The terminal ends with Ctrl-C, after it has said so.
    let talk = [(ASKS, "n"), ("the form in test stays open", "\\x03")];
    let mut terminal = ApproveTerminal::start(&world, &talk);
    assert_eq!(terminal.0.wait().unwrap().code(), Some(130));
    let name = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let yes = json!({ "action": "accept", "content": { "answer": "yes" } });
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ name.as_str(): yes });
    let late = server.ask("tools/call", &params)["result"].clone();
    assert_eq!(result_text(&late), "denied by the user", "{late}");
}

#[test]
fn a_terminal_says_nothing_of_a_form_that_the_client_did_not_show() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let (mut stream, mut lines) = connected(&world, &server);
    let mut params = call();
    params["_meta"] = stateless_meta(&json!({ "elicitation": {} }));
    let asked = server.ask("tools/call", &params)["result"].clone();
    let question = hear(&mut lines).unwrap();
    assert_eq!(question["form_keeper"], "test");
    // As `claude -p` does.
    let name = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ name.as_str(): { "action": "cancel" } });
    let id = server.request("tools/call", &params);
    assert_eq!(hear(&mut lines).unwrap(), json!({ "type": "form_closed", "id": question["id"] }));
    let (id_asked, digest) = (&question["id"], &question["digest"]);
    writeln!(stream, "{}", json!({ "type": "answer", "id": id_asked, "digest": digest, "said": "once" }))
        .unwrap();
    let done = server.next_message();
    assert!(done["id"] == id && result_text(&done["result"]).contains("done it"), "{done}");
}

#[test]
fn the_socket_goes_with_its_server() {
    let world = McpFixture::new();
    let server = world.serve_initialized(&[], &json!({}));
    let path = world.approval_socket_dirs().join(format!("mcp-{}.sock", server.id()));
    drop(connected(&world, &server));
    assert!(path.exists());
    assert_eq!(server.disconnect().0, Some(0));
    assert!(!path.exists());
}

#[test]
fn a_server_that_is_told_to_end_takes_its_socket_away() {
    for (signal, code) in [("HUP", 129), ("TERM", 143), ("INT", 130)] {
        let world = McpFixture::new();
        let server = world.serve_initialized(&[], &json!({}));
        drop(connected(&world, &server));
        let path = world.approval_socket_dirs().join(format!("mcp-{}.sock", server.id()));
        assert_eq!(server.send_signal(signal), Some(code));
        assert!(!path.exists(), "{signal}");
    }
}

#[test]
fn silent_connections_do_not_block_others() {
    let world = McpFixture::new();
    let server = world.serve_initialized(&[], &json!({}));
    drop(connected(&world, &server));
    let path = world.approval_socket_dirs().join(format!("mcp-{}.sock", server.id()));
    let mut silent: Vec<UnixStream> = (0..64).map(|_| UnixStream::connect(&path).unwrap()).collect();
    drop(connected(&world, &server));
    // Silent connections are not waited for.
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn only_sockets_that_were_left_behind_are_taken_away() {
    let world = McpFixture::new();
    let at = |name: &str| world.approval_socket_dirs().join(name);
    std::fs::DirBuilder::new().mode(0o700).create(world.approval_socket_dirs()).unwrap();
    std::fs::write(at("mcp-1.sock"), "a file").unwrap();
    std::os::unix::fs::symlink(at("mcp-3.sock"), at("mcp-2.sock")).unwrap();
    for name in ["mcp-3.sock", "mcp-4.sock"] {
        drop(UnixListener::bind(at(name)).unwrap());
    }
    assert!(
        Command::new("touch").args(["-d", "1 hour ago"]).arg(at("mcp-3.sock")).status().unwrap().success()
    );
    let _terminal = ApproveTerminal::start(&world, &[]);
    let until = Instant::now() + PATIENCE;
    while at("mcp-3.sock").exists() {
        assert!(Instant::now() < until, "the socket is still there");
        std::thread::yield_now();
    }
    // The last socket is new: its server may be about to listen.
    let left =
        ["mcp-1.sock", "mcp-2.sock", "mcp-4.sock"].map(|name| std::fs::symlink_metadata(at(name)).is_ok());
    assert_eq!(left, [true, true, true]);
}

/// Runs `toolgate approve` at a terminal, sends a signal during a question, and reports whether the terminal was
/// restored.
const SIGNALLED: &str = "import fcntl, os, pty, signal, sys, termios
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while b'Answer (' not in seen:
    seen += os.read(master, 65536)
asking = termios.tcgetattr(slave)
os.kill(child, getattr(signal, 'SIG' + sys.argv[1]))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(asking != before, termios.tcgetattr(slave) == before, code)
";

#[test]
fn terminal_is_restored_after_any_signal() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let world = McpFixture::new();
        let mut terminal = Command::new("python3");
        terminal.args(["-c", SIGNALLED, signal, env!("CARGO_BIN_EXE_toolgate"), "approve"]);
        terminal.env("HOME", world.home.path()).env("XDG_RUNTIME_DIR", world.home.path());
        terminal.env("TERM", "xterm").env_remove("TOOLGATE_HOME").env_remove("XDG_STATE_HOME");
        let terminal = terminal.stdout(Stdio::piped()).spawn().unwrap();
        let mut server = world.serve_initialized(&[], &json!({}));
        let _refused = answered(&mut server);
        let said = terminal.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), format!("True True {code}\n"), "{signal}");
    }
}

/// Tries to connect to an approval socket: prints `heard` if the server sent anything.
const TRY: &str = "import socket, sys
peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(sys.argv[1])
    peer.send(b'{\"type\": \"hello\", \"width\": 80, \"height\": 24}\\n')
    print('heard' if peer.recv(99) else 'refused')
except OSError as error:
    print('refused', type(error).__name__)
";

#[test]
fn a_command_cannot_answer_for_itself() {
    for (sandbox, script) in [
        ("read-only", "python3 try.py"),
        ("workspace-write", "python3 try.py"),
        ("danger-full-access", "python3 try.py"),
        // Also if its parent is no longer visible.
        (
            "danger-full-access",
            "(setsid python3 try.py {} >out 2>&1 &); while ! [ -s out ]; do :; done; cat out; :",
        ),
    ] {
        let world = McpFixture::new();
        world.work.write_file("try.py", TRY);
        let mut server = world.serve_initialized(&["--sandbox", sandbox], &json!({}));
        drop(connected(&world, &server));
        let path =
            world.approval_socket_dirs().join(format!("mcp-{}.sock", server.id())).display().to_string();
        let script = format!("{} {path}", script.replace("{}", &path));
        let result = server.call("exec_command", &json!({ "cmd": script, "yield_time_ms": 30000 }));
        assert!(result_text(&result).contains("refused"), "{sandbox}: {result}");
    }
}

#[test]
fn a_confined_command_answers_for_no_other_server_wherever_that_waits() {
    let world = McpFixture::new();
    world.work.write_file("try.py", TRY);
    let other = world.serve_bare_env().initialized(&json!({}));
    let name = format!("mcp-{}.sock", other.id());
    let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(world.home.path()).unwrap());
    let places =
        [format!("/run/user/{user}/toolgate").into(), world.home.path().join(".local/state/toolgate/run")];
    let until = Instant::now() + PATIENCE;
    let path = loop {
        match places.iter().map(|place: &std::path::PathBuf| place.join(&name)).find(|path| path.exists()) {
            Some(path) => break path,
            None => assert!(Instant::now() < until, "it waits nowhere"),
        }
    };
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let script = format!("python3 try.py {}", path.display());
    let result = server.call("exec_command", &json!({ "cmd": script, "yield_time_ms": 30000 }));
    assert!(result_text(&result).contains("refused"), "{result}");
}

#[test]
fn approve_requires_a_terminal() {
    let world = McpFixture::new();
    let ran = world.command(&["approve"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("there is no terminal"));
}
