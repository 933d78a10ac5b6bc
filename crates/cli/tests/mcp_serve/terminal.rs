//! `toolgate approve`: somebody at another terminal answers, and nobody else does.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::process::{PATIENCE, Server, World, mode, text};

const TERMINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keep_working/terminal.py");
const ASKS: &str = "Answer (y s n e q): ";

fn call() -> Value {
    json!({ "name": "shell_command", "arguments": { "command": "rm -rf x; echo done it" } })
}

/// A terminal with `toolgate approve` at it, at which `talk` is typed.
struct Terminal(Child);

impl Terminal {
    fn of(world: &World, talk: &[(&str, &str)]) -> Self {
        let mut command = Command::new("python3");
        command.args([TERMINAL, &talk.len().to_string()]);
        command.args(talk.iter().flat_map(|(wait, send)| [wait, send]));
        command.args([env!("CARGO_BIN_EXE_toolgate"), "approve"]);
        command.env("HOME", world.home.path()).env("TERM", "xterm");
        command.env_remove("TOOLGATE_HOME").env_remove("XDG_RUNTIME_DIR").env_remove("XDG_STATE_HOME");
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // With it goes the terminal, and with that what sits at it.
        let _over = self.0.kill();
        let _over = self.0.wait();
    }
}

/// The result of the call, once somebody is there to be asked.
fn answered(server: &mut Server) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let result = server.ask("tools/call", &call())["result"].clone();
        if !text(&result).contains("nobody can be asked here") {
            return result;
        }
        assert!(Instant::now() < until, "nobody came to answer");
    }
}

#[test]
fn somebody_at_another_terminal_answers() {
    for (talk, runs, says) in [
        (&[(ASKS, "y")][..], true, "done it"),
        (&[(ASKS, "n")], false, "denied by the user"),
        (&[(ASKS, "e"), ("Note", "use git clean\\r")], false, "use git clean"),
        (&[(ASKS, "q")], false, "stopped"),
    ] {
        let world = World::new();
        let _terminal = Terminal::of(&world, talk);
        let mut server = world.greeted(&[], &json!({}));
        let result = answered(&mut server);
        assert_eq!(result["isError"], !runs, "{talk:?}: {result}");
        assert!(text(&result).contains(says), "{talk:?}: {result}");
    }
}

#[test]
fn what_is_allowed_for_the_session_is_asked_once() {
    let world = World::new();
    let _terminal = Terminal::of(&world, &[(ASKS, "s")]);
    let mut server = world.greeted(&[], &json!({}));
    for _ in 0..3 {
        assert!(text(&answered(&mut server)).contains("done it"));
    }
}

/// A line of the counter.
fn hear(lines: &mut BufReader<UnixStream>) -> Option<Value> {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).ok()
}

/// Connects to the server as a terminal does.
fn connected(world: &World, server: &Server) -> (UnixStream, BufReader<UnixStream>) {
    let path = world.counters().join(format!("mcp-{}.sock", server.id()));
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
    assert_eq!((mode(&path), mode(&world.counters())), (0o600, 0o700));
    (stream, lines)
}

#[test]
fn whoever_answers_first_has_answered() {
    let world = World::new();
    let mut server = world.greeted(&[], &json!({ "elicitation": {} }));
    let (mut stream, mut lines) = connected(&world, &server);
    // The client first: the terminal hears that the question is settled.
    server.request("tools/call", &call());
    let form = server.hear();
    let question = hear(&mut lines).unwrap();
    assert_eq!((&form["method"], &question["type"]), (&json!("elicitation/create"), &json!("question")));
    server.answer(&form, &json!({ "action": "accept", "content": { "answer": "yes, once" } }));
    assert!(text(&server.hear()["result"]).contains("done it"));
    assert_eq!(hear(&mut lines).unwrap(), json!({ "type": "settled", "id": question["id"] }));
    // The terminal first: what the client says then counts for nothing.
    let id = server.request("tools/call", &call());
    let form = server.hear();
    let question = hear(&mut lines).unwrap();
    let answer = |digest: &Value, said: Value| json!({ "type": "answer", "id": question["id"], "digest": digest, "said": said });
    // An answer to something else that was shown is none.
    writeln!(stream, "{}", answer(&json!("00"), json!("once"))).unwrap();
    writeln!(stream, "{}", answer(&question["digest"], json!({ "no": { "note": "from the terminal" } })))
        .unwrap();
    assert_eq!(hear(&mut lines).unwrap()["type"], "settled");
    server.answer(&form, &json!({ "action": "accept", "content": { "answer": "yes, once" } }));
    let said = std::iter::repeat_with(|| server.hear()).find(|said| said["id"] == id).unwrap();
    assert!(text(&said["result"]).contains("from the terminal"), "{said}");
}

#[test]
fn the_socket_goes_with_its_server() {
    let world = World::new();
    let server = world.greeted(&[], &json!({}));
    let path = world.counters().join(format!("mcp-{}.sock", server.id()));
    drop(connected(&world, &server));
    assert!(path.exists());
    assert_eq!(server.leave().0, Some(0));
    assert!(!path.exists());
}

/// Tries to come to a counter: `heard` if the server said anything.
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
        // Not even if nobody sees any more whose child it was.
        (
            "danger-full-access",
            "(setsid python3 try.py {} >out 2>&1 &); while ! [ -s out ]; do :; done; cat out; :",
        ),
    ] {
        let world = World::new();
        world.work.file("try.py", TRY);
        let mut server = world.greeted(&["--sandbox", sandbox], &json!({}));
        drop(connected(&world, &server));
        let path = world.counters().join(format!("mcp-{}.sock", server.id())).display().to_string();
        let script = format!("{} {path}", script.replace("{}", &path));
        let result = server.call("exec_command", &json!({ "cmd": script, "yield_time_ms": 30000 }));
        assert!(text(&result).contains("refused"), "{sandbox}: {result}");
    }
}

#[test]
fn without_a_terminal_there_is_nobody_to_ask() {
    let world = World::new();
    let ran = world.command(&["approve"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("there is no terminal"));
}
