//! Tests of the sandbox from outside: foreign sockets, warnings about weak confinement, required tier, disk limits.
//!
//! They use the real binary and the real sandbox.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

/// Time limit of any step.
const PATIENCE: Duration = Duration::from_secs(60);
const LESS: &str = "warning: commands are confined LESS than the policy says: secrets (`~/.ssh`, `.env` …) can be read by commands; git hooks";

fn toolgate() -> &'static str {
    env!("CARGO_BIN_EXE_toolgate")
}

/// A server at a socket; killed on drop.
struct WarningServer(Child);

impl WarningServer {
    fn start(home: &TestHome, cwd: &Path, socket: &Path) -> (Self, String) {
        Self::start_by(&[toolgate()], home, cwd, socket)
    }

    /// Starts the server by a command line before its arguments.
    fn start_by(argv: &[&str], home: &TestHome, cwd: &Path, socket: &Path) -> (Self, String) {
        let mut child = Command::new(argv[0])
            .args(&argv[1..])
            .args(["serve", "--socket", socket.to_str().unwrap()])
            .current_dir(cwd)
            .env_clear()
            .env("HOME", home.path())
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("warning:") {
            assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
        }
        // Rejections are reported on stderr: the pipe must stay open.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        (Self(child), said)
    }
}

impl Drop for WarningServer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Connects, and prints the server's message.
const CLIENT: &str = r#"import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print("CONNECTED", s.makefile().readline())
except OSError as error:
    print("ERROR", error)
"#;

#[test]
fn a_command_of_another_toolgate_is_not_let_in_by_a_server() {
    let (home, other, workspace) = (TestHome::new(), TestHome::new(), TestWorkspace::new());
    let socket = workspace.path().join("t.sock");
    workspace.write_file("client.py", CLIENT);
    let (_server, said) = WarningServer::start(&home, &workspace.path(), &socket);
    assert!(said.contains("where commands may be able to write"), "{said}");
    // The user's own programs are admitted.
    let mut own = UnixStream::connect(&socket).unwrap();
    own.set_read_timeout(Some(PATIENCE)).unwrap();
    own.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1,\"client\":{\"name\":\"test\"},\"capabilities\":{}}}\n").unwrap();
    let mut line = String::new();
    BufReader::new(own).read_line(&mut line).unwrap();
    assert!(line.contains("\"id\":1") && !line.contains("rejected"), "{line}");
    let at = socket.to_str().unwrap();
    let confined = |flags: &[&str]| {
        let argv = [&["sandbox"], flags, &["--", "python3", "client.py", at]].concat();
        other.run(&workspace.path(), &argv, "").out
    };
    for flags in [&[][..], &["--network", "on"], &["--tier", "landlock"]] {
        let out = confined(flags);
        assert!(out.contains("ERROR [Errno 13]"), "{flags:?}: {out}");
    }
    // Even with access to the socket.
    for tier in ["namespaces", "landlock"] {
        let out = confined(&["--unix-socket", at, "--tier", tier]);
        assert!(out.contains("rejected"), "{tier}: {out}");
    }
    let out = confined(&["--mode", "danger-full-access"]);
    assert!(out.contains("a tool of Toolgate has started it"), "{out}");
}

#[test]
fn a_container_of_the_same_pod_is_let_in_if_its_processes_can_be_seen() {
    if !rustix::process::geteuid().is_root() {
        testkit::not_run("a peer in another PID namespace", "only root makes one without a user namespace");
        return;
    }
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let socket = workspace.path().join("t.sock");
    // A rejected client cannot send, and still reads why.
    let sends = "    try: s.sendall(b'{}\\n')\n    except BrokenPipeError: pass\n    print(\"CONN";
    workspace.write_file("client.py", CLIENT.replace("    print(\"CONN", sends));
    let (_server, _) = WarningServer::start(&home, &workspace.path(), &socket);
    let in_container = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", toolgate()];
    let other = TestHome::new();
    let apart = workspace.path().join("apart.sock");
    let (_apart, _) = WarningServer::start_by(&in_container, &other, &workspace.path(), &apart);
    let client = |socket: &Path, namespaces: &[&str]| {
        let done = Command::new("unshare")
            .args(namespaces)
            .args(["python3", "client.py", socket.to_str().unwrap()])
            .current_dir(workspace.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
    };
    // Another container has a file system of its own, and without `shareProcessNamespace` its own processes.
    let shared = client(&socket, &["--mount"]);
    assert!(shared.contains("CONNECTED") && !shared.contains("rejected"), "{shared}");
    let apart = client(&apart, &["--mount", "--pid", "--fork", "--mount-proc"]);
    assert!(apart.contains("its process cannot be seen from here"), "{apart}");
    let confined = client(&socket, &["--user", "--map-root-user"]);
    assert!(confined.contains("it is in another user namespace"), "{confined}");
}

#[test]
fn a_client_that_leaves_at_once_is_not_reported() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let (socket, log) = (workspace.path().join("t.sock"), home.path().join("log"));
    let mut server = Command::new(toolgate())
        .args(["serve", "--socket", socket.to_str().unwrap()])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let leaves = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\nwhile True:\n  try:\n    s.connect(sys.argv[1])\n    os._exit(0)\n  except OSError: pass\n";
    for _ in 0..20 {
        let left = Command::new("python3").args(["-c", leaves, socket.to_str().unwrap()]).status();
        assert!(left.unwrap().success());
    }
    // The connections before this one have been judged when it is answered.
    let mut last = UnixStream::connect(&socket).unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    last.write_all(b"{}\n").unwrap();
    BufReader::new(last).read_line(&mut String::new()).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("serving at") && !said.contains("rejected"), "{said}");
}

#[test]
fn without_proc_nothing_runs_and_the_reason_is_said() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let command = r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "true"}}"#;
    workspace.write_file("script.jsonl", format!("{{\"items\": [{command}]}}\n"));
    let without_proc = |args: &[&str]| {
        let script = r#"mount -t tmpfs tmpfs /proc && exec "$@""#;
        let done = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", toolgate()])
            .args(args)
            .current_dir(workspace.path())
            .env("HOME", home.path())
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for (args, status) in [
        (&["run", "--script", "script.jsonl", "go"][..], 4),
        (&["sandbox", "--", "true"], 125),
        (&["call", "exec_command", "--json", r#"{"cmd":"true"}"#], 1),
    ] {
        let (code, said) = without_proc(args);
        assert_eq!(code, Some(status), "{args:?}: {said}");
        assert!(said.contains("/proc is not mounted"), "{args:?}: {said}");
    }
}

#[test]
fn every_entry_point_reports_gaps_before_the_first_command() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file(
        "s.jsonl",
        "{\"items\":[{\"type\":\"function_call\",\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"echo ran\"}}]}\n",
    );
    let call = r#"{"type":"function_call","call_id":"c","name":"shell_command","arguments":"{\"command\":\"echo ran\"}"}"#;
    let calls = format!("{call}\n{}\n", call.replace("\"c\"", "\"d\""));
    let run = |argv: &[&str], stdin: &str| home.run(&workspace.path(), argv, stdin);
    for (argv, stdin) in [
        (&["sandbox", "--tier", "landlock", "--", "echo", "ran"][..], ""),
        (&["call", "exec_command", "--tier", "landlock", "--json", r#"{"cmd":"echo ran"}"#], ""),
        (&["run", "--tier", "landlock", "--script", "s.jsonl", "go"], ""),
        (&["run", "--tier", "landlock", "--json", "--script", "s.jsonl", "go"], ""),
        (&["pipe", "--tier", "landlock", "--events"], calls.as_str()),
    ] {
        let CommandRun { out, err, code } = run(argv, stdin);
        assert_eq!(code, Some(0), "{argv:?}: {err}");
        assert_eq!(err.matches(LESS).count(), 1, "{argv:?}: {err}");
        let is_json = argv.contains(&"--json") && argv[0] == "run" || argv[0] == "pipe";
        if is_json {
            assert!(
                out.contains(r#""gaps":["#) && out.contains("can be read by commands"),
                "{argv:?}: {out}"
            );
            let (warned, ran) =
                (out.find(r#""event":"warning""#).unwrap(), out.find(r#""event":"finished""#).unwrap());
            assert!(warned < ran, "{out}");
        }
    }
    // With full confinement there is no warning.
    let CommandRun { err, .. } = run(&["sandbox", "--", "echo", "ran"], "");
    assert_eq!(err, "");
}

#[test]
fn servers_warn_about_weaker_confinement() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let path = workspace.path();
    let cwd = path.to_str().unwrap();
    let rpc = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"test"},"capabilities":{}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"session/start","params":{{"cwd":"{cwd}"}}}}"#),
    ];
    let mcp = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell_command","arguments":{"command":"echo ran"}}}"#.to_owned(),
    ];
    for (argv, lines, call) in [
        (&["serve", "--tier", "landlock"][..], &rpc[..], true),
        (&["mcp", "--tier", "landlock"], &mcp[..], false),
    ] {
        let mut child = Command::new(toolgate())
            .args(argv)
            .current_dir(workspace.path())
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        for line in lines {
            writeln!(input, "{line}").unwrap();
        }
        let mut heard = String::new();
        let began = Instant::now();
        while !heard.contains("\"id\":2") {
            assert!(began.elapsed() < PATIENCE && output.read_line(&mut heard).unwrap() > 0, "{heard}");
        }
        if call {
            let session = heard.split("\"session_id\":\"").nth(1).unwrap().split('"').next().unwrap();
            let called = format!(
                r#"{{"jsonrpc":"2.0","id":3,"method":"tool/call","params":{{"session_id":"{session}","tool":"shell_command","arguments":{{"command":"echo ran"}}}}}}"#
            );
            writeln!(input, "{called}").unwrap();
            while !heard.contains("\"id\":3") {
                assert!(began.elapsed() < PATIENCE && output.read_line(&mut heard).unwrap() > 0, "{heard}");
            }
        }
        assert!(heard.contains("ran"), "{heard}");
        // The client receives it as an event.
        assert!(!call || heard.contains("confined LESS"), "{heard}");
        drop(input);
        let said = child.wait_with_output().unwrap();
        let said = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.matches(LESS).count(), 1, "{argv:?}: {said} {heard}");
    }
}

/// A sandbox inside another one cannot create namespaces, as in most containers.
#[test]
fn without_namespaces_nothing_runs_unless_a_weaker_tier_is_accepted() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let inside = |argv: &[&str]| {
        // The program may lie below `/tmp`, which a sandbox replaces.
        let program = std::path::Path::new(toolgate()).parent().unwrap().to_str().unwrap();
        let argv = [&["sandbox", "--read-root", program, "--", toolgate()], argv].concat();
        home.run(&workspace.path(), &argv, "")
    };
    let ran = inside(&["sandbox", "--", "echo", "ran"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(125), ""), "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    let begins = [
        "error: nothing is run: the policy demands at least namespaces, and this machine refuses namespaces (",
        "hint: `toolgate doctor` shows the fix",
        "hint: `--require landlock`, or `confinement.require = \"landlock\"` in the user's own configuration, runs commands, \
         which can then read secrets and change git hooks",
    ];
    // A machine with a known fix has more hints between the last two.
    let last = lines.len() - 1;
    assert!(last >= 2 && lines[2..last].iter().all(|line| line.starts_with("hint: ")), "{}", ran.err);
    for (line, begin) in [lines[0], lines[1], lines[last]].into_iter().zip(begins) {
        assert!(line.starts_with(begin) && line.len() < 200, "{}", ran.err);
    }
    let ran = inside(&["sandbox", "--require", "landlock", "--", "echo", "ran"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ran\n"), "{}", ran.err);
    assert!(ran.err.contains(LESS), "{}", ran.err);
    let ran = inside(&["call", "exec_command", "--json", r#"{"cmd":"echo ran"}"#]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.err.matches("nothing is run").count(), 1, "{}", ran.err);
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("hint: `--require landlock`")).count(), 1);
    // A run warns before the first command, and says each fact and each hint once.
    let command = r#"{"type": "function_call", "name": "exec_command", "arguments": {"cmd": "echo ran"}}"#;
    workspace.write_file("script.jsonl", format!("{{\"items\": [{command}, {command}]}}\n"));
    let program = std::path::Path::new(toolgate()).parent().unwrap().to_str().unwrap();
    let outer = ["sandbox", "--read-root", program, "--env", "XDG_STATE_HOME=/tmp/state", "--", toolgate()];
    let inner = ["run", "--script", "script.jsonl", "go"];
    let ran = home.run(&workspace.path(), &[&outer[..], &inner].concat(), "");
    let warning =
        "warning: commands are not run: this machine cannot confine them as the policy demands\nhint: ";
    let (before, after) = ran.err.split_once(warning).unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    assert!(!before.contains("exec_command"), "{before}");
    for part in ["hint: `--require landlock`", "read secrets"] {
        assert_eq!((after.matches(part).count(), before.matches(part).count()), (1, 0), "{}", ran.err);
    }
    // The demo accepts weaker confinement, and reports what does not hold.
    let ran = inside(&["demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains(LESS) && ran.err.contains("✓ exec_command sh check.sh"),
        "{}{}",
        ran.err,
        ran.out
    );
}

#[test]
fn project_cannot_accept_a_weaker_tier() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    for text in ["require = \"nothing\"", "require = \"landlock\"", "tmp_mb = 1000000", "shm_mb = 1000000"] {
        workspace.write_file("toolgate.toml", format!("[confinement]\n{text}\n"));
        let ran = home.run(&workspace.path(), &["tools"], "");
        let key = text.split(' ').next().unwrap();
        assert_eq!(ran.code, Some(2), "{text}");
        assert!(ran.err.contains(&format!("`confinement.{key}` belongs in your own file")), "{}", ran.err);
    }
    workspace.write_file("toolgate.toml", "[confinement]\nrequire = \"namespaces\"\n");
    assert_eq!(home.run(&workspace.path(), &["tools"], "").code, Some(0));
}

#[test]
fn a_command_that_fills_the_disk_is_ended_and_told_why() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let own = home.path().join(".config/toolgate");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), "[confinement]\ntmp_mb = 100\nshm_mb = 20\n").unwrap();
    let call = |cmd: &str| {
        let arguments = serde_json::json!({ "cmd": cmd, "yield_time_ms": 30_000 }).to_string();
        home.run(&workspace.path(), &["call", "exec_command", "--json", &arguments], "").out
    };
    let out = call("head -c 400M /dev/zero > /tmp/bomb; sleep 3600; echo over");
    assert!(out.contains("there were more than 100 MB in the session's `/tmp`"), "{out}");
    assert!(!out.contains("over"), "{out}");
    // Files that are deleted but open count too, and writes while space is freed elsewhere.
    for cmd in [
        "exec 3> /tmp/x; rm /tmp/x; head -c 150M /dev/zero >&3; sleep 3600; echo over",
        "head -c 400M /dev/zero > big; sleep 1; rm big; head -c 150M /dev/zero > /tmp/x; sleep 3600; echo over",
    ] {
        let out = call(cmd);
        assert!(out.contains("there were more than 100 MB") && !out.contains("over\n"), "{cmd}: {out}");
    }
    let ran = home.run(
        &workspace.path(),
        &["sandbox", "--", "sh", "-c", "head -c 400M /dev/zero > /tmp/x; sleep 3600"],
        "",
    );
    assert!(ran.err.contains("there were more than 100 MB"), "{}", ran.err);
    let out =
        call("head -c 50M /dev/zero > /dev/shm/x; echo status $?; df --output=size -BM /dev/shm | tail -1");
    assert!(out.contains("No space left on device") && out.contains("20M"), "{out}");
    let out = call("head -c 50M /dev/zero > /tmp/some; sleep 1; echo over");
    assert!(out.contains("over"), "{out}");
}

#[test]
fn a_home_as_a_workspace_is_warned_about() {
    let home = TestWorkspace::new();
    home.write_file(".bashrc", "mine\n");
    let run = |cwd: &Path, home: &Path| {
        let mut command = Command::new(toolgate());
        let command = command.args(["sandbox", "--", "sh", "-c", "echo evil >> .bashrc; echo x > notes"]);
        let ran = command.current_dir(cwd).env("HOME", home).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let said = run(&home.path(), &home.path());
    assert!(said.contains("warning: the workspace is your home directory"), "{said}");
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
    assert_eq!((read(".bashrc").as_str(), read("notes").as_str()), ("mine\n", "x\n"));
    home.write_file("project/x", "");
    let said = run(&home.path().join("project"), &home.path());
    assert!(!said.contains("home directory"), "{said}");
    let said = run(&home.path(), &home.path().join("project"));
    assert!(said.contains("warning: the workspace contains your home directory"), "{said}");
}

#[test]
fn explain_lists_each_gap_on_a_line_of_its_own() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let ran = home.run(
        &workspace.path(),
        &["sandbox", "--tier", "landlock", "--require", "landlock", "--explain", "--", "true"],
        "",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut lines = ran.err.lines().skip_while(|line| *line != "enforced: partial, with these gaps:").skip(1);
    let gaps: Vec<&str> = lines.by_ref().take_while(|line| line.starts_with("  - ")).collect();
    let is_listed = gaps.contains(&"  - secrets (`~/.ssh`, `.env` …) can be read by commands");
    assert!(gaps.len() > 3 && is_listed, "{}", ran.err);
}
