//! Where a command takes its data from and where it puts it: what of that deserves a look.

use crate::account::{base, literal, text};
use crate::known::is_interpreter;
use crate::shell::{Command, Redirect, Word};

const RUNS: &str = "runs whatever another command writes";
/// Interpreters that take options as a shell does.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "yash", "zsh"];
/// Options of other interpreters that take the next word, which is no program.
const VALUED: &[&str] = &["-C", "-I", "-O", "-W", "-X", "-r", "--import", "--require"];
/// Where output goes that leaves nothing behind.
pub(crate) const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// What an interpreter runs.
enum Program<'a> {
    /// What it reads.
    Input,
    /// This text.
    Text(&'a Word),
    /// What is in this file.
    File(&'a Word),
}

/// Why somebody should look at where a command's data comes from or goes to.
pub(crate) fn danger(command: &Command) -> Option<&'static str> {
    by_input(command).or_else(|| by_redirects(command))
}

fn by_input(command: &Command) -> Option<&'static str> {
    let (name, rest) = command.words.split_first()?;
    let name = base(literal(name)?);
    if !is_interpreter(name) {
        return None;
    }
    let is_shell = SHELLS.contains(&name);
    let given = command.redirects.iter().any(|redirect| matches!(redirect, Redirect::Text(_)));
    match if is_shell { of_shell(rest) } else { of_other(rest) } {
        Program::Input if command.fed => Some(RUNS),
        Program::Input if is_shell && given => Some("runs a text that was not looked into"),
        Program::File(file) if is_input(text(file)) && (command.fed || given) => Some(RUNS),
        Program::File(file) if text(file).starts_with("<(") => Some(RUNS),
        Program::Text(script) if literal(script).is_none() && is_output(text(script)) => Some(RUNS),
        Program::Input | Program::File(_) | Program::Text(_) => None,
    }
}

fn of_shell(rest: &[Word]) -> Program<'_> {
    let mut words = rest.iter();
    // ends: each round takes a word
    while let Some(word) = words.next() {
        let written = text(word);
        let Some(letters) = written.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            if written == "-" {
                continue;
            }
            return Program::File(word);
        };
        if letters.starts_with('-') {
            if matches!(letters, "-rcfile" | "-init-file") {
                words.next();
            }
            continue;
        }
        if written.starts_with('-') && letters.contains('c') {
            return words.next().map_or(Program::Input, Program::Text);
        }
        if letters.contains('s') {
            return Program::Input;
        }
        if letters.ends_with(['o', 'O']) {
            words.next();
        }
    }
    Program::Input
}

fn of_other(rest: &[Word]) -> Program<'_> {
    let mut words = rest.iter();
    // ends: each round takes a word
    while let Some(word) = words.next() {
        match text(word) {
            "-" => return Program::Input,
            "-c" | "-e" | "-E" | "--eval" | "--print" | "-pe" | "-ne" => {
                return words.next().map_or(Program::Input, Program::Text);
            }
            "-m" => return words.next().map_or(Program::Input, Program::File),
            written if VALUED.contains(&written) => drop(words.next()),
            written if written.starts_with("-c") || written.starts_with("-e") => return Program::Text(word),
            written if written.starts_with('-') => {}
            _ => return Program::File(word),
        }
    }
    Program::Input
}

/// Whether a text holds what a command prints.
fn is_output(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// A path as it is written, without quotes and without what changes nothing.
fn plain(path: &str) -> String {
    let mut path = path.trim_matches(['"', '\'']).replace("/./", "/");
    // ends: it gets shorter
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    path
}

/// Whether a path leads to what is read anyway.
fn is_input(path: &str) -> bool {
    let path = plain(path);
    path == "/dev/stdin" || path == "/dev/fd/0" || (path.starts_with("/proc/") && path.ends_with("/fd/0"))
}

/// Why the redirections of a command deserve a look.
fn by_redirects(command: &Command) -> Option<&'static str> {
    let bare = literal(&command.words[0]) == Some(":");
    command.redirects.iter().find_map(|redirect| {
        let (word, writes) = match redirect {
            Redirect::Write(to) | Redirect::Append(to) | Redirect::ReadWrite(to) => (to, true),
            Redirect::Read(from) => (from, false),
            Redirect::Text(_) => return None,
        };
        let path = plain(text(word));
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            return Some("reaches another machine");
        }
        let harmless = SINKS.contains(&path.as_str())
            || ["/dev/fd/", "/dev/shm/"].iter().any(|place| path.starts_with(place))
            || matches!(path.as_str(), "/dev/tty" | "/dev/full");
        if writes && path.starts_with("/dev/") && !harmless {
            return Some("writes to a device");
        }
        if writes && (path.starts_with("/proc/sys") || path.starts_with("/sys/")) {
            return Some("changes the running system");
        }
        (bare && matches!(redirect, Redirect::Write(_)) && !harmless).then_some("empties a file")
    })
}
