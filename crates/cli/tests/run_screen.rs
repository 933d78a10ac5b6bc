//! Tests of `toolgate run` at a real terminal: input, questions, interrupts and resizing, on the visible screen.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod script_server;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use script_server::ScriptServerProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit for text to appear.
const PATIENCE: Duration = Duration::from_secs(30);
const WIDTH: u16 = 60;
const HEIGHT: u16 = 20;

/// A terminal that runs `toolgate run` with a scripted model.
struct RunScreen {
    home: TempDir,
    served: ScriptServerProcess,
    program: Child,
    terminal: File,
    /// Keeps the terminal open, so that its final state can be read.
    other_end: File,
    shown: Arc<Mutex<vt100::Parser>>,
    modes: String,
}

impl RunScreen {
    /// Starts it without a prompt; the model says `turns`.
    fn new(turns: &[Value], more: &[&str]) -> Self {
        Self::by("exec \"$@\"", turns, more)
    }

    /// Starts it through a shell that runs `how`.
    fn by(how: &str, turns: &[Value], more: &[&str]) -> Self {
        let arguments = [&["--model", "m", "--sandbox", "workspace-write"], more].concat();
        Self::at_home(tempfile::tempdir().unwrap(), how, turns, &arguments)
    }

    /// Starts it in a home directory with these arguments.
    fn at_home(home: TempDir, how: &str, turns: &[Value], arguments: &[&str]) -> Self {
        let served = ScriptServerProcess::start(home.path(), turns);
        let toolgate = env!("CARGO_BIN_EXE_toolgate");
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::from(terminal);
        let other_end = File::options().read(true).write(true).open(name).unwrap();
        resize(&terminal, WIDTH);
        let end = || Stdio::from(other_end.try_clone().unwrap());
        let modes = format!("{:?}", tcgetattr(&other_end).unwrap());
        let work = home.path().join("work");
        fs::create_dir_all(&work).unwrap();
        let program = Command::new("setsid")
            .args(["--ctty", "bash", "-c", how, "sh"])
            .args([toolgate, "run", "--base-url", &served.url])
            .args(arguments)
            .current_dir(&work)
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(vt100::Parser::new(cells(HEIGHT), cells(WIDTH), 0)));
        let (mut from, to) = (terminal.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // ends: with the terminal
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().process(&bytes[..count]);
            }
        });
        Self { home, served, program, terminal, other_end, shown, modes }
    }

    /// Returns the visible text, without the lines about the session and the totals of turns.
    fn text(&self) -> String {
        let text = self.screen();
        let is_second_row_of_totals = |line: &str| {
            line.starts_with("  ")
                && line.ends_with("left")
                && "100 % of the context left".ends_with(line.trim())
        };
        let is_content = |line: &&str| {
            let marks = ["session ", "model ", "· ", "to go on: "];
            !marks.iter().any(|start| line.starts_with(start)) && !is_second_row_of_totals(line)
        };
        text.trim_end().lines().filter(is_content).collect::<Vec<_>>().join("\n")
    }

    /// Returns all visible text.
    fn screen(&self) -> String {
        self.shown.lock().screen().contents()
    }

    /// Waits for this text; if it ends with the input mark, it must be at the end.
    fn sees(&self, what: &str) {
        let until = Instant::now() + PATIENCE;
        let is_there =
            |text: &str| if what.ends_with('›') { text.ends_with(what) } else { text.contains(what) };
        while !is_there(&self.text()) {
            assert!(Instant::now() < until, "never saw {what:?}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until this text is gone.
    fn loses(&self, what: &str) {
        let until = Instant::now() + PATIENCE;
        while self.text().contains(what) {
            assert!(Instant::now() < until, "still sees {what:?}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn types(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the exit, checks that the terminal is restored, and returns the status and the text.
    fn ends(self) -> (Option<i32>, String) {
        let (code, text, _) = self.ends_and_leaves_home();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("to go on: ")).collect();
        (code, lines.join("\n"))
    }

    /// Like [`ends`](Self::ends), with the home directory for another start.
    fn ends_and_leaves_home(mut self) -> (Option<i32>, String, TempDir) {
        let until = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                break status.code();
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(format!("{:?}", tcgetattr(&self.other_end).unwrap()), self.modes);
        std::thread::sleep(Duration::from_millis(100));
        let text = self.screen().trim_end().to_owned();
        assert!(!self.shown.lock().screen().bracketed_paste());
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        (code, text, home)
    }

    fn requests(&self) -> String {
        self.served.requests().iter().map(Value::to_string).collect()
    }
}

impl Drop for RunScreen {
    fn drop(&mut self) {
        let _over = self.program.kill();
        let _over = self.program.wait();
    }
}

fn resize(terminal: &File, width: u16) {
    let size = Winsize { ws_row: HEIGHT, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn say(text: &str) -> Value {
    json!({"items": [{"type": "message", "text": text}]})
}

fn run(command: &str) -> Value {
    let arguments = json!({"cmd": command, "login": false});
    json!({"items": [{"type": "function_call", "name": "exec_command", "arguments": arguments}]})
}

/// A command that prints numbers until the file `on` exists.
fn counting() -> Value {
    run("for i in 1 2 3 4 5; do echo line $i; done; until [ -e on ]; do sleep 0.1; done; echo over")
}

#[test]
fn what_runs_is_shown_while_it_runs_and_lines_typed_meanwhile_reach_the_model() {
    let mut screen = RunScreen::new(&[counting(), say("All\tgood."), say("Bye.")], &[]);
    screen.sees("›");
    screen.types("fix the tets\x7f\x7fsts\r");
    screen.sees("  │ line 3\n  │ line 4\n  │ line 5");
    screen.types("be quick");
    screen.sees("  │ line 5\n› be quick");
    screen.types("\r");
    screen.sees("› be quick\n");
    fs::write(screen.home.path().join("work/on"), "").unwrap();
    screen.sees("All");
    screen.sees("\n›");
    let text = screen.text();
    // Overwritten text leaves no trace, and the longest line fits.
    assert!(!text.contains("Esc"), "{text}");
    assert_eq!(text.matches("  │ line 5").count(), 1, "{text}");
    let said: Vec<&str> = text.lines().collect();
    assert_eq!(said[..2], ["› fix the tests", "› be quick"], "{text}");
    assert!(said[2].starts_with("✓ exec_command for i in 1 2 3") && said[2].contains('…'), "{text}");
    assert!(screen.requests().contains("be quick"));
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn escape_stops_the_turn_and_the_next_goes_on() {
    let mut screen = RunScreen::new(&[run("echo begun; sleep 60"), say("Then not.")], &[]);
    screen.sees("›");
    screen.types("wait\r");
    screen.sees("│ begun");
    screen.types("\x1b");
    screen.sees("interrupted\n›");
    // With text on the input line, Escape clears it.
    screen.types("nonsense");
    screen.sees("› nonsense");
    screen.types("\x1b");
    screen.sees("interrupted\n›");
    screen.types("go on\r");
    screen.sees("Then not.\n›");
    assert!(!screen.text().contains("nonsense"), "{}", screen.text());
    assert!(screen.requests().contains("aborted"), "{}", screen.requests());
    screen.types("/quit\r");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_question_has_the_screen_and_its_keys_to_itself() {
    let mut screen = RunScreen::new(&[run("rm -rf build"), say("Removed.")], &["--approval", "untrusted"]);
    fs::create_dir(screen.home.path().join("work/build")).unwrap();
    screen.sees("›");
    screen.types("clean up\r");
    screen.sees("Answer (");
    screen.types("y");
    screen.sees("Removed.\n›");
    assert!(!screen.home.path().join("work/build").exists());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn the_note_at_a_question_is_edited_like_a_prompt() {
    let mut screen = RunScreen::new(&[run("rm -rf build"), say("As you say.")], &["--approval", "untrusted"]);
    screen.sees("›");
    screen.types("clean up\r");
    screen.sees("Answer (");
    screen.types("e");
    screen.sees("Note (Enter sends, Esc goes back):");
    screen.types("keep t\x1b[D\x1b[D\x1b[Dp");
    screen.sees("back): keepp t");
    screen.types("\x7f\x1b[F\x1b[Ahe log");
    screen.sees("back): keep the log");
    screen.types("\r");
    screen.sees("As you say.\n›");
    let requests = screen.requests();
    assert!(requests.contains("keep the log") && !requests.contains("[D"), "{requests}");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn an_interrupt_clears_the_typed_line_before_it_ends_the_program() {
    let mut screen = RunScreen::new(&[say("One.")], &[]);
    screen.sees("›");
    screen.types("first\r");
    screen.sees("One.\n›");
    screen.types("draft\x12fir");
    screen.sees("  search: draftfir");
    screen.types("\x03");
    screen.loses("search:");
    screen.sees("One.\n› draft");
    screen.types("\x03");
    screen.sees("One.\n›");
    screen.types("\x03");
    screen.sees("Ctrl-C again ends the program");
    screen.types("\x03");
    assert_eq!(screen.ends().0, Some(130));
}

#[test]
fn after_a_stop_the_prompt_and_its_keys_are_back() {
    let how = "set -m; modes=$(stty -g); \"$@\"; stty $modes; echo stopped; fg";
    let mut screen = RunScreen::by(how, &[say("I see.")], &[]);
    screen.sees("›");
    screen.types("hellx");
    screen.sees("› hellx");
    screen.types("\x1a");
    screen.sees("stopped\n");
    screen.sees("\n› hellx");
    screen.types("\x7fo\x1b[D\x1b[D\x1b[Dx\x7f\r");
    screen.sees("I see.\n›");
    assert!(screen.requests().contains("hello"), "{}", screen.requests());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_narrower_screen_shows_it_once() {
    let mut screen = RunScreen::new(&[counting(), say("Done.")], &[]);
    screen.sees("›");
    screen.types("count\r");
    screen.sees("│ line 5");
    for width in [30, 80, 24] {
        screen.shown.lock().screen_mut().set_size(cells(HEIGHT), cells(width));
        resize(&screen.terminal, width);
        std::thread::sleep(Duration::from_millis(300));
        screen.sees("│ line 5");
    }
    let text = screen.text();
    assert_eq!(text.matches("Esc").count(), 1, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
    fs::write(screen.home.path().join("work/on"), "").unwrap();
    screen.sees("Done.");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn two_interrupts_end_it_and_leave_the_terminal_as_it_was() {
    let mut screen = RunScreen::new(&[run("echo begun; sleep 60"), say("Never.")], &[]);
    screen.sees("›");
    screen.types("wait\r");
    screen.sees("│ begun");
    screen.types("\x03");
    screen.sees("interrupted");
    screen.types("\x03");
    let (code, text) = screen.ends();
    assert_eq!(code, Some(130), "{text}");
    assert!(text.ends_with("interrupted"), "{text}");
}

#[test]
fn what_is_pasted_is_one_prompt() {
    let mut screen = RunScreen::new(&[say("I see.")], &[]);
    screen.sees("›");
    screen.types("\x1b[200~one\rtwo\x1b[201~");
    screen.sees("› one\n  two");
    screen.types("\r");
    screen.sees("I see.\n›");
    assert!(screen.text().contains("› one\n  two\n"), "{}", screen.text());
    assert!(screen.requests().contains(r"one\ntwo"), "{}", screen.requests());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn in_the_background_it_works_on_and_leaves_the_terminal_alone() {
    let how = "set -m; \"$@\" & wait $!; echo over: $?";
    let screen = RunScreen::by(how, &[run("echo x > made"), say("Done.")], &["go"]);
    screen.sees("over: 0");
    assert!(screen.text().contains("Done."), "{}", screen.text());
    assert!(screen.home.path().join("work/made").exists());
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn the_prompt_is_edited_and_earlier_prompts_come_back() {
    let mut screen = RunScreen::new(&[say("One."), say("Two."), say("Three.")], &[]);
    fs::write(screen.home.path().join("work/README.md"), "").unwrap();
    screen.sees("›");
    screen.types("hello wrld\x1b[D\x1b[D\x1b[Do\x1b[F, see REA\t");
    screen.sees("› hello world, see README.md");
    screen.types("\r");
    screen.sees("One.\n›");
    screen.types("\x1b[A\x1b\rand more");
    screen.sees("\n  and more");
    screen.types("\r");
    screen.sees("Two.\n›");
    screen.types("/st\t");
    screen.sees("› /status");
    screen.types("\r");
    screen.sees("sandbox    workspace-write");
    screen.types("\x12/st");
    screen.sees("  search: /st");
    screen.types("\x15\x04");
    let requests = screen.requests();
    assert!(requests.contains("hello world, see README.md \\nand more"), "{requests}");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn markdown_is_rendered_and_totals_follow() {
    let text = "# Result\n\nAll **12** tests pass, and this sentence is long enough to be wrapped at a word.\n\n\
        - one\n- two\n\n| a | b |\n|---|--:|\n| x | 1 |\n\n```rust\nfn main() {}\n```\n";
    let mut screen = RunScreen::new(&[say(text)], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("fn main() {}\n›");
    let shown = screen.text();
    let wrapped = "All 12 tests pass, and this sentence is long enough to be\nwrapped at a word.\n";
    assert!(shown.contains(&format!("Result\n\n{wrapped}\n• one\n• two\n")), "{shown}");
    assert!(shown.contains("a   │   b\n────┼────\nx   │   1\n"), "{shown}");
    assert!(screen.screen().contains("\n· "), "{}", screen.screen());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn the_end_of_an_output_is_shown_and_slash_output_shows_all() {
    let mut screen = RunScreen::new(&[run("seq 1 9"), say("Done.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Done.\n›");
    let shown = screen.text();
    assert!(shown.contains("  │ … 4 more above; /output shows all\n  │ 5\n  │ 6\n"), "{shown}");
    screen.types("/output\r");
    screen.sees("\n1\n2\n3\n");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_long_output_is_shown_in_the_pager_or_by_its_end() {
    let how = "PAGER='cat > paged; echo it was paged' exec \"$@\"";
    let mut screen = RunScreen::by(how, &[run("seq 1 20000"), say("Done.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Done.\n›");
    screen.types("/output\r");
    screen.sees("it was paged\n›");
    let paged = fs::read_to_string(screen.home.path().join("work/paged")).unwrap();
    assert!(paged.starts_with("exec_command seq 1 20000\n1\n2\n") && paged.ends_with("\n20000\n"), "{paged}");
    // The keys are ours again.
    screen.types("/ps\r");
    screen.sees("nothing runs in the background\n›");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));

    let mut screen = RunScreen::by("PAGER=cat exec \"$@\"", &[run("seq 1 20000"), say("Done.")], &[]);
    screen.shown.lock().screen_mut().set_size(cells(300), cells(WIDTH));
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Done.\n›");
    screen.types("/output\r");
    screen.sees("\n20000\nhint: 19801 lines above are not");
    assert!(screen.text().contains("/output\n19801\n19802\n"), "{}", screen.text());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_new_session_begins_and_the_model_changes() {
    let mut screen = RunScreen::new(&[say("One."), say("Two."), say("Three.")], &[]);
    screen.sees("›");
    screen.types("first\r");
    screen.sees("One.\n›");
    screen.types("/model other\r");
    screen.sees("from now on: other");
    screen.types("second\r");
    screen.sees("Two.\n›");
    screen.types("/new\r");
    screen.sees("Two.\n› /new\n›");
    screen.types("third\r");
    screen.sees("Three.\n›");
    let requests = screen.served.requests();
    let models: Vec<&str> = requests.iter().map(|request| request["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["m", "other", "other"]);
    assert!(!requests[2].to_string().contains("first"));
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn the_first_start_asks_what_may_be_done_and_remembers_always() {
    let touch = || [run("touch made"), say("Done.")];
    let home = tempfile::tempdir().unwrap();
    let mut screen = RunScreen::at_home(home, "exec \"$@\"", &touch(), &["--model", "m", "--once", "go"]);
    screen.sees("Answer (w a r):");
    screen.types("a");
    screen.sees("hint: saved in\n");
    screen.sees("Done.");
    let (code, _, home) = screen.ends_and_leaves_home();
    assert_eq!(code, Some(0));
    assert!(home.path().join("work/made").exists());
    let saved = fs::read_to_string(home.path().join(".config/toolgate/config.toml")).unwrap();
    assert_eq!(
        saved,
        format!("[directories.\"{}/work\"]\nsandbox = \"workspace-write\"\n", home.path().display())
    );
    fs::remove_file(home.path().join("work/made")).unwrap();
    let screen = RunScreen::at_home(home, "exec \"$@\"", &touch(), &["--model", "m", "--once", "go"]);
    screen.sees("Done.");
    let (code, text, home) = screen.ends_and_leaves_home();
    assert_eq!(code, Some(0));
    assert!(!text.contains("What may") && home.path().join("work/made").exists(), "{text}");
}

#[test]
fn the_session_stays_open_after_its_first_prompt() {
    let mut screen = RunScreen::new(&[say("One."), say("Two.")], &["first task"]);
    screen.sees("› first task\nOne.\n›");
    screen.types("\x1b[A, again\r");
    screen.sees("› first task, again\nTwo.\n›");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn one_turn_is_run_with_once_and_where_no_person_sees_the_output() {
    for (how, more) in [("exec \"$@\"", &["--once", "go"][..]), ("\"$@\" | cat", &["go"])] {
        let screen = RunScreen::by(how, &[say("Done.")], more);
        screen.sees("Done.");
        assert_eq!(screen.ends().0, Some(0), "{how}");
    }
}

#[test]
fn without_a_model_nothing_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let screen = RunScreen::at_home(home, "exec \"$@\"", &[], &[]);
    let (code, text) = screen.ends();
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("error: no model is named\n"), "{text}");
}

#[test]
fn a_resumed_session_has_its_model_and_rights_again() {
    let home = tempfile::tempdir().unwrap();
    let arguments =
        ["--model", "m", "--sandbox", "workspace-write", "--approval", "never", "--once", "remember 42"];
    let turns = [run("true"), say("I **will**.")];
    let screen = RunScreen::at_home(home, "exec \"$@\"", &turns, &arguments);
    screen.sees("I will.");
    let (_, text, home) = screen.ends_and_leaves_home();
    assert!(text.contains("\nto go on: toolgate run --resume 20"), "{text}");
    let screen = RunScreen::at_home(
        home,
        "exec \"$@\"",
        &[say("42.")],
        &["--resume", "last", "--once", "which number?"],
    );
    screen.sees("\n42.");
    let shown = screen.screen();
    assert!(shown.contains(" goes on\nmodel m · may change files here · approval never\n"), "{shown}");
    assert!(shown.contains("› remember 42\n  ✓ exec_command true · "), "{shown}");
    assert!(shown.contains(" ms\n  I will.\n"), "{shown}");
    assert!(screen.requests().contains("remember 42"));
    let (code, _, home) = screen.ends_and_leaves_home();
    assert_eq!(code, Some(0));
    // A narrower flag wins.
    let arguments = ["--resume", "last", "--sandbox", "read-only", "--once", "again"];
    let screen = RunScreen::at_home(home, "exec \"$@\"", &[say("Yes.")], &arguments);
    screen.sees("\nYes.");
    assert!(screen.screen().contains("model m · reads files only · approval never\n"), "{}", screen.screen());
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn after_a_kill_undo_says_what_may_have_changed() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--model", "m", "--sandbox", "workspace-write"];
    let turns = [run("echo a > kept"), say("One."), run("echo b > made; sleep 60")];
    let mut screen = RunScreen::at_home(home, "exec \"$@\"", &turns, &arguments);
    screen.sees("›");
    screen.types("first\r");
    screen.sees("One.\n");
    screen.sees("+a\n›");
    screen.types("second\r");
    let made = screen.home.path().join("work/made");
    let until = Instant::now() + PATIENCE;
    while !made.exists() {
        assert!(Instant::now() < until, "{}", screen.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    screen.program.kill().unwrap();
    screen.program.wait().unwrap();
    let home = std::mem::replace(&mut screen.home, tempfile::tempdir().unwrap());
    drop(screen);
    let mut screen = RunScreen::at_home(home, "exec \"$@\"", &[], &["--resume", "last"]);
    screen.sees("› second\n  ■ exec_command echo b > made; sleep 60\n  interrupted during");
    screen.sees("may have changed files\n›");
    screen.types("/undo\r");
    screen.sees("the program ended during the last turn; it may have changed");
    screen.sees("exec_command: ");
    assert!(screen.home.path().join("work/kept").exists());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_refusal_of_the_sandbox_is_shown_with_its_remedy() {
    let refused = run("python3 -c 'import socket; socket.create_connection((\"192.0.2.7\", 80), 2)'; true");
    let screen = RunScreen::new(&[refused, say("Done.")], &["--once", "go", "--approval", "never"]);
    screen.sees("Done.");
    let text = screen.text();
    assert!(text.contains("⊘ the sandbox refused: connecting to `192.0.2.7"), "{text}");
    assert!(text.contains("to allow it: --host 192.0.2.7"), "{text}");
    assert_eq!(screen.ends().0, Some(0));
}

/// A script that connects to a host that is not allowed, and writes and ends after that.
const REFUSED_LATE: &str = "sleep 0.5; python3 -c 'import socket; socket.create_connection((\"192.0.2.7\", 80), 2)' \
    2>/dev/null; echo tail-output; exit 3";

#[test]
fn a_poll_of_a_refused_command_brings_its_output_and_no_question() {
    let start = json!({"cmd": REFUSED_LATE, "login": false, "yield_time_ms": 250});
    let call = |name: &str, arguments: &Value| json!({"items": [{"type": "function_call", "name": name, "arguments": arguments}]});
    let poll = call("write_stdin", &json!({"session_id": 1000, "chars": ""}));
    let mut screen = RunScreen::new(&[call("exec_command", &start), poll, say("Done.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Done.\n›");
    let text = screen.text();
    assert!(text.contains("✗ write_stdin") && text.contains("│ tail-output"), "{text}");
    assert!(text.contains("⊘ the sandbox refused: connecting to `192.0.2.7"), "{text}");
    assert!(text.contains("to allow it: /allow --host 192.0.2.7"), "{text}");
    let requests = screen.requests();
    assert!(
        requests.contains("Process exited with code 3") && requests.contains("tail-output"),
        "{requests}"
    );
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_refusal_is_shown_while_the_call_runs() {
    let script = "python3 -c 'import socket; socket.create_connection((\"192.0.2.7\", 80), 2)' 2>/dev/null
        until [ -e on ]; do sleep 0.1; done";
    let mut screen = RunScreen::new(&[run(script), say("Done.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Esc stops it\n  ⊘ the sandbox refused: connecting to `192.0.2.7");
    screen.sees("to allow it: /allow --host 192.0.2.7");
    fs::write(screen.home.path().join("work/on"), "").unwrap();
    screen.sees("Done.\n");
    screen.sees("\n›");
    assert_eq!(screen.text().matches("the sandbox refused").count(), 1, "{}", screen.text());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn slash_allow_gives_the_session_one_more_permission() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("other")).unwrap();
    let touch = || run("touch ~/other/made || true");
    let turns = [touch(), say("Refused."), touch(), say("Made.")];
    let mut screen =
        RunScreen::at_home(home, "exec \"$@\"", &turns, &["--model", "m", "--sandbox", "workspace-write"]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Refused.\n›");
    screen.types("/allow --writable ~/missing\r");
    screen.sees("a path of the\n  confinement, cannot be resolved:");
    screen.types("/allow --writable ~/other\r");
    screen.sees("allowed: --writable ~/other\n›");
    screen.types("again\r");
    screen.sees("Made.\n›");
    assert!(screen.home.path().join("other/made").exists(), "{}", screen.text());
    let requests = screen.requests();
    assert!(requests.contains("I have allowed --writable ~/other"), "{requests}");
    screen.types("\x04");
    let (code, text, _home) = screen.ends_and_leaves_home();
    assert_eq!((code, text.matches("to go on:").count()), (Some(0), 1), "{text}");
}

#[test]
fn a_yes_for_the_session_holds_in_a_replay_too() {
    let mut screen = RunScreen::new(&[run("rm -rf old"), run("rm -rf old"), say("Gone.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Answer (y s n e q):");
    screen.types("s");
    screen.sees("Gone.\n›");
    screen.types("\x04");
    let (_, _, home) = screen.ends_and_leaves_home();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    let replay =
        replay.args(["replay", "last"]).current_dir(home.path().join("work")).env("HOME", home.path());
    let output = replay.env_remove("XDG_STATE_HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_typed_line_is_wrapped_again_when_the_window_changes() {
    let mut screen = RunScreen::new(&[say("One.")], &[]);
    screen.sees("›");
    screen.types("one two three four five six seven eight nine ten eleven");
    screen.sees("› one two three four five six seven eight nine ten eleven");
    screen.shown.lock().screen_mut().set_size(cells(HEIGHT), cells(40));
    resize(&screen.terminal, 40);
    screen.sees("› one two three four five six seven\n  eight nine ten eleven");
    screen.types("\x15\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_mistyped_command_is_never_sent_to_the_model() {
    let mut screen = RunScreen::new(&[counting(), say("Done.")], &[]);
    screen.sees("›");
    for (typed, hint) in [
        ("/undo x", "hint: /undo takes no argument\n›"),
        ("/alow --host x", "hint: there is no /alow; did you mean /allow?\n›"),
        ("/PS", "nothing runs in the background\n›"),
    ] {
        screen.types(&format!("{typed}\r"));
        screen.sees(hint);
    }
    assert!(screen.served.requests().is_empty(), "{}", screen.requests());
    screen.types("count\r");
    screen.sees("  │ line 5");
    screen.types("/undo\r");
    screen.sees("hint: /undo works between turns; Esc stops this one\n");
    fs::write(screen.home.path().join("work/on"), "").unwrap();
    screen.sees("Done.\n");
    assert!(!screen.requests().contains("undo"), "{}", screen.requests());
    screen.types("EXIT\r");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn slash_kill_ends_what_runs_in_the_background() {
    let start = json!({"cmd": "echo up; sleep 60", "login": false, "yield_time_ms": 250});
    let start = json!({"items": [{"type": "function_call", "name": "exec_command", "arguments": start}]});
    let mut screen = RunScreen::new(&[start.clone(), start, say("Up."), say("I see.")], &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Up.\n›");
    screen.types("/ps\r");
    screen.sees("`/kill NUMBER` ends one");
    screen.types("/kill \t");
    screen.sees("› /kill\n  1000  1001  all");
    screen.types("1000\r");
    screen.sees("ended 1000: echo up; sleep 60\n›");
    screen.types("/kill all\r");
    screen.sees("ended 1001: echo up; sleep 60\n›");
    for (typed, seen) in [
        ("/ps\r", "nothing runs in the background\n›"),
        ("/kill 1000\r", "no process has the number 1000"),
        ("/kill x\r", "/kill takes the number of a process"),
    ] {
        screen.types(typed);
        screen.sees(seen);
    }
    screen.types("and now?\r");
    screen.sees("I see.\n›");
    assert!(screen.requests().contains("I have ended 1000"), "{}", screen.requests());
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn changed_files_are_listed_first_and_a_patch_shows_its_diff() {
    let patch = "*** Begin Patch\n*** Update File: edited.txt\n-a\n+b\n*** End Patch\n";
    let patch = json!({"items": [{"type": "custom_tool_call", "name": "apply_patch", "input": patch}]});
    let turns = [patch, run("seq 3000 > new.txt; rm gone.txt"), say("Done.")];
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    for (name, text) in [("edited.txt", "a\n"), ("gone.txt", "x\n")] {
        fs::write(home.path().join("work").join(name), text).unwrap();
    }
    let arguments = ["--model", "m", "--sandbox", "workspace-write"];
    let mut screen = RunScreen::at_home(home, "exec \"$@\"", &turns, &arguments);
    screen.shown.lock().screen_mut().set_size(cells(80), cells(WIDTH));
    screen.sees("›");
    screen.types("go\r");
    screen.sees("  … 2961 more lines; /diff shows all\n›");
    let text = screen.text();
    assert!(text.contains("✓ apply_patch edited.txt") && text.contains("\n  │ -a\n  │ +b\n"), "{text}");
    let list =
        "Done.\n  deleted gone.txt −1\n  changed edited.txt +1 −1\n  added   new.txt +3000\n  gone.txt\n  @@";
    assert!(text.contains(list), "{text}");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn text_of_toolgate_is_wrapped_at_words() {
    let limited = json!({"status": 429, "retry_after": "0"});
    let mut screen = RunScreen::new(&[limited, say("Done.")], &["--host", "a.example.org"]);
    screen.shown.lock().screen_mut().set_size(cells(120), cells(WIDTH));
    screen.sees("›");
    screen.types("go\r");
    screen.sees("Done.\n›");
    for (command, last) in [
        ("/help", "ends the program."),
        ("/allow", "in the background end."),
        ("/policy", "would be decided"),
        ("/undo", "nothing was changed"),
    ] {
        screen.types(&format!("{command}\r"));
        screen.sees(&format!("› {command}\n"));
        screen.sees("\n›");
        let words = screen.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(last), "{}", screen.text());
    }
    // A line that the terminal broke is one line here, and too long.
    let screen_text = screen.screen();
    let long: Vec<&str> = screen_text.lines().filter(|line| line.chars().count() >= WIDTH.into()).collect();
    assert!(long.is_empty(), "{long:#?}");
    screen.types("\x04");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn undone_changes_belong_to_no_later_turn() {
    let turns = [run("echo a > made; echo b > kept"), say("One."), run("true"), say("Two.")];
    let mut screen = RunScreen::new(&turns, &[]);
    screen.sees("›");
    screen.types("go\r");
    screen.sees("One.\n");
    screen.sees("+a\n›");
    screen.types("/undo\r");
    screen.sees("removed kept\nremoved made\n›");
    screen.types("/ps\r");
    screen.sees("nothing runs in the background");
    screen.types("more\r");
    screen.sees("Two.\n");
    screen.types("/diff\r");
    screen.sees("nothing was changed");
    screen.types("/undo\r");
    screen.sees("/undo\nnothing was changed");
    screen.types("\x04");
    let (code, _, home) = screen.ends_and_leaves_home();
    assert_eq!(code, Some(0));
    assert!(!home.path().join("work/made").exists());
    let mut log = Command::new(env!("CARGO_BIN_EXE_toolgate"));
    let log =
        log.args(["log", "last"]).env("HOME", home.path()).env_remove("XDG_STATE_HOME").output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("the user had Toolgate do this: write") && !log.contains("of no call"), "{log}");
}
