//! Tests of `toolgate run` at a real terminal: input, questions, interrupts and resizing, on the visible screen.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod served;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use served::ScriptServerProcess;
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
        let home = tempfile::tempdir().unwrap();
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
        fs::create_dir(&work).unwrap();
        let program = Command::new("setsid")
            .args(["--ctty", "bash", "-c", how, "sh"])
            .args([toolgate, "run", "--base-url", &served.url, "--model", "m"])
            .args(["--sandbox", "workspace-write"])
            .args(more)
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

    /// Returns the visible text, without the session's number and with times as T.
    fn text(&self) -> String {
        let text = self.shown.lock().screen().contents();
        text.trim_end().lines().filter(|line| !line.starts_with("session ")).collect::<Vec<_>>().join("\n")
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

    fn types(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the exit; returns the status, and whether the terminal was restored.
    fn ends(mut self) -> (Option<i32>, String) {
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
        let text = self.text();
        assert!(!self.shown.lock().screen().bracketed_paste());
        (code, text)
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
    assert!(!text.contains('│') && !text.contains("Esc"), "{text}");
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
    screen.sees("› one⏎two");
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
