//! Tests the arguments of the command tools, and the errors for invalid ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use policy::SandboxPolicy;
use serde_json::{Value, json};
use testkit::TestWorkspace;
use tool::{CallId, LocalShellCall, ToolCall, ToolErrorKind, ToolOutput, ToolPayload};

use crate::harness::{
    CommandHarness, CommandToolsSetup, assert_none_left, eventually, output_text, processes_with_mark,
    router, runtime, session_id, structured_field, unique_sleep_mark,
};

pub(crate) fn command_runs_in_the_given_workdir() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("sub/a.txt", "");
    let root = bench.workspace.path();
    let pwd = |tool: &str, mut arguments: Value, workdir: Value| {
        if !workdir.is_null() {
            arguments["workdir"] = workdir;
        }
        output_text(&bench.call(tool, &arguments)).trim().to_owned()
    };
    for (tool, arguments) in [
        ("shell", json!({"command": ["pwd"]})),
        ("shell_command", json!({"command": "pwd"})),
        ("exec_command", json!({"cmd": "pwd"})),
    ] {
        for (workdir, expected) in [
            (Value::Null, root.clone()),
            (json!(""), root.clone()),
            (json!("."), root.clone()),
            (json!("sub"), root.join("sub")),
            (json!("sub/../sub/."), root.join("sub")),
            (json!(root.join("sub")), root.join("sub")),
        ] {
            assert_eq!(
                pwd(tool, arguments.clone(), workdir.clone()),
                expected.to_string_lossy(),
                "{tool} {workdir}"
            );
        }
    }
    let told =
        output_text(&bench.call("shell", &json!({"command": ["sh", "-c", "echo $PWD"], "workdir": "sub"})));
    assert_eq!(told.trim(), root.join("sub").to_string_lossy());
}

pub(crate) fn unusable_workdir_is_named() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("file", "").write_file(".env/a", "").symlink("out", "../outside");
    let outside = bench.workspace.outside_dir();
    let mut said = String::new();
    for (tool, mut arguments) in [
        ("shell", json!({"command": ["true"]})),
        ("shell_command", json!({"command": "true"})),
        ("exec_command", json!({"cmd": "true"})),
    ] {
        let mut answers = String::new();
        for workdir in ["missing", "home/missing", "file", outside.to_str().unwrap(), "out", ".env", "a\0b"] {
            arguments["workdir"] = json!(workdir);
            let answer = bench.call(tool, &arguments);
            assert!(!answer.success);
            let kind = answer.facts.error.map_or("none", ToolErrorKind::as_str);
            answers.push_str(&format!("{kind}: {}\n", bench.normalized(&answer)));
        }
        // All three tools give the same messages.
        assert!(said.is_empty() || said == answers, "{tool}: {answers}");
        said = answers;
    }
    assert_snapshot!(said, @"
    io: `$DIR/missing` does not exist; list its directory to see what is there
    io: `$DIR/home/missing` does not exist; list its directory to see what is there
    bad_arguments: the arguments do not fit at `workdir`: `$DIR/file` is not a directory
    forbidden: forbidden by policy: `$OUTSIDE` is outside the readable roots (`$DIR`)
    blocked: blocked by the sandbox: `$DIR/out` is a link that leads outside the readable roots; read a path inside them instead
    forbidden: forbidden by policy: `$DIR/.env` may not be read: the deny-read rule `**/.env` covers it
    bad_arguments: the arguments do not fit at `workdir`: the path contains a NUL character, which no file name can
    ");
}

pub(crate) fn programs_that_cannot_run_say_why() {
    let bench = CommandHarness::new();
    let w = &bench.workspace;
    w.write_file("plain", "#!/bin/sh\n")
        .write_file("dir/a", "")
        .write_file("lost", "#!/no/such/interpreter\n");
    w.write_file("text", "echo no first line that names an interpreter\n")
        .write_file("junk", [0x7f, b'E', b'L', b'F', 0, 1]);
    for name in ["lost", "text", "junk"] {
        fs::set_permissions(w.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let long = "x".repeat(200_000);
    let many = vec!["xxxxxxx"; 400_000];
    let run = |command: Value| {
        let answer = bench.call("shell", &json!({"command": command}));
        assert!(!answer.success && answer.facts.error == Some(ToolErrorKind::Io), "{answer:?}");
        bench.normalized(&answer)
    };
    assert_snapshot!(run(json!(["no-such-program-anywhere"])), @"there is no program `no-such-program-anywhere` in PATH");
    assert_snapshot!(run(json!(["./missing"])), @"there is no program `./missing`, or its interpreter is missing");
    assert_snapshot!(run(json!(["./plain"])), @"`./plain` may not be executed: Permission denied (os error 13)");
    assert_snapshot!(run(json!(["./dir"])), @"`./dir` may not be executed: Permission denied (os error 13)");
    assert_snapshot!(run(json!(["./lost"])), @"there is no program `./lost`, or its interpreter is missing");
    assert_snapshot!(run(json!(["/bin/echo", long])), @"the arguments of `/bin/echo` are too long for the system; put them into a file");
    assert_snapshot!(run(json!([&["/bin/echo"], many.as_slice()].concat())), @"the arguments of `/bin/echo` are too long for the system; put them into a file");
    // The file is being written while it is executed.
    w.write_file("busy", fs::read("/bin/true").unwrap());
    fs::set_permissions(w.path().join("busy"), fs::Permissions::from_mode(0o755)).unwrap();
    let writing = fs::OpenOptions::new().append(true).open(w.path().join("busy")).unwrap();
    assert_snapshot!(run(json!(["./busy"])), @"`./busy` could not be executed: Text file busy (os error 26)");
    drop(writing);
    // A script without an interpreter line runs in the shell, as in every shell.
    assert_eq!(
        output_text(&bench.call("shell", &json!({"command": ["./text"]}))),
        "no first line that names an interpreter\n"
    );
    let script = json!({"cmd": format!(": {long}"), "login": false});
    assert_snapshot!(bench.call_text("exec_command", &script), @"the arguments of `/bin/bash` are too long for the system; put them into a file");
    let script = json!({"command": format!(": {long}")});
    assert_snapshot!(bench.call_text("shell_command", &script), @"the arguments of `/bin/bash` are too long for the system; put them into a file");
}

pub(crate) fn invalid_arguments_are_rejected() {
    let bench = CommandHarness::new();
    assert_snapshot!(bench.call_text("shell", &json!({"command": []})), @"the arguments do not fit at `command`: expected a string or an array of at least 1 item, found an array of 0 items");
    assert_snapshot!(bench.call_text("shell", &json!({"command": [""]})), @"the arguments do not fit at `command[0]`: the name of a program, e.g. `ls`");
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": 1})), @"the arguments do not fit at `session_id`: no session has the ID 1 (an ended one is forgotten once its end was reported); there is none: start one with exec_command");
    assert_snapshot!(bench.call_text("kill_session", &json!({"session_id": 4_294_967_295_u32})), @"the arguments do not fit at `session_id`: no session has the ID 4294967295 (an ended one is forgotten once its end was reported); there is none: start one with exec_command");
    // An empty script is valid.
    assert_eq!(bench.call("shell_command", &json!({"command": ""})).facts.exit_code, Some(0));
    assert_eq!(bench.call("exec_command", &json!({"cmd": ""})).facts.exit_code, Some(0));
    assert_eq!(
        bench.call("exec_command", &json!({"cmd": "  \n# nothing\n", "shell": ""})).facts.exit_code,
        Some(0)
    );
}

pub(crate) fn a_nul_in_a_command_is_named() {
    let bench = CommandHarness::new();
    for (tool, arguments) in [
        ("shell", json!({"command": ["printf", "a\0b"]})),
        ("shell", json!({"command": ["a\0b"]})),
        ("shell_command", json!({"command": "echo a\0b"})),
        ("exec_command", json!({"cmd": "echo a\0b", "login": false})),
    ] {
        let answer = bench.call(tool, &arguments);
        assert!(!answer.success && answer.joined_text().contains("NUL"), "{tool}: {}", answer.joined_text());
    }
}

pub(crate) fn too_many_arguments_are_rejected() {
    let bench = CommandHarness::new();
    let command = vec!["x"; 990_000];
    let said = bench.call_text("shell", &json!({"command": command}));
    assert!(said.contains("are too long for the system"), "{said}");
    assert!(bench.run_script("true").success);
}

/// A script that is one simple command behaves as in a shell.
pub(crate) fn simple_scripts_behave_as_in_a_shell() {
    let bench = CommandHarness::new();
    let w = &bench.workspace;
    w.write_file("tool", "#!/bin/sh\necho tool \"$@\"\nexit 3\n")
        .write_file("plain", "echo plain\n")
        .write_file("dir/ls", "");
    for name in ["tool", "plain"] {
        fs::set_permissions(w.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let own = |name: &str| w.path().join(name).display().to_string();
    let scripts = [
        "ls", " ls  -a   home ", "ls missing", "nosuchprogram x", "printenv HOME", "cat", "wc -c", "sh",
        "true", "false",
    ];
    let more = [
        "home", "/", ".", "./tool a b", "./plain", "tool", "test -e home", "echo a=b --c", "A=1 printenv A",
        "printenv PWD", "env -i printenv A", "-x", "dir/ls", "ls -d @a %b +c ,d e:f", "sleep 0", "which ls",
        "kill -l 9", "time true", "exit 4",
    ];
    let paths = [own("tool") + " x  y", own("plain"), own("dir"), own("missing")];
    let scripts = scripts.into_iter().chain(more).map(str::to_owned).chain(paths);
    for script in scripts {
        let of = |answer: ToolOutput| {
            (
                structured_field(&answer, "stdout").to_owned(),
                structured_field(&answer, "stderr").to_owned(),
                answer.facts.exit_code,
            )
        };
        let placed =
            of(bench.call("exec_command", &json!({"cmd": script, "login": false, "yield_time_ms": 30_000})));
        // With `--noprofile` the shell runs the script itself.
        let run = of(bench.call("shell", &json!({"command": ["/bin/bash", "--noprofile", "-c", script]})));
        assert_eq!(placed, run, "{script}");
    }
}

pub(crate) fn a_script_that_cannot_be_loaded_is_named_itself() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("lost", "#!/no/such/interpreter\n");
    let path = bench.workspace.path().join("lost");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let said = bench.call_text("exec_command", &json!({"cmd": path, "login": false}));
    assert!(said.contains("lost") && !said.contains("no program `/bin/bash`"), "{said}");
}

pub(crate) fn every_schema_violation_has_a_message() {
    let bench = CommandHarness::new();
    let mut said = String::new();
    for (tool, arguments) in [
        ("shell", json!({})),
        ("shell", json!({"command": true})),
        ("shell", json!({"command": ["ls", 1]})),
        ("shell", json!({"command": ["ls"], "timeout_ms": 0})),
        ("shell", json!({"command": ["ls"], "timeout_ms": -1})),
        ("shell", json!({"command": ["ls"], "timeout_ms": "1000"})),
        ("shell", json!({"command": ["ls"], "workdir": 1})),
        ("shell", json!({"command": ["ls"], "login": true})),
        ("shell", json!({"command": ["ls"], "sandbox_permissions": "none"})),
        ("shell_command", json!({"command": true})),
        ("shell_command", json!({"command": "ls", "login": "yes"})),
        ("shell_command", json!({"command": "ls", "timeout_ms": 1.5})),
        ("exec_command", json!({})),
        ("exec_command", json!({"cmd": "ls", "tty": 1})),
        ("exec_command", json!({"cmd": "ls", "stdin": "open"})),
        ("exec_command", json!({"cmd": "ls", "rows": 0})),
        ("exec_command", json!({"cmd": "ls", "cols": 1001})),
        ("exec_command", json!({"cmd": "ls", "yield_time_ms": -1})),
        ("exec_command", json!({"cmd": "ls", "max_output_tokens": "all"})),
        ("exec_command", json!({"cmd": "ls", "lifetime": "forever"})),
        ("exec_command", json!({"cmd": "ls", "shell": ["bash"]})),
        ("exec_command", json!({"cmd": "ls", "justification": 1})),
        ("write_stdin", json!({})),
        ("write_stdin", json!({"session_id": "1000"})),
        ("write_stdin", json!({"session_id": -1})),
        ("write_stdin", json!({"session_id": 1000, "chars": 3})),
        ("write_stdin", json!({"session_id": 1000, "close": "yes"})),
        ("write_stdin", json!({"session_id": 1000, "screen": 1})),
        ("write_stdin", json!({"session_id": 1000, "rows": 70_000})),
        ("list_sessions", json!({"all": true})),
        ("kill_session", json!({})),
        ("kill_session", json!({"session_id": 1000, "signal": 9})),
    ] {
        let answer = bench.call(tool, &arguments);
        assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{tool} {arguments}");
        said.push_str(&format!("{tool}: {}\n", answer.joined_text()));
    }
    assert_snapshot!(said, @"
    shell: the arguments do not fit at `command`: expected a string or an array of at least 1 item, found nothing
    shell: the arguments do not fit at `command`: expected a string or an array of at least 1 item, found a boolean
    shell: the arguments do not fit at `command[1]`: expected a string, found a number
    shell: the arguments do not fit at `timeout_ms`: expected an integer of at least 1, found 0
    shell: the arguments do not fit at `timeout_ms`: expected an integer of at least 1, found -1
    shell: the arguments do not fit at `timeout_ms`: expected an integer of at least 1, found a string
    shell: the arguments do not fit at `workdir`: expected a string, found a number
    shell: the arguments do not fit at `login`: expected no property of this name (known: `command`, `env`, `justification`, `prefix_rule`, `sandbox_permissions`, `timeout_ms`, `user`, `with_escalated_permissions`, `workdir`), found a boolean
    shell: the arguments do not fit at `sandbox_permissions`: expected one of `use_default`, `require_escalated`, found `none`
    shell_command: the arguments do not fit at `command`: expected a string or an array of at least 1 item, found a boolean
    shell_command: the arguments do not fit at `login`: expected a boolean, found a string
    shell_command: the arguments do not fit at `timeout_ms`: expected an integer of at least 1, found 1.5
    exec_command: the arguments do not fit at `cmd`: expected a string, found nothing
    exec_command: the arguments do not fit at `tty`: expected a boolean, found a number
    exec_command: the arguments do not fit at `stdin`: expected a boolean, found a string
    exec_command: the arguments do not fit at `rows`: expected an integer of at least 1 and at most 1000, found 0
    exec_command: the arguments do not fit at `cols`: expected an integer of at least 1 and at most 1000, found 1001
    exec_command: the arguments do not fit at `yield_time_ms`: expected an integer of at least 0, found -1
    exec_command: the arguments do not fit at `max_output_tokens`: expected an integer of at least 0, found a string
    exec_command: the arguments do not fit at `lifetime`: expected one of `turn`, `session`, `keep`, found `forever`
    exec_command: the arguments do not fit at `shell`: expected a string, found an array
    exec_command: the arguments do not fit at `justification`: expected a string, found a number
    write_stdin: the arguments do not fit at `session_id`: expected an integer of at least 0, found nothing
    write_stdin: the arguments do not fit at `session_id`: expected an integer of at least 0, found a string
    write_stdin: the arguments do not fit at `session_id`: expected an integer of at least 0, found -1
    write_stdin: the arguments do not fit at `chars`: expected a string, found a number
    write_stdin: the arguments do not fit at `close`: expected a boolean, found a string
    write_stdin: the arguments do not fit at `screen`: expected a boolean, found a number
    write_stdin: the arguments do not fit at `rows`: expected an integer of at least 1 and at most 1000, found 70000
    list_sessions: the arguments do not fit at `all`: expected no property of this name (known: `justification`, `sandbox_permissions`), found a boolean
    kill_session: the arguments do not fit at `session_id`: expected an integer of at least 0, found nothing
    kill_session: the arguments do not fit at `signal`: expected no property of this name (known: `justification`, `max_output_tokens`, `sandbox_permissions`, `session_id`), found a number
    ");
}

pub(crate) fn other_names_reach_the_same_tools() {
    let bench = CommandHarness::new();
    for (tool, arguments) in [
        ("container.exec", json!({"command": ["echo", "here"]})),
        ("local_shell", json!({"command": ["echo", "here"]})),
        ("shell", json!({"cmd": ["echo", "here"], "cwd": "home", "timeout": 5000})),
        ("shell_command", json!({"cmd": "echo here", "cwd": "home", "timeout": 5000})),
        ("exec_command", json!({"command": "echo here", "cwd": "home"})),
        (
            "shell",
            json!({"command": ["echo", "here"], "workdir": null, "timeout_ms": null, "sandbox_permissions": null}),
        ),
        (
            "exec_command",
            json!({"cmd": "echo here", "shell": null, "tty": null, "yield_time_ms": null, "rows": null}),
        ),
    ] {
        let answer = bench.call(tool, &arguments);
        assert_eq!((answer.success, output_text(&answer).as_str()), (true, "here\n"), "{tool} {arguments}");
    }
    let id = bench.start_background("cat", &json!({"stdin": true}));
    let answer = bench.call("write_stdin", &json!({"session_id": id, "input": "typed\n", "close": true}));
    assert_eq!(output_text(&answer), "typed\n");
}

pub(crate) fn the_local_shell_call_is_read() {
    let workspace = TestWorkspace::new();
    let commands = CommandToolsSetup::default().command_runner(&workspace);
    let router = router(&workspace, &commands);
    let runtime = runtime();
    let call = |shell: LocalShellCall| {
        let call = ToolCall {
            id: CallId::from("1"),
            name: "local_shell".to_owned(),
            payload: ToolPayload::LocalShell(shell),
        };
        runtime.block_on(router.dispatch(call, Default::default()))
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let answer = call(LocalShellCall {
        command: words(&["pwd"]),
        workdir: Some("home".to_owned()),
        timeout_ms: Some(60_000),
        ..LocalShellCall::default()
    });
    assert_eq!(output_text(&answer).trim(), workspace.path().join("home").to_string_lossy());
    let answer = call(LocalShellCall {
        command: words(&["sleep", &unique_sleep_mark()]),
        timeout_ms: Some(100),
        ..LocalShellCall::default()
    });
    assert_eq!((answer.success, answer.facts.exit_code), (false, Some(124)));
    assert!(answer.joined_text().starts_with("command timed out after 100 milliseconds\n"));
    let answer = call(LocalShellCall::default());
    assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments));
    // Every other field of an action is accepted, or rejected with a message.
    let with = |field: &str, value: Value| {
        let more = serde_json::Map::from_iter([(field.to_owned(), value)]);
        call(LocalShellCall {
            command: words(&["sh", "-c", "echo \"$A\""]),
            other_fields: more,
            ..LocalShellCall::default()
        })
    };
    assert_eq!(output_text(&with("env", json!({"A": "a b"}))), "a b\n");
    assert_eq!(output_text(&with("command", json!("A=script; echo $A"))), "script\n");
    let own = rustix::process::geteuid().as_raw().to_string();
    assert!(with("user", json!(own)).success);
    assert_snapshot!(with("user", json!("no-such-user")).joined_text(), @"the arguments do not fit at `user`: commands run as the user who runs this session; leave `user` out");
    assert_snapshot!(with("env", json!({"A B": ""})).joined_text(), @"the arguments do not fit at `env.A B`: `A B` is not a variable name");
    assert_snapshot!(with("env", json!({"OPENAI_API_KEY": "x"})).joined_text(), @"the arguments do not fit at `env.OPENAI_API_KEY`: `OPENAI_API_KEY` is the key of a model provider, which no command gets");
    let unknown = with("container", json!("x")).joined_text();
    assert!(
        unknown.starts_with("the arguments do not fit at `container`: expected no property of this name"),
        "{unknown}"
    );
}

pub(crate) fn a_time_limit_of_a_session_holds_after_its_call() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let sleep = format!("sleep {mark}");
    let late = bench.call("exec_command", &json!({"cmd": sleep, "timeout": 100}));
    assert_eq!((late.facts.error, late.facts.exit_code), (Some(ToolErrorKind::TimedOut), Some(124)));
    assert!(late.joined_text().starts_with("command timed out after 100 milliseconds\n"));
    // A session is killed at its time limit, even if no call polls it.
    let left = bench.call("exec_command", &json!({"cmd": sleep, "timeout_ms": 1000, "yield_time_ms": 250}));
    let id = session_id(&left);
    let ended = bench.call("write_stdin", &json!({"session_id": id, "yield_time_ms": 30000}));
    assert_eq!((ended.facts.error, ended.facts.exit_code), (Some(ToolErrorKind::TimedOut), Some(124)));
    assert!(ended.joined_text().starts_with("command timed out after 1000 milliseconds\n"));
    assert!(!ended.success);
    // Remaining child processes are killed too, and the command's own exit status counts.
    let script = format!("sleep {mark} >/dev/null 2>&1 & sleep 0.5; exit 3");
    let left = bench.call("exec_command", &json!({"cmd": script, "timeout_ms": 1500, "yield_time_ms": 250}));
    let ended = bench.call(
        "write_stdin",
        &json!({"session_id": crate::harness::session_id(&left), "yield_time_ms": 30000}),
    );
    assert_eq!((ended.facts.error, ended.facts.exit_code), (None, Some(3)), "{}", ended.joined_text());
    // A call with a time limit waits as long as that limit.
    let done = bench.call("exec_command", &json!({"cmd": "sleep 0.5; echo done", "timeout": 60000}));
    assert_eq!(output_text(&done), "done\n");
    assert_none_left(&mark);
}

pub(crate) fn a_command_is_taken_in_either_form() {
    let bench = CommandHarness::new();
    for (tool, command, expected) in [
        ("shell", json!("echo a | tr a b"), "b\n"),
        ("local_shell", json!("echo a | tr a b"), "b\n"),
        ("shell_command", json!(["echo", "a  |"]), "a  |\n"),
        ("container.exec", json!(["echo", "a"]), "a\n"),
    ] {
        let more = ["with_escalated_permissions", "request_permission_elevation"];
        for more in more {
            let mut arguments = json!({"command": command, "prefix_rule": ["echo"]});
            arguments[more] = json!(false);
            assert_eq!(output_text(&bench.call(tool, &arguments)), expected, "{tool}");
        }
    }
    let wrong = bench.call("shell", &json!({"command": 3}));
    assert_snapshot!(wrong.joined_text(), @"the arguments do not fit at `command`: expected a string or an array of at least 1 item, found a number");
    let empty = bench.call("shell_command", &json!({"command": []}));
    assert_snapshot!(empty.joined_text(), @"the arguments do not fit at `command`: expected a string or an array of at least 1 item, found an array of 0 items");
}

pub(crate) fn all_command_tools_accept_escalation_arguments() {
    let bench = CommandHarness::new();
    let id = bench.start_background("cat", &json!({"stdin": true}));
    for plea in ["use_default", "require_escalated"] {
        for (tool, mut arguments) in [
            ("shell", json!({"command": ["true"]})),
            ("shell_command", json!({"command": "true"})),
            ("exec_command", json!({"cmd": "true"})),
            ("write_stdin", json!({"session_id": id, "chars": "x\n"})),
            ("list_sessions", json!({})),
        ] {
            arguments["sandbox_permissions"] = json!(plea);
            arguments["justification"] = json!("it has to be");
            let answer = bench.call(tool, &arguments);
            assert!(answer.success, "{tool}: {answer:?}");
        }
    }
    let kill = json!({"session_id": id, "sandbox_permissions": "require_escalated", "justification": "it has to be"});
    assert!(bench.call("kill_session", &kill).success);
}

pub(crate) fn a_read_only_policy_lets_commands_read() {
    let bench =
        CommandToolsSetup { sandbox: SandboxPolicy::ReadOnly, ..CommandToolsSetup::default() }.harness();
    bench.workspace.write_file("home/.bash_profile", "echo run >> ~/ran\n");
    let ran = bench.workspace.path().join("home/ran");
    let touch = format!("echo here; touch {}", ran.display());
    let run = |tool: &str, mut arguments: Value| {
        let answer = bench.call(tool, &arguments);
        assert_eq!((answer.success, answer.facts.error), (false, None));
        assert_eq!(answer.facts.enforcement, Some(policy::Enforcement::Full));
        arguments["sandbox_permissions"] = json!("require_escalated");
        assert!(!bench.call(tool, &arguments).success);
        bench.normalized(&answer)
    };
    assert_snapshot!(run("shell", json!({"command": ["touch", ran]})), @"
    The user was asked to let it change `$DIR/home/ran`, and said no.
    Exit code: 1
    Wall time: T seconds
    Perhaps refused by the sandbox (a guess from the output): `$DIR/home/ran` may not be changed: this session may change no files (the sandbox is read-only)
    Output:
    touch: cannot touch '$DIR/home/ran': Read-only file system
    ");
    assert_snapshot!(run("shell_command", json!({"command": touch})), @"
    The user was asked to let it change `$DIR/home/ran`, and said no.
    Exit code: 1
    Wall time: T seconds
    Perhaps refused by the sandbox (a guess from the output): `$DIR/home/ran` may not be changed: this session may change no files (the sandbox is read-only)
    Output:
    here
    touch: cannot touch '$DIR/home/ran': Read-only file system
    ");
    assert_snapshot!(run("exec_command", json!({"cmd": touch, "shell": "sh", "tty": true})), @"
    The user was asked to let it change `$DIR/home/ran`, and said no.
    Wall time: T seconds
    Process exited with code 1
    Perhaps refused by the sandbox (a guess from the output): `$DIR/home/ran` may not be changed: this session may change no files (the sandbox is read-only)
    Original token count: 21
    Output:
    here
    touch: cannot touch '$DIR/home/ran': Read-only file system
    ");
    assert!(!ran.exists());
}

pub(crate) fn shells_are_chosen_by_name_or_path() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("bash", "#!/bin/sh\necho a shell from the workspace\n");
    fs::set_permissions(bench.workspace.path().join("bash"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = |shell: &str| {
        let script = "readlink /proc/$$/exe; exit 0";
        bench.call("exec_command", &json!({"cmd": script, "shell": shell, "login": false}))
    };
    for (shell, path) in
        [("bash", "/bin/bash"), ("/bin/bash", "/bin/bash"), ("sh", "/bin/sh"), ("", "/bin/bash")]
    {
        let real = fs::canonicalize(path).unwrap();
        assert_eq!(output_text(&run(shell)).trim(), real.to_string_lossy(), "{shell}");
    }
    for shell in ["fish", "python3", "./bash", "bash -x", "/no/such/bash", "BASH", "../bin/sh"] {
        let answer = run(shell);
        assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{shell}");
        assert_eq!(
            answer.joined_text(),
            format!(
                "the arguments do not fit at `shell`: `{shell}` is not a shell that can be used here; leave it out, or give one of bash, zsh, sh, dash, ksh, ash by its name or path"
            )
        );
    }
}

/// One test of ten seconds, because three waits for a default run as one.
pub(crate) fn default_waits_apply() {
    let mark = unique_sleep_mark();
    let one_shot = thread::spawn({
        let mark = mark.clone();
        move || CommandHarness::new().call_text("shell", &json!({"command": ["sleep", mark]}))
    });
    let yielded = thread::spawn({
        let mark = mark.clone();
        move || {
            let bench = CommandHarness::new();
            let began = Instant::now();
            let answer = bench.call("exec_command", &json!({"cmd": format!("sleep {mark}"), "login": false}));
            (session_id(&answer), began.elapsed())
        }
    });
    let polled = thread::spawn({
        let mark = mark.clone();
        move || {
            let bench = CommandHarness::new();
            let id = bench.start_background(&format!("sleep {mark}"), &json!({"stdin": true}));
            let wait = |arguments: Value| {
                let began = Instant::now();
                assert!(bench.call("write_stdin", &arguments).success);
                began.elapsed()
            };
            (wait(json!({"session_id": id})), wait(json!({"session_id": id, "chars": "x\n"})))
        }
    });
    let script = json!({"command": format!("sleep {mark}"), "login": false});
    let said = CommandHarness::new().call_text("shell_command", &script);
    assert_eq!(one_shot.join().unwrap(), said);
    assert_snapshot!(said, @"
    command timed out after 10000 milliseconds
    Exit code: 124
    Wall time: T seconds
    Ended: sleep (P)
    Output:
    ");
    let (id, after) = yielded.join().unwrap();
    assert!(id.is_some() && after >= Duration::from_secs(10), "{after:?}");
    let (poll, write) = polled.join().unwrap();
    assert!(poll >= Duration::from_secs(5) && poll < Duration::from_secs(10), "{poll:?}");
    assert!(write >= Duration::from_millis(250) && write < Duration::from_secs(5), "{write:?}");
    // The harnesses were dropped just now, which ends their sessions.
    eventually("end of all processes", || processes_with_mark(&mark).is_empty());
}

pub(crate) fn waits_are_clamped() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let began = Instant::now();
    let id = bench.start_background(&format!("sleep {mark}"), &json!({"stdin": true, "yield_time_ms": 0}));
    assert!(began.elapsed() >= Duration::from_millis(250));
    let began = Instant::now();
    bench.call("write_stdin", &json!({"session_id": id, "chars": "x", "yield_time_ms": 1}));
    assert!(began.elapsed() >= Duration::from_millis(250));
    let began = Instant::now();
    bench.call("write_stdin", &json!({"session_id": id, "yield_time_ms": 1}));
    assert!(began.elapsed() >= Duration::from_secs(5));
}

pub(crate) fn huge_numbers_are_accepted() {
    let bench = CommandHarness::new();
    for (tool, arguments) in [
        ("shell", json!({"command": ["echo", "here"], "timeout_ms": u64::MAX})),
        ("shell", json!({"command": ["echo", "here"], "timeout_ms": 1e15})),
        ("shell_command", json!({"command": "echo here", "timeout_ms": u64::MAX})),
        ("exec_command", json!({"cmd": "echo here", "yield_time_ms": u64::MAX})),
        ("exec_command", json!({"cmd": "echo here", "max_output_tokens": u64::MAX})),
    ] {
        let answer = bench.call(tool, &arguments);
        assert_eq!((answer.success, output_text(&answer).as_str()), (true, "here\n"), "{tool} {arguments}");
    }
    let id = bench.start_background("cat", &json!({"stdin": true}));
    let answer = bench.call("write_stdin", &json!({"session_id": id, "chars": "here\n", "close": true, "yield_time_ms": u64::MAX, "max_output_tokens": u64::MAX}));
    assert_eq!(output_text(&answer), "here\n");
}
