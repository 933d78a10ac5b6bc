//! Tests programs on a real terminal that prompt, draw and react to keys.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{CommandHarness, eventually, output_text, python_path};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const UP: &str = "\u{1b}[A";

fn installed(bench: &CommandHarness, program: &str) -> bool {
    bench.run_script(&format!("command -v {program}")).success
}

fn screen(bench: &CommandHarness, id: u32) -> String {
    output_text(&bench.call("write_stdin", &json!({"session_id": id, "screen": true})))
}

pub(crate) fn a_python_session() {
    let bench = CommandHarness::new();
    let id = bench.start_background(
        &format!("{} -i -q", python_path()),
        &json!({"tty": true, "yield_time_ms": 30_000}),
    );
    bench.type_until(id, "def double(n):\n    return 2 * n\n\n", ">>> ");
    let said = bench.type_until(id, "double(21)\n", "42\n");
    assert!(said.starts_with("double(21)\n42\n"), "{said}");
    let looping = bench.type_in(id, "while True: pass\n\n");
    assert!(looping.joined_text().contains("\nProcess running with session ID "));
    let said = bench.type_until(id, CTRL_C, "KeyboardInterrupt");
    assert!(!said.contains("exited"));
    // The interpreter is still running and has kept its state.
    bench.type_until(id, "double(double(3))\n", "12\n");
    // The key that recalls the previous line.
    bench.type_until(id, &format!("{UP}\n"), "12\n");
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "exit(3)\n", "yield_time_ms": 30_000}));
    assert_eq!(answer.facts.exit_code, Some(3), "{}", answer.joined_text());
}

pub(crate) fn a_prompt_is_answered_early() {
    let bench = CommandHarness::new();
    let began = Instant::now();
    let script = "read -s -p 'Password: ' word; echo; echo \"${#word} letters\"";
    let answer = bench.start_script(script, &json!({"tty": true, "yield_time_ms": 30_000}));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process running with session ID 1000
    It seems to wait for input: write_stdin answers it
    Original token count: 3
    Output:
    Password:
    ");
    let id = crate::harness::session_id(&answer).unwrap();
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "secret\n", "yield_time_ms": 30_000}));
    // The input is not echoed.
    assert_snapshot!(bench.normalized(&answer), @"
    Wall time: T seconds
    Process exited with code 0
    Original token count: 4
    Output:

    6 letters
    ");
    // Directly from the terminal, as sudo and ssh prompt.
    let script = "exec 3<>/dev/tty; printf 'pass: ' >&3; read -u 3 x </dev/null; echo \"got $x\"";
    let id = bench.start_background(script, &json!({"tty": true, "yield_time_ms": 30_000}));
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "word\n", "yield_time_ms": 30_000}));
    assert_eq!(output_text(&answer), "word\ngot word\n");
}

pub(crate) fn tty_argument_decides_whether_there_is_a_terminal() {
    let bench = CommandHarness::new();
    let script =
        "tty; test -t 0 && test -t 1 && test -t 2 && echo all; echo $TERM; ps -o tty= -p $$ | tr -d ' '";
    let said = output_text(&bench.start_script(script, &json!({"tty": true, "yield_time_ms": 30_000})));
    assert!(said.starts_with("/dev/pts/") && said.contains("\nall\nxterm-256color\npts/"), "{said}");
    let said = output_text(&bench.start_script(script, &json!({"yield_time_ms": 30_000})));
    assert_eq!(said, "not a tty\ndumb\n?\n");
    let said = output_text(&bench.run_script(script));
    assert_eq!(said, "not a tty\ndumb\n?\n");
}

pub(crate) fn terminal_has_the_requested_size() {
    let bench = CommandHarness::new();
    let size = |more: Value| output_text(&bench.start_script("stty size", &more));
    assert_eq!(size(json!({"tty": true, "yield_time_ms": 30_000})), "24 80\n");
    assert_eq!(size(json!({"tty": true, "rows": 50, "cols": 132, "yield_time_ms": 30_000})), "50 132\n");
    assert_eq!(size(json!({"tty": true, "cols": 1000, "yield_time_ms": 30_000})), "24 1000\n");
    // The program is notified of a resize.
    let script = "trap 'echo now $(stty size)' WINCH; echo ready; while :; do sleep 0.05; done";
    let id = bench.start_background(script, &json!({"tty": true}));
    let resize = |more: Value| {
        let mut arguments = more;
        arguments["session_id"] = json!(id);
        arguments["yield_time_ms"] = json!(1000);
        output_text(&bench.call("write_stdin", &arguments))
    };
    assert_eq!(resize(json!({"rows": 40, "cols": 100})), "now 40 100\n");
    assert_eq!(resize(json!({"cols": 20})), "now 40 20\n");
    assert!(screen(&bench, id).starts_with("Screen: 40 lines of 20 columns, "));
}

pub(crate) fn control_keys_work() {
    let bench = CommandHarness::new();
    // Ctrl-D ends the input.
    let id = bench.start_background("cat", &json!({"tty": true}));
    assert_eq!(output_text(&bench.type_in(id, "one\n")), "one\none\n");
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": CTRL_D, "yield_time_ms": 30_000}));
    assert_eq!(answer.facts.exit_code, Some(0), "{}", answer.joined_text());
    // Ctrl-C kills the foreground process, not the shell; the up key recalls a line.
    let id = bench.start_background("exec bash --norc --noprofile -i", &json!({"tty": true}));
    bench.type_until(id, "PS1='go: '\n", "go: ");
    bench.type_until(id, "sleep 60\n", "sleep 60");
    bench.type_until(id, CTRL_C, "go: ");
    bench.type_until(id, "echo a b | tr a-z A-Z\n", "A B\n");
    let said = bench.type_until(id, &format!("{UP}\n"), "A B\n");
    assert!(said.starts_with("echo a b | tr a-z A-Z\n"), "{said}");
    // Ctrl-Z stops the process, and the shell manages it: this is job control.
    bench.type_until(id, "sleep 60\n", "sleep 60");
    bench.type_until(id, "\u{1a}", "Stopped");
    bench.type_until(id, "kill %1; wait; stty -echo; echo done\n", "done\n");
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": CTRL_D, "yield_time_ms": 30_000}));
    assert!(answer.facts.exit_code.is_some(), "{}", answer.joined_text());
}

pub(crate) fn closing_a_terminal_is_the_end_of_its_input() {
    let bench = CommandHarness::new();
    let id = bench.start_background("cat; echo end", &json!({"tty": true}));
    let arguments = json!({"session_id": id, "chars": "one\n", "close": true, "yield_time_ms": 5000});
    let answer = bench.call("write_stdin", &arguments);
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("one\none\nend\n", Some(0)));
}

pub(crate) fn a_screen_is_what_a_person_would_see() {
    let bench = CommandHarness::new();
    let id = bench.start_background(
        "printf 'one\\ntwo\\e[1;1HONE\\e[5;10Hhere'; sleep 60",
        &json!({"tty": true, "rows": 6, "cols": 30, "yield_time_ms": 1000}),
    );
    assert_snapshot!(screen(&bench, id), @"
    Screen: 6 lines of 30 columns, cursor at line 5, column 14
    ONE
    two


             here
    ");
}

pub(crate) fn screen_consumes_no_output() {
    let bench = CommandHarness::new();
    let id = bench.start_background("read x; echo written; read x", &json!({"tty": true}));
    bench.find_session(id).write_input(b"a\n").unwrap();
    eventually("its answer", || screen(&bench, id).contains("written"));
    let read = output_text(&bench.type_in(id, "b\n"));
    assert!(read.contains("written\n"), "{read}");
}

pub(crate) fn terminal_survives_a_moment_without_open_fds() {
    let bench = CommandHarness::new();
    let script =
        "exec 0<&- 1>&- 2>&-; sleep 0.3; exec 0</dev/tty 1>/dev/tty 2>&1; echo back; read x; echo \"got $x\"";
    let id = bench.start_background(script, &json!({"tty": true, "yield_time_ms": 1500}));
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "word\n", "yield_time_ms": 5000}));
    assert_eq!(answer.facts.exit_code, Some(0), "{}", answer.joined_text());
    assert!(output_text(&answer).contains("got word\n"), "{}", answer.joined_text());
}

pub(crate) fn screen_of_an_ended_session_reports_the_exit() {
    let bench = CommandHarness::new();
    let id = bench.start_background("read x; echo bye; exit 3", &json!({"tty": true}));
    let arguments = json!({"session_id": id, "chars": "\n", "screen": true, "yield_time_ms": 30_000});
    let answer = bench.call("write_stdin", &arguments);
    let text = answer.joined_text();
    assert!(text.contains("Process exited with code 3") && text.contains("bye"), "{text}");
}

pub(crate) fn a_full_screen_program() {
    let bench = CommandHarness::new();
    let lines: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    bench.workspace.write_file("text", lines);
    if installed(&bench, "less") {
        let id = bench.start_background(
            "less text",
            &json!({"tty": true, "rows": 6, "cols": 40, "yield_time_ms": 1000}),
        );
        eventually("its first screen", || screen(&bench, id).contains("line 5"));
        bench.type_in(id, "G");
        eventually("its last screen", || screen(&bench, id).contains("line 100"));
        assert!(!screen(&bench, id).contains("line 90"));
        assert_eq!(bench.type_in(id, "q").facts.exit_code, Some(0));
    }
    if installed(&bench, "vim") {
        let id = bench.start_background(
            "vim -u NONE -n text",
            &json!({"tty": true, "rows": 6, "cols": 40, "yield_time_ms": 1000}),
        );
        eventually("its first screen", || screen(&bench, id).contains("line 5"));
        bench.type_in(id, "ggccchanged\u{1b}");
        eventually("the change", || screen(&bench, id).contains("changed"));
        let answer =
            bench.call("write_stdin", &json!({"session_id": id, "chars": ":wq\r", "yield_time_ms": 30_000}));
        assert_eq!(answer.facts.exit_code, Some(0), "{}", answer.joined_text());
        assert!(output_text(&bench.run_script("head -n 2 text")) == "changed\nline 2\n");
    }
    let script = "import curses\ndef main(s):\n s.addstr(2, 5, 'drawn'); s.refresh(); s.getch()\ncurses.wrapper(main)\n";
    bench.workspace.write_file("draw.py", script);
    let id = bench.start_background(
        &format!("{} draw.py", python_path()),
        &json!({"tty": true, "rows": 6, "cols": 40, "yield_time_ms": 1000}),
    );
    eventually("a drawing", || screen(&bench, id).contains("\n\n     drawn"));
    assert_eq!(bench.type_in(id, "q").facts.exit_code, Some(0));
}

pub(crate) fn git_asks_hunk_by_hunk() {
    let bench = CommandHarness::new();
    if !installed(&bench, "git") {
        return;
    }
    let setup = "git init -q . && git config user.email a@b && git config user.name n && printf 'one\\n' > f && git add f && git commit -qm first && printf 'one\\ntwo\\n' > f";
    assert!(
        bench
            .call(
                "shell",
                &json!({"command": ["bash", "-c", setup], "workdir": "home", "timeout_ms": 60_000})
            )
            .success
    );
    let id = bench.start_background(
        "git -c color.ui=never add -p",
        &json!({"tty": true, "workdir": "home", "yield_time_ms": 30_000}),
    );
    let answer =
        bench.call("write_stdin", &json!({"session_id": id, "chars": "y\n", "yield_time_ms": 30_000}));
    assert_eq!(answer.facts.exit_code, Some(0), "{}", answer.joined_text());
    let staged =
        bench.call("shell", &json!({"command": ["git", "diff", "--cached", "--stat"], "workdir": "home"}));
    assert!(output_text(&staged).contains("1 insertion"), "{}", output_text(&staged));
}
