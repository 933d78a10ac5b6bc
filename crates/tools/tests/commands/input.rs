//! Tests input to a process without a terminal.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use tool::ToolErrorKind;

use crate::harness::{
    CommandHarness, assert_none_left, eventually, output_text, processes_with_mark, python_path,
    unique_sleep_mark,
};

pub(crate) fn a_broken_pipe_ends_the_writer() {
    let bench = CommandHarness::new();
    let answer = bench.run_script("yes | head -n 2; echo ${PIPESTATUS[*]}");
    // 141 is SIGPIPE: the writer was killed by it, and did not see an error.
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("y\ny\n141 0\n", Some(0)));
    let answer = bench.start_script("yes | head -n 2", &json!({"yield_time_ms": 30_000}));
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("y\ny\n", Some(0)));
}

pub(crate) fn without_input_there_is_nothing_to_read() {
    let bench = CommandHarness::new();
    for script in ["cat", "read x; echo \"[$x]\"", "wc -c"] {
        let answer = bench.run_script(script);
        assert!(["", "[]\n", "0\n"].contains(&output_text(&answer).as_str()), "{script}: {answer:?}");
        let answer = bench.start_script(script, &json!({"yield_time_ms": 30_000}));
        assert!(answer.facts.exit_code.is_some(), "{script}: {answer:?}");
    }
    let answer = bench.call("shell", &json!({"command": [python_path(), "-c", "input()"]}));
    assert_eq!(answer.facts.exit_code, Some(1));
    assert!(output_text(&answer).contains("EOFError"));
}

pub(crate) fn input_is_typed_and_closed() {
    let bench = CommandHarness::new();
    let id = bench.start_background("cat; echo end", &json!({"stdin": true}));
    assert_eq!(output_text(&bench.type_in(id, "one\n")), "one\n");
    assert_eq!(output_text(&bench.type_in(id, "two")), "two");
    let answer = bench.call(
        "write_stdin",
        &json!({"session_id": id, "chars": "three\n", "close": true, "yield_time_ms": 30_000}),
    );
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("three\nend\n", Some(0)));
    // Closed with nothing to write: no reason to wait as long as a poll.
    let id = bench.start_background("sort", &json!({"stdin": true}));
    bench.type_in(id, "b\na\n");
    let began = Instant::now();
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "close": true, "yield_time_ms": 30_000}));
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("a\nb\n", Some(0)));
    assert!(began.elapsed() < Duration::from_secs(5));
}

pub(crate) fn all_of_a_long_input_arrives() {
    let bench = CommandHarness::new();
    let id = bench.start_background("md5sum", &json!({"stdin": true}));
    let line = "0123456789abcde\n".repeat(50_000);
    let answer = bench.call(
        "write_stdin",
        &json!({"session_id": id, "chars": line, "close": true, "yield_time_ms": 30_000}),
    );
    let expected = output_text(&bench.run_script("yes 0123456789abcde | head -n 50000 | md5sum"));
    assert_eq!((output_text(&answer), answer.facts.exit_code), (expected, Some(0)));
}

pub(crate) fn ctrl_c_is_a_signal_where_there_is_no_terminal() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    for more in [json!({}), json!({"stdin": true})] {
        let id = bench.start_background(&format!("echo on; sleep {mark}; echo never"), &more);
        let answer =
            bench.call("write_stdin", &json!({"session_id": id, "chars": "\u{3}", "yield_time_ms": 30_000}));
        assert_eq!(answer.facts.exit_code, Some(130), "{}", answer.joined_text());
        assert_none_left(&mark);
    }
    let id = bench.start_background(&format!("sleep {mark}"), &json!({}));
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id, "chars": "\u{3}", "yield_time_ms": 30_000})), @"
    Wall time: T seconds
    Process exited with code 130 (SIGINT)
    Original token count: 0
    Output:
    ");
    let script = "import time\ntry:\n time.sleep(60)\nexcept KeyboardInterrupt:\n print('interrupted', flush=True)\n input()\n";
    bench.workspace.write_file("nap.py", script);
    let id = bench.start_background(
        &format!("exec {} nap.py", python_path()),
        &json!({"stdin": true, "yield_time_ms": 1000}),
    );
    assert_eq!(output_text(&bench.type_in(id, "\u{3}")), "interrupted\n");
    assert_eq!(bench.type_in(id, "on\n").facts.exit_code, Some(0));
}

pub(crate) fn writing_to_a_closed_stdin_says_what_to_do() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let id = bench.start_background(&format!("sleep {mark}"), &json!({}));
    let answer = bench.type_in(id, "hello\n");
    assert_eq!((answer.success, answer.facts.error), (false, Some(ToolErrorKind::BadArguments)));
    assert_snapshot!(bench.normalized(&answer), @"the arguments do not fit at `chars`: session 1000 cannot take it: its standard input is closed; start it with tty = true or stdin = true to type into it");
    // The process is still running.
    eventually("the process", || processes_with_mark(&mark).len() == 1);
    let id = bench.start_background(&format!("sleep {mark}"), &json!({"stdin": true}));
    bench.call("write_stdin", &json!({"session_id": id, "close": true}));
    assert_snapshot!(bench.normalized(&bench.type_in(id, "hello\n")), @"the arguments do not fit at `chars`: session 1001 cannot take it: its standard input is closed; start it with tty = true or stdin = true to type into it");
    // A process that closes its own input.
    let id = bench.start_background(&format!("exec <&-; sleep {mark}"), &json!({"stdin": true}));
    bench.type_in(id, "hello\n");
    let answer = bench.type_in(id, "hello\n");
    assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{}", answer.joined_text());
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id, "screen": true})), @"the arguments do not fit at `screen`: the session has no terminal; start it with tty = true");
    assert_snapshot!(bench.call_text("write_stdin", &json!({"session_id": id, "rows": 10})), @"the arguments do not fit at `rows`: the session has no terminal; start it with tty = true");
}

pub(crate) fn unread_input_does_not_hang_the_call() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    for more in [json!({"stdin": true}), json!({"tty": true})] {
        let id = bench.start_background(&format!("stty raw -echo 2>/dev/null; sleep {mark}"), &more);
        let began = Instant::now();
        let answer = bench.call("write_stdin", &json!({"session_id": id, "chars": "x".repeat(600_000)}));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(answer.success);
        let note = answer.joined_text();
        let note = note
            .lines()
            .find(|line| line.starts_with("It has not read "))
            .unwrap_or_else(|| panic!("{more}: {note}"));
        assert!(note.ends_with(" bytes of its input yet"), "{note}");
        // The buffered input is limited, and the error says what to do.
        let answer = bench.call("write_stdin", &json!({"session_id": id, "chars": "x".repeat(600_000)}));
        assert_eq!((answer.success, answer.facts.error), (false, Some(ToolErrorKind::BadArguments)));
        let text = answer.joined_text();
        assert!(text.contains(" cannot take it: it has not read "), "{text}");
        assert!(bench.call("kill_session", &json!({"session_id": id})).success);
        assert_none_left(&mark);
    }
}

pub(crate) fn an_argument_at_fault_is_named() {
    let bench = CommandHarness::new();
    let id = bench.start_background("sleep 60", &json!({}));
    let said = bench.call_text("write_stdin", &json!({"session_id": id, "cols": 10}));
    assert_eq!(
        said,
        "the arguments do not fit at `cols`: the session has no terminal; start it with tty = true"
    );
}

pub(crate) fn unread_input_error_does_not_suggest_a_restart() {
    let bench = CommandHarness::new();
    let id = bench.start_background("sleep 60", &json!({"stdin": true}));
    for _ in 0..2 {
        bench.call("write_stdin", &json!({"session_id": id, "chars": "x".repeat(600_000)}));
    }
    let said = bench.call_text("write_stdin", &json!({"session_id": id, "chars": "x".repeat(600_000)}));
    // The session has an input, so the hint does not suggest to start it with one.
    assert!(said.contains("it has not read ") && !said.contains("start it with"), "{said}");
}
