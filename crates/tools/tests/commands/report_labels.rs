//! Tests the reports on commands and sessions: labels, exit codes, listing, killing, limits, lost supervisors.

use std::time::Duration;

use engine::CallLimits;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tool::ToolErrorKind;

use crate::harness::{
    CommandHarness, CommandToolsSetup, assert_none_left, eventually, output_text, processes_with_mark,
    python_path, session_id, unique_sleep_mark,
};

pub(crate) fn one_shot_report_labels() {
    let bench = CommandHarness::new();
    let run = |script: &str| bench.normalized(&bench.run_script(script));
    assert_snapshot!(run("echo out"), @"
    Exit code: 0
    Wall time: T seconds
    Output:
    out
    ");
    assert_snapshot!(run("echo out; sleep 0.1; echo err >&2; exit 3"), @"
    Exit code: 3
    Wall time: T seconds
    Output:
    out
    err
    ");
    assert_snapshot!(run(""), @"
    Exit code: 0
    Wall time: T seconds
    Output:
    ");
    assert_snapshot!(run("printf 'no newline'"), @"
    Exit code: 0
    Wall time: T seconds
    Output:
    no newline
    ");
    assert_snapshot!(run("kill -KILL $$"), @"
    Exit code: 137 (SIGKILL)
    Wall time: T seconds
    Output:
    ");
    assert_snapshot!(run("exit 137"), @"
    Exit code: 137
    Wall time: T seconds
    Output:
    ");
    let facts = |script: &str| {
        let answer = bench.run_script(script);
        (answer.success, answer.facts.exit_code, answer.facts.error)
    };
    assert_eq!(facts("exit 0"), (true, Some(0), None));
    assert_eq!(facts("exit 255"), (false, Some(255), None));
    assert_eq!(facts("kill -SEGV $$"), (false, Some(139), None));
    // A script has the labels of a program.
    let script = json!({"command": "echo out; exit 3"});
    assert_eq!(
        bench.call_text("shell_command", &script),
        "Exit code: 3\nWall time: T seconds\nOutput:\nout\n"
    );
}

pub(crate) fn one_shot_report_labels_after_a_halt() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let script = format!("echo before; sleep 0.1; echo aside >&2; sleep {mark}");
    let arguments = json!({"command": ["bash", "-c", script], "timeout_ms": 700});
    let answer = bench.call("shell", &arguments);
    assert_snapshot!(bench.normalized(&answer), @"
    command timed out after 700 milliseconds
    Exit code: 124
    Wall time: T seconds
    Ended: sleep (P)
    Output:
    before
    aside
    ");
    assert_eq!(
        (answer.success, answer.facts.exit_code, answer.facts.error),
        (false, Some(124), Some(ToolErrorKind::TimedOut))
    );
    assert_none_left(&mark);
    let arguments = json!({"command": ["bash", "-c", script], "timeout_ms": 60_000});
    let answer = bench.call_and_cancel("shell", &arguments, Duration::from_millis(700));
    assert_snapshot!(bench.normalized(&answer), @"
    aborted by the user after T seconds
    Exit code: 143 (SIGTERM)
    Wall time: T seconds
    Ended: sleep (P)
    Output:
    before
    aside
    ");
    assert_eq!((answer.success, answer.facts.error), (false, Some(ToolErrorKind::Cancelled)));
    assert_none_left(&mark);
    let arguments = json!({"cmd": script, "login": false, "yield_time_ms": 30_000});
    let answer = bench.call_and_cancel("exec_command", &arguments, Duration::from_millis(700));
    assert_snapshot!(bench.normalized(&answer), @"
    aborted by the user after T seconds
    Wall time: T seconds
    Process exited with code 143 (SIGTERM)
    Ended: sleep (P)
    Original token count: 4
    Output:
    before
    aside
    ");
    assert_eq!((answer.success, answer.facts.error), (false, Some(ToolErrorKind::Cancelled)));
    assert_none_left(&mark);
    // Output of a clean-up handler is included.
    let script = format!("trap 'echo cleaned up; exit 5' TERM; echo before; sleep {mark} & wait");
    let arguments = json!({"command": ["bash", "-c", script], "timeout_ms": 700});
    assert_snapshot!(bench.call_text("shell", &arguments), @"
    command timed out after 700 milliseconds
    Exit code: 124
    Wall time: T seconds
    Ended: bash (P), sleep (P)
    Output:
    before
    cleaned up
    ");
}

pub(crate) fn the_limit_for_one_call_is_named() {
    let limits = CallLimits { call_timeout: Duration::from_millis(700), ..CallLimits::default() };
    let bench = CommandToolsSetup { limits, ..CommandToolsSetup::default() }.harness();
    let mark = unique_sleep_mark();
    let script = format!("echo before; sleep {mark}");
    let arguments = json!({"command": ["bash", "-c", script], "timeout_ms": 60_000});
    let answer = bench.call("shell", &arguments);
    assert_snapshot!(bench.normalized(&answer), @"
    command timed out after 700 milliseconds, the limit for one call
    Exit code: 124
    Wall time: T seconds
    Ended: sleep (P)
    Output:
    before
    ");
    assert_eq!((answer.facts.exit_code, answer.facts.error), (Some(124), Some(ToolErrorKind::TimedOut)));
    let answer = bench.call("exec_command", &json!({"cmd": script, "login": false}));
    assert_snapshot!(bench.normalized(&answer), @"
    command timed out after 700 milliseconds, the limit for one call
    Wall time: T seconds
    Process exited with code 124
    Ended: sleep (P)
    Original token count: 2
    Output:
    before
    ");
    assert_none_left(&mark);
}

pub(crate) fn session_report_labels() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let start = |script: &str, more: Value| bench.normalized(&bench.start_script(script, &more));
    assert_snapshot!(start("echo out; sleep 0.1; echo err >&2", json!({"yield_time_ms": 30_000})), @"
    Wall time: T seconds
    Process exited with code 0
    Original token count: 2
    Output:
    out
    err
    ");
    assert_snapshot!(start("echo out; exit 3", json!({})), @"
    Wall time: T seconds
    Process exited with code 3
    Original token count: 1
    Output:
    out
    ");
    assert_snapshot!(start("kill -TERM $$", json!({})), @"
    Wall time: T seconds
    Process exited with code 143 (SIGTERM)
    Original token count: 0
    Output:
    ");
    assert_snapshot!(start(&format!("echo out; sleep {mark}"), json!({})), @"
    Wall time: T seconds
    Process running with session ID 1003
    Original token count: 1
    Output:
    out
    ");
    let prompt = format!("printf 'Name: '; read name; echo \"hello $name\"; sleep {mark}");
    assert_snapshot!(start(&prompt, json!({"stdin": true, "yield_time_ms": 30_000})), @"
    Wall time: T seconds
    Process running with session ID 1004
    It seems to wait for input: write_stdin answers it
    Original token count: 2
    Output:
    Name: 
    ");
    let typed = json!({"session_id": 1004, "chars": "Ada\n"});
    assert_snapshot!(bench.call_text("write_stdin", &typed), @"
    Wall time: T seconds
    Process running with session ID 1004
    Original token count: 3
    Output:
    hello Ada
    ");
    let answer = bench.start_script("exit 3", &json!({}));
    assert_eq!((answer.success, answer.facts.exit_code), (false, Some(3)));
    let answer = bench.start_script(&format!("sleep {mark}"), &json!({}));
    assert_eq!((answer.success, answer.facts.exit_code, answer.facts.error), (true, None, None));
}

pub(crate) fn exit_is_reported_once() {
    let bench = CommandHarness::new();
    let id = bench.start_background("echo one; read x; echo two; exit 4", &json!({"stdin": true}));
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "\n", "yield_time_ms": 30_000}));
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process exited with code 4
    Original token count: 1
    Output:
    two
    ");
    assert_eq!((answer.success, answer.facts.exit_code), (false, Some(4)));
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id})), @"the arguments do not fit at `session_id`: no session has the ID 1000 (an ended one is forgotten once its end was reported); there is none: start one with exec_command");
    assert_snapshot!(bench.call_text("kill_session", &json!({"session_id": id})), @"the arguments do not fit at `session_id`: no session has the ID 1000 (an ended one is forgotten once its end was reported); there is none: start one with exec_command");
    let other = bench.start_background("sleep 60", &json!({}));
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id, "chars": "x"})), @"the arguments do not fit at `session_id`: no session has the ID 1000 (an ended one is forgotten once its end was reported); there are 1001");
    // A session that ends between two calls: its output and exit status wait for the next call.
    let late = bench.start_background("echo one; sleep 0.4; echo two; exit 5", &json!({}));
    bench.wait_until_over(late);
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": late, "chars": "too late\n"})), @"
    Wall time: T seconds
    Process exited with code 5
    Original token count: 1
    Output:
    two
    ");
    assert!(bench.call("kill_session", &json!({"session_id": other})).success);
}

pub(crate) fn background_processes_are_reported() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let script = format!("sleep {mark} & echo started");
    let answer = bench.start_script(&script, &json!({"yield_time_ms": 30_000}));
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process exited with code 0
    Still running in the background: 1 process, as session ID 1000 (kill_session ends it)
    Original token count: 2
    Output:
    started
    ");
    assert_eq!((answer.success, answer.facts.exit_code, session_id(&answer)), (true, Some(0), Some(1000)));
    assert_eq!(processes_with_mark(&mark).len(), 1);
    let two = format!("sleep {mark} & sleep {mark} & exit 3");
    assert_eq!(bench.start_script(&two, &json!({"yield_time_ms": 30_000})).facts.exit_code, Some(3));
    assert_eq!(processes_with_mark(&mark).len(), 3);
    assert_snapshot!(bench.call_text("list_sessions", &json!({})).replace(&mark, "MARK"), @"
    2 sessions:
    1000: exited with code 0, background processes run for T s, lives as long as the session, 0 bytes not read: `sleep MARK & echo started` in $DIR
    1001: exited with code 3, background processes run for T s, lives as long as the session, 0 bytes not read: `sleep MARK & sleep MARK & exit 3` in $DIR
    ");
    assert_snapshot!(bench.call_text("kill_session", &json!({"session_id": 1001})), @"
    Wall time: T seconds
    Process exited with code 3
    Ended: sleep (P), sleep (P)
    Original token count: 0
    Output:
    ");
    assert_eq!(processes_with_mark(&mark).len(), 1);
    // A one-shot command leaves no process, and the report says so.
    let answer = bench.run_script(&two);
    assert_snapshot!(bench.normalized(&answer), @"
    Exit code: 3
    Wall time: T seconds
    Left running, so ended (exec_command keeps what runs in the background): sleep (P), sleep (P)
    Output:
    ");
    assert_eq!(processes_with_mark(&mark).len(), 1);
    assert_snapshot!(bench.normalized(&bench.run_script(&format!("for i in {{1..20}}; do sleep {mark} & done; echo all"))), @"
    Exit code: 0
    Wall time: T seconds
    Left running, so ended (exec_command keeps what runs in the background): sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P), sleep (P) and 4 more
    Output:
    all
    ");
    assert_eq!(processes_with_mark(&mark).len(), 1);
}

pub(crate) fn two_background_processes_are_plural() {
    let bench = CommandHarness::new();
    let answer = bench.start_script("sleep 60 & sleep 60 & exit 3", &json!({"yield_time_ms": 30_000}));
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process exited with code 3
    Still running in the background: 2 processes, as session ID 1000 (kill_session ends it)
    Original token count: 0
    Output:
    ");
}

pub(crate) fn sessions_are_listed() {
    let bench = CommandHarness::new();
    assert_snapshot!(bench.call_text("list_sessions", &json!({})), @"No sessions.");
    bench.workspace.write_file("sub/a", "");
    bench.start_background(
        "sleep 60 # the first line\nsleep 60",
        &json!({"workdir": "sub", "lifetime": "turn"}),
    );
    assert_snapshot!(bench.call_text("list_sessions", &json!({})), @"
    1 session:
    1000: running for T s, lives as long as the turn, 0 bytes not read: `sleep 60 # the first line…` in $DIR/sub
    ");
    let long = format!("sleep 60 #{}", "é".repeat(200));
    bench.start_background(&long, &json!({"tty": true, "lifetime": "keep"}));
    let quick = bench.start_background("sleep 0.4; echo unread; exit 3", &json!({}));
    bench.wait_until_over(quick);
    let killed = bench.start_background("sleep 0.4; kill -KILL $$", &json!({}));
    bench.wait_until_over(killed);
    let answer = bench.call("list_sessions", &json!({}));
    assert_snapshot!(bench.normalized(&answer), @"
    4 sessions:
    1000: running for T s, lives as long as the turn, 0 bytes not read: `sleep 60 # the first line…` in $DIR/sub
    1001: running for T s, terminal, lives as long as this process, 0 bytes not read: `sleep 60 #éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…` in $DIR
    1002: exited with code 3 for T s, lives as long as the session, 7 bytes not read: `sleep 0.4; echo unread; exit 3` in $DIR
    1003: ended by SIGKILL for T s, lives as long as the session, 0 bytes not read: `sleep 0.4; kill -KILL $$` in $DIR
    ");
    let sessions = answer.structured.unwrap()["sessions"].as_array().unwrap().clone();
    assert_eq!(sessions.len(), 4);
    let [first, second, third, fourth] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!(
        (&first["lifetime"], &first["tty"], &first["owner"]),
        (&json!("turn"), &json!(false), &json!("call"))
    );
    assert_eq!((&second["command"], &second["tty"]), (&json!(long), &json!(true)));
    assert_eq!((&third["state"], &third["unread_bytes"]), (&json!("exited with code 3"), &json!(7)));
    assert_eq!(fourth["state"], json!("ended by SIGKILL"));
    let pid = first["pid"].as_u64().unwrap();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
}

pub(crate) fn kill_session_ends_all_processes() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let script = format!("echo out; sleep {mark} & (setsid sleep {mark} &) ; exec sleep {mark}");
    let id = bench.start_background(&script, &json!({}));
    eventually("three of them", || {
        processes_with_mark(&mark).iter().filter(|line| line.starts_with("sleep")).count() == 3
    });
    let answer = bench.call("kill_session", &json!({"session_id": id}));
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process exited with code 143 (SIGTERM)
    Ended: sleep (P), sleep (P), sleep (P)
    Original token count: 0
    Output:
    ");
    assert!(answer.success);
    assert_none_left(&mark);
    let unknown = bench.call("kill_session", &json!({"session_id": id}));
    assert_eq!((unknown.success, unknown.facts.error), (false, Some(ToolErrorKind::BadArguments)));
    // Output since the last report, truncated as requested.
    let id = bench.start_background("read x; seq 10000; sleep 60", &json!({"stdin": true}));
    bench.find_session(id).write_input(b"\n").unwrap();
    eventually("its output", || bench.find_session(id).pending_output() > 40_000);
    let answer = bench.call("kill_session", &json!({"session_id": id, "max_output_tokens": 100}));
    let shown = output_text(&answer);
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("9999\n10000\n") && shown.len() <= 400, "{shown}");
    // A session that has already ended.
    let id = bench.start_background("sleep 0.4; exit 6", &json!({}));
    bench.wait_until_over(id);
    assert_snapshot!(bench.call_text("kill_session", &json!({"session_id": id})), @"
    Wall time: T seconds
    Process exited with code 6
    Original token count: 0
    Output:
    ");
}

pub(crate) fn kill_session_ends_stubborn_processes() {
    let bench = CommandHarness::new();
    for script in [
        // Ignores the signal, and so do its children.
        "trap '' TERM INT HUP; echo ready; sleep MARK & while :; do sleep MARK; done",
        // Stopped: receives no signal until it is continued.
        "echo ready; kill -STOP $$; sleep MARK",
        "(kill -STOP $BASHPID; sleep MARK) & echo ready; wait",
        // Starts a new process for each that ends.
        "trap '' TERM; echo ready; f() { (trap '' TERM; sleep MARK) & wait; f; }; f",
    ] {
        let mark = unique_sleep_mark();
        let id = bench.start_background(&script.replace("MARK", &mark), &json!({"yield_time_ms": 500}));
        let answer = bench.call("kill_session", &json!({"session_id": id}));
        assert!(answer.success, "{script}: {answer:?}");
        let code = answer.facts.exit_code;
        assert!(code == Some(137) || code == Some(143), "{script}: {answer:?}");
        assert_none_left(&mark);
        assert!(bench.commands.sessions.find(id).is_none(), "{script}");
    }
    let mark = unique_sleep_mark();
    let id = bench.start_background(&format!("trap '' TERM; echo ready; sleep {mark}"), &json!({}));
    assert_snapshot!(bench.call_text("kill_session", &json!({"session_id": id})), @"
    Wall time: T seconds
    Process exited with code 137 (SIGKILL)
    Ended: sleep (P)
    Original token count: 0
    Output:
    ");
}

pub(crate) fn session_limit_is_enforced() {
    let bench = CommandToolsSetup { sessions: 3, ..CommandToolsSetup::default() }.harness();
    let mark = unique_sleep_mark();
    let run = format!("sleep {mark}");
    let start = |script: &str| bench.start_script(script, &json!({}));
    let first = session_id(&start(&run)).unwrap();
    let ended = bench.start_background("echo unread; sleep 0.4", &json!({}));
    let third = session_id(&start(&run)).unwrap();
    bench.wait_until_over(ended);
    // The table is full, but an ended session makes room.
    let fourth = session_id(&start(&run)).unwrap();
    let all: Vec<u32> = bench.commands.sessions.all().iter().map(|session| session.id()).collect();
    assert_eq!(all, [first, third, fourth]);
    let answer = start(&run);
    assert_eq!((answer.success, answer.facts.error), (false, Some(ToolErrorKind::Io)));
    assert_snapshot!(bench.normalized(&answer), @"3 sessions are running, and no more may; end one with kill_session (list_sessions shows them)");
    assert_eq!(
        processes_with_mark(&mark).iter().filter(|line| line.starts_with("sleep")).count(),
        3,
        "no living one gives way"
    );
    // A one-shot command needs no session slot.
    assert!(bench.run_script("true").success);
    bench.call("kill_session", &json!({"session_id": first}));
    assert!(start(&run).success);
}

pub(crate) fn default_session_limit_is_64() {
    let mark = unique_sleep_mark();
    let run = format!("sleep {mark} >/dev/null 2>&1 &");
    let bench = CommandHarness::new();
    for _ in 0..64 {
        assert!(bench.start_script(&run, &json!({})).success);
    }
    assert!(
        bench
            .normalized(&bench.start_script(&run, &json!({})))
            .starts_with("64 sessions are running, and no more may")
    );
    assert_eq!(processes_with_mark(&mark).len(), 64);
    let listed = bench.call_text("list_sessions", &json!({}));
    assert!(listed.starts_with("64 sessions:\n1000: "), "{listed}");
    // All sessions end when the tools are dropped.
    drop(bench);
    eventually("end of all", || processes_with_mark(&mark).is_empty());
}

pub(crate) fn signals_are_named() {
    let bench = CommandHarness::new();
    let mut said = String::new();
    for signal in ["HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1", "XCPU"] {
        let kill = format!(
            "import os, signal; signal.signal(signal.SIG{signal}, signal.SIG_DFL) if signal.SIG{signal} != signal.SIGKILL else 0; os.kill(os.getpid(), signal.SIG{signal})"
        );
        let answer =
            bench.call("shell", &json!({"command": [python_path(), "-c", kill], "timeout_ms": 60_000}));
        assert_eq!(answer.structured.as_ref().unwrap()["signal"], json!(format!("SIG{signal}")));
        said.push_str(answer.joined_text().lines().next().unwrap());
        said.push('\n');
    }
    assert_snapshot!(said, @"
    Exit code: 129 (SIGHUP)
    Exit code: 130 (SIGINT)
    Exit code: 131 (SIGQUIT)
    Exit code: 134 (SIGABRT)
    Exit code: 137 (SIGKILL)
    Exit code: 139 (SIGSEGV)
    Exit code: 141 (SIGPIPE)
    Exit code: 142 (SIGALRM)
    Exit code: 143 (SIGTERM)
    Exit code: 138 (SIGUSR1)
    Exit code: 152 (SIGXCPU)
    ");
}

pub(crate) fn killed_supervisor_gives_no_exit_code() {
    let bench = CommandHarness::new();
    let answer = bench.run_script("kill -KILL $PPID; sleep 60");
    assert!(answer.joined_text().contains("killed from outside"), "{}", answer.joined_text());
}

pub(crate) fn killed_supervisor_fails_only_its_own_call() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let other = bench.start_background(&format!("exec sleep {mark}"), &json!({}));
    let script = format!("setsid sleep {mark}1 & sleep 0.1; echo before; kill -KILL $PPID; sleep {mark}2");
    let answer = bench.run_script(&script);
    assert!(!answer.success && answer.facts.exit_code != Some(0));
    assert_eq!(output_text(&answer), "before\n");
    eventually("end of what it left", || processes_with_mark(&mark).len() == 1);
    assert_eq!(output_text(&bench.run_script("echo next")), "next\n");
    assert!(!bench.find_session(other).is_over());
    let id = bench
        .start_background(&format!("sleep 0.5; echo before; kill -KILL $PPID; sleep {mark}3"), &json!({}));
    bench.wait_until_over(id);
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id})), @"
    Wall time: T seconds
    Process was killed from outside
    Original token count: 2
    Output:
    before
    ");
    // Kills the process that spawns the supervisors.
    let answer =
        bench.run_script("kill -KILL $(awk '{print $4}' /proc/$PPID/stat); sleep 0.2; echo still here");
    assert_eq!(output_text(&answer), "still here\n");
    for _ in 0..20 {
        assert_eq!(output_text(&bench.run_script("echo next")), "next\n");
    }
    assert!(!bench.find_session(other).is_over());
}

/// An exit during an answer is reported in that answer or in the next one, never lost.
pub(crate) fn exit_during_an_answer_is_not_lost() {
    let bench = CommandHarness::new();
    for late in 0..12 {
        // Long output makes the report slow; the exit comes at about the time of the answer.
        let script = format!(
            "read x; head -c 900000 /dev/zero | tr '\\0' '\\r'; read -t {} x; exit 7",
            0.2 + 0.01 * f64::from(late)
        );
        let id = bench.start_background(&script, &json!({"stdin": true}));
        let mut codes = Vec::new();
        for chars in ["\n", "", ""] {
            let answer = bench.call("write_stdin", &json!({"session_id": id, "chars": chars}));
            codes.push(answer.facts.exit_code);
            if codes.contains(&Some(7)) {
                break;
            }
        }
        assert_eq!(codes.last(), Some(&Some(7)), "{late}: {codes:?}");
    }
}
