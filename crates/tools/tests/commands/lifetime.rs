//! Tests that no process is left behind, whatever a command does and however its call ends.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TestWorkspace;
use tool::{ToolCall, ToolOutput};

use crate::harness::{
    CommandHarness, CommandToolsSetup, assert_none_left, eventually, output_text, processes_with_mark,
    python_path, router, runtime, session_id, unique_sleep_mark, wait_within,
};

/// Ways to outlive the parent process. Each prints `ready` once it has started.
const NASTY: [(&str, &str); 12] = [
    ("setsid", "setsid sleep MARK & echo ready"),
    ("double fork", "(setsid sleep MARK & ) & wait; echo ready"),
    ("nohup", "nohup sleep MARK >/dev/null 2>&1 & echo ready"),
    ("disowned", "sleep MARK & disown -a; echo ready"),
    ("holds the pipe", "(sleep MARK; echo late) & echo ready"),
    ("ignores signals", "(trap '' TERM INT HUP; while :; do sleep MARK; done) & echo ready"),
    ("stopped", "sleep MARK & kill -STOP $!; echo ready"),
    ("closed its output", "(exec >&- 2>&- <&-; sleep MARK) & echo ready"),
    ("two hundred", "for i in {1..200}; do sleep MARK & done; echo ready"),
    (
        "a chain",
        "setsid bash -c 'setsid bash -c \"setsid sleep MARK & sleep MARK\" & sleep MARK' & echo ready",
    ),
    ("multiplies", "f() { sleep MARK & sleep 0.05; f & }; f; echo ready"),
    ("in another directory and mask", "cd /; umask 777; nice -n 19 setsid sleep MARK & echo ready"),
];

pub(crate) fn nothing_is_left_of_what_ended_by_itself() {
    let bench = CommandHarness::new();
    for (name, script) in NASTY {
        let mark = unique_sleep_mark();
        let began = Instant::now();
        let answer = bench.run_script(&script.replace("MARK", &mark));
        assert_none_left(&mark);
        assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("ready\n", Some(0)), "{name}");
        let text = answer.joined_text();
        assert!(
            text.contains("\nLeft running, so ended (exec_command keeps what runs in the background): "),
            "{name}: {text}"
        );
        assert!(began.elapsed() < Duration::from_secs(20), "{name}: {:?}", began.elapsed());
        let ended = answer.structured.unwrap()["ended"].as_array().unwrap().len();
        assert!((1..=16).contains(&ended), "{name}: {ended}");
    }
}

pub(crate) fn nothing_is_left_of_what_ran_out_of_time() {
    let bench = CommandHarness::new();
    for (name, script) in NASTY {
        let mark = unique_sleep_mark();
        let script = format!("{}; sleep {mark}", script.replace("MARK", &mark));
        let answer = bench.call("shell", &json!({"command": ["bash", "-c", script], "timeout_ms": 1000}));
        assert_none_left(&mark);
        assert_eq!(answer.facts.exit_code, Some(124), "{name}");
        assert!(answer.joined_text().contains("\nEnded: "), "{name}: {}", answer.joined_text());
    }
}

pub(crate) fn nothing_is_left_of_what_was_cancelled() {
    let workspace = TestWorkspace::new();
    let commands = CommandToolsSetup::default().command_runner(&workspace);
    let (router, runtime, ready) = (router(&workspace, &commands), runtime(), workspace.path().join("ready"));
    for (name, script) in NASTY {
        for tool in ["shell_command", "exec_command"] {
            let mark = unique_sleep_mark();
            let script =
                format!("{}; touch {}; sleep {mark}", script.replace("MARK", &mark), ready.display());
            let arguments = match tool {
                "exec_command" => {
                    json!({"cmd": script, "login": false, "tty": true, "yield_time_ms": 30_000})
                }
                _ => json!({"command": script, "login": false, "timeout_ms": 60_000}),
            };
            let cancel = Default::default();
            let call = ToolCall::function("1", tool, arguments.to_string());
            let answer = router.dispatch(call, Clone::clone(&cancel));
            let answer = runtime.block_on(async {
                let cancelling = async {
                    // ends: when the command has begun, or with its time
                    while !ready.exists() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    cancel.cancel();
                };
                tokio::join!(answer, cancelling).0
            });
            assert_none_left(&mark);
            fs::remove_file(&ready).unwrap();
            assert_eq!(output_text(&answer), "ready\n", "{tool} {name}");
            let text = answer.joined_text();
            let named = text.starts_with("aborted by the user after ") && text.contains("\nEnded: ");
            assert!(named, "{tool} {name}: {text}");
        }
    }
}

pub(crate) fn nothing_is_left_of_a_session_that_is_killed() {
    let bench = CommandHarness::new();
    for (name, script) in NASTY {
        let mark = unique_sleep_mark();
        let id = bench.start_background(&script.replace("MARK", &mark), &json!({"yield_time_ms": 2000}));
        eventually(name, || !processes_with_mark(&mark).is_empty());
        assert!(bench.call("kill_session", &json!({"session_id": id})).success, "{name}");
        assert_none_left(&mark);
    }
}

pub(crate) fn answer_does_not_wait_for_open_pipes() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let began = Instant::now();
    let answer = bench.start_script(&format!("sleep {mark} & echo done"), &json!({"yield_time_ms": 30_000}));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(output_text(&answer), "done\n");
    // Even though the background process keeps writing.
    let began = Instant::now();
    let script = format!("(while :; do echo on; sleep 0.01; done; sleep {mark}) & echo done");
    let answer = bench.start_script(&script, &json!({"yield_time_ms": 30_000}));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(output_text(&answer).contains("done\n"));
    let began = Instant::now();
    assert!(bench.run_script(&script).success);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

pub(crate) fn a_poll_waits_for_what_is_left_in_the_background() {
    let bench = CommandHarness::new();
    let started = bench.start_script("(sleep 2; echo late) & echo done", &json!({}));
    let id = session_id(&started).unwrap();
    // While a process is running, a poll waits.
    let answer = bench.call("write_stdin", &json!({"session_id": id, "yield_time_ms": 30_000}));
    assert_eq!(output_text(&answer), "late\n");
}

pub(crate) fn closed_output_is_not_an_exit() {
    let bench = CommandHarness::new();
    let began = Instant::now();
    let answer = bench.run_script("echo said; exec >&- 2>&-; sleep 0.5; exit 7");
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("said\n", Some(7)));
    assert!(began.elapsed() >= Duration::from_millis(500));
    let mark = unique_sleep_mark();
    let id = bench.start_background(&format!("exec >&- 2>&-; sleep {mark}"), &json!({}));
    eventually("start of the command", || processes_with_mark(&mark).len() == 1);
    assert!(bench.call("kill_session", &json!({"session_id": id})).success);
}

/// Polls a call for a while and then drops it.
fn give_up(workspace: &TestWorkspace, tool: &str, arguments: &Value, mark: &str) {
    let commands = CommandToolsSetup::default().command_runner(workspace);
    let router = router(workspace, &commands);
    let runtime = runtime();
    let call = ToolCall::function("1", tool, arguments.to_string());
    let answer = router.dispatch(call, Default::default());
    runtime.block_on(async {
        tokio::pin!(answer);
        let begun = async {
            // ends: when it has begun, or with the test
            while !processes_with_mark(mark).iter().any(|line| line.starts_with("sleep")) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            answer = &mut answer => panic!("it ended: {}", answer.joined_text()),
            () = begun => {}
        }
    });
    // The runtime and the sessions continue; only the call is dropped.
    wait_within(Duration::from_secs(3), "end of what was given up", || processes_with_mark(mark).is_empty());
    assert_eq!(commands.sessions.all().len(), 0);
    let call = ToolCall::function("2", "shell", json!({"command": ["echo", "next"]}).to_string());
    assert_eq!(output_text(&runtime.block_on(router.dispatch(call, Default::default()))), "next\n");
}

pub(crate) fn a_call_that_is_given_up_leaves_nothing() {
    for (tool, arguments) in [
        (
            "shell",
            json!({"command": ["bash", "-c", "trap '' TERM; setsid sleep MARK & sleep MARK"], "timeout_ms": 60_000}),
        ),
        ("shell_command", json!({"command": "setsid sleep MARK & sleep MARK"})),
        ("exec_command", json!({"cmd": "setsid sleep MARK & sleep MARK", "tty": true})),
    ] {
        let (workspace, mark) = (TestWorkspace::new(), unique_sleep_mark());
        let arguments = serde_json::from_str(&arguments.to_string().replace("MARK", &mark)).unwrap();
        give_up(&workspace, tool, &arguments, &mark);
    }
}

pub(crate) fn sessions_end_with_their_owner() {
    let mark = unique_sleep_mark();
    let bench = CommandHarness::new();
    bench.start_background(&format!("trap '' TERM; setsid sleep {mark} & sleep {mark}"), &json!({}));
    bench.start_background(&format!("sleep {mark}"), &json!({"tty": true}));
    bench.start_background(&format!("sleep {mark} & exit"), &json!({}));
    eventually("start of all commands", || processes_with_mark(&mark).len() >= 4);
    drop(bench);
    wait_within(Duration::from_secs(3), "end of all sessions", || processes_with_mark(&mark).is_empty());
}

fn call(
    runtime: &tokio::runtime::Runtime,
    router: &engine::ToolRouter,
    tool: &str,
    arguments: &Value,
) -> ToolOutput {
    let call = ToolCall::function("1", tool, arguments.to_string());
    runtime.block_on(router.dispatch(call, Default::default()))
}

pub(crate) fn lifetimes_turn_session_and_keep() {
    let workspace = TestWorkspace::new();
    let processes = Arc::default();
    let runtime = runtime();
    let (turn, session, keep) = (unique_sleep_mark(), unique_sleep_mark(), unique_sleep_mark());
    let commands = CommandToolsSetup { processes: Arc::clone(&processes), ..CommandToolsSetup::default() }
        .command_runner(&workspace);
    let first = router(&workspace, &commands);
    let mut kept = None;
    for (lifetime, mark) in [("turn", &turn), ("session", &session), ("keep", &keep)] {
        let cmd = format!("sleep {mark} & read x; echo \"got $x\"");
        let arguments =
            json!({"cmd": cmd, "login": false, "stdin": true, "lifetime": lifetime, "yield_time_ms": 250});
        kept = session_id(&call(&runtime, &first, "exec_command", &arguments));
    }
    commands.sessions.end_turn();
    eventually("end of the turn's", || processes_with_mark(&turn).is_empty());
    assert!(!processes_with_mark(&session).is_empty() && !processes_with_mark(&keep).is_empty());
    drop((first, commands));
    wait_within(Duration::from_secs(3), "end of the session's", || processes_with_mark(&session).is_empty());
    assert!(!processes_with_mark(&keep).is_empty());
    // Another tool system of the same program finds the session and has full control of it.
    let commands = CommandToolsSetup { processes: Arc::clone(&processes), ..CommandToolsSetup::default() }
        .command_runner(&workspace);
    let second = router(&workspace, &commands);
    let listed = call(&runtime, &second, "list_sessions", &json!({})).joined_text();
    assert!(
        listed.starts_with("1 session:\n") && listed.contains("lives as long as this process"),
        "{listed}"
    );
    let typed = json!({"session_id": kept, "chars": "word\n"});
    assert_eq!(output_text(&call(&runtime, &second, "write_stdin", &typed)), "got word\n");
    assert!(call(&runtime, &second, "kill_session", &json!({"session_id": kept})).success);
    assert_none_left(&keep);
    assert!(!call(&runtime, &second, "kill_session", &json!({"session_id": kept})).success);
}

pub(crate) fn closing_waits_until_nothing_is_left() {
    let workspace = TestWorkspace::new();
    let commands = CommandToolsSetup::default().command_runner(&workspace);
    let router = router(&workspace, &commands);
    let runtime = runtime();
    let (mark, keep) = (unique_sleep_mark(), unique_sleep_mark());
    for (script, lifetime) in [
        (format!("trap '' TERM; setsid sleep {mark} & sleep {mark}"), "session"),
        (format!("sleep {mark}"), "turn"),
        (format!("sleep {keep}"), "keep"),
    ] {
        let arguments = json!({"cmd": script, "login": false, "lifetime": lifetime, "yield_time_ms": 250});
        assert!(session_id(&call(&runtime, &router, "exec_command", &arguments)).is_some());
    }
    runtime.block_on(commands.sessions.close(Duration::from_secs(20)));
    assert_none_left(&mark);
    assert!(!processes_with_mark(&keep).is_empty());
    // A kept session ends with the runtime that drives it.
    drop((router, commands, runtime));
    eventually("end of what was kept", || processes_with_mark(&keep).is_empty());
}

pub(crate) fn started_process_has_its_own_session_and_no_inherited_fds() {
    let bench = CommandHarness::new();
    let script = "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0), sorted(map(int, os.listdir('/proc/self/fd')))[:-1])";
    let run = |more: Value| {
        let mut arguments = json!({"cmd": format!("exec {} -c \"{script}\"", python_path()), "login": false, "yield_time_ms": 30_000});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        output_text(&bench.call("exec_command", &arguments))
    };
    assert_eq!(run(json!({})), "True [0, 1, 2]\n");
    assert_eq!(run(json!({"stdin": true})), "True [0, 1, 2]\n");
    assert_eq!(run(json!({"tty": true})), "True [0, 1, 2]\n");
    // With a cached profile.
    bench.workspace.write_file("home/.bash_profile", "f() { :; }\nshopt -s nullglob\n");
    assert_eq!(run(json!({"login": true})), "True [0, 1, 2]\n");
    assert_eq!(run(json!({"login": true, "tty": true})), "True [0, 1, 2]\n");
    // No signal is blocked or ignored, and no core is dumped. (The two signals after the thirty-first belong to the C
    // library, and cannot be set.)
    let said = output_text(&bench.run_script("grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -c"));
    let said = said.replace("0000000180000000", "0000000000000000");
    assert_eq!(said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n");
}

pub(crate) fn removed_workdir_is_handled() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("gone/a", "");
    let id =
        bench.start_background("read x; pwd -P || echo lost", &json!({"stdin": true, "workdir": "gone"}));
    fs::remove_dir_all(bench.workspace.path().join("gone")).unwrap();
    assert!(bench.type_in(id, "\n").joined_text().contains("exited with code"));
    let answer = bench.call("shell", &json!({"command": ["true"], "workdir": "gone"}));
    assert!(!answer.success);
    assert!(bench.run_script("true").success);
}
