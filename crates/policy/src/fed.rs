//! Where a command takes its data from and where it puts it: what of that deserves a look.

use crate::account::{base, literal, text};
use crate::known::{LASTING, REMOVES, drops_data, is_interpreter, is_lasting, plain};
use crate::shell::{Command, Redirect, Word};

const RUNS: &str = "runs whatever another command writes";
/// Interpreters that take options as a shell does.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "yash", "zsh"];
/// Interpreters that work on a database.
const DATABASES: &[&str] = &["mariadb", "mongo", "mongosh", "mysql", "psql", "redis-cli", "sqlite3"];
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

/// Programs, and the words behind which they name what they run.
const NAMED: &[(&str, &[&str])] = &[
    ("make", &["-f", "--file", "--makefile"]),
    ("gmake", &["-f", "--file", "--makefile"]),
    ("sed", &["-f", "--file"]),
    ("deno", &["run"]),
    ("bun", &["run"]),
    ("go", &["run"]),
];
/// Programs that start what their words name, and that do so with words that are added.
const STARTERS: &[&str] = &[
    "command", "env", "eval", "exec", "find", "nice", "nohup", "parallel", "setsid", "stdbuf", "sudo",
    "time", "timeout", "xargs",
];

/// Why somebody should look at where a command's data comes from or goes to.
pub(crate) fn danger(command: &Command) -> Option<&'static str> {
    by_name(command)
        .or_else(|| by_added(command))
        .or_else(|| by_input(command))
        .or_else(|| by_redirects(command))
}

/// Why its name does: another command prints it.
fn by_name(command: &Command) -> Option<&'static str> {
    let name = text(&command.words[0]).trim_matches('"');
    let inside = name.trim_start_matches(['$', '(', '`']);
    let asks = ["which ", "command -v ", "type -p ", "type -P "].iter().any(|asks| inside.starts_with(asks));
    let whole = name.starts_with("$(") && name.ends_with(')') || name.starts_with('`') && name.ends_with('`');
    (literal(&command.words[0]).is_none() && whole && !asks).then_some(RUNS)
}

/// Why the words do that `xargs` or `find` adds to it.
fn by_added(command: &Command) -> Option<&'static str> {
    let each = |by: &String| by == "xargs" || by.starts_with("find -");
    let (name, rest) = command.words.split_first()?;
    let name = base(literal(name)?);
    if command.through.iter().any(each) && matches!(name, "rm" | "unlink" | "rmdir") {
        return Some(REMOVES);
    }
    let fed = command.through.last().is_some_and(|by| by == "xargs");
    let no_command = rest.iter().all(|word| text(word).starts_with(|c: char| c == '-' || c.is_ascii_digit()));
    let program = match if SHELLS.contains(&name) { of_shell(rest) } else { of_other(rest) } {
        // The text begins with what is added.
        Program::Text(script) => {
            literal(script).is_none() && !text(script).starts_with(|c: char| c.is_ascii_alphabetic())
        }
        Program::Input => command.more,
        Program::File(_) => false,
    };
    let runs = STARTERS.contains(&name) && command.more && no_command || is_interpreter(name) && program;
    (fed && runs).then_some(RUNS)
}

fn by_input(command: &Command) -> Option<&'static str> {
    let (name, rest) = command.words.split_first()?;
    let name = base(literal(name)?);
    if command.fed && names_input(name, rest) {
        return Some(RUNS);
    }
    if !is_interpreter(name) {
        return None;
    }
    let is_shell = SHELLS.contains(&name);
    let drops = |redirect: &Redirect| matches!(redirect, Redirect::Text(given) if drops_data(text(given)));
    if DATABASES.contains(&name) && command.redirects.iter().any(drops) {
        return Some("removes the data of a database");
    }
    let given = command.redirects.iter().any(|redirect| matches!(redirect, Redirect::Text(_)));
    match if is_shell { of_shell(rest) } else { of_other(rest) } {
        Program::Input if command.fed => Some(RUNS),
        Program::Input if is_shell && given => Some("runs a text that was not looked into"),
        Program::File(file) if is_input(text(file)) && (command.fed || given) => Some(RUNS),
        Program::File(file) if text(file).starts_with("<(") || is_descriptor(text(file)) => Some(RUNS),
        Program::Text(script) if literal(script).is_none() && is_output(text(script)) => Some(RUNS),
        Program::Input | Program::File(_) | Program::Text(_) => None,
    }
}

/// Whether the program `name` is told to run what it reads: by its words, or by having none.
fn names_input(name: &str, rest: &[Word]) -> bool {
    let is_read = |word: &str| word == "-" || is_input(word);
    let words: Vec<&str> = rest.iter().map(text).collect();
    let behind = |lead: &&str| {
        let attached = words.iter().filter_map(|word| word.strip_prefix(lead));
        let next = words.windows(2).filter(|pair| pair[0] == *lead).map(|pair| pair[1]);
        attached.map(|rest| rest.trim_start_matches('=')).chain(next).any(is_read)
    };
    match name {
        "parallel" => words
            .iter()
            .all(|word| word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || SHELLS.contains(word)),
        _ => NAMED.iter().any(|(program, leads)| *program == name && leads.iter().any(behind)),
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
            "-c" | "-e" | "--eval" | "--print" | "-pe" | "-ne" => {
                return words.next().map_or(Program::Input, Program::Text);
            }
            // To some it is a flag, to others it has a text.
            "-E" if words.as_slice().first().is_some_and(|next| !text(next).starts_with('-')) => {
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

/// Whether a path leads to what is read anyway.
fn is_input(path: &str) -> bool {
    let path = plain(path);
    path == "/dev/stdin" || path == "/dev/fd/0" || (path.starts_with("/proc/") && path.ends_with("/fd/0"))
}

/// Whether a path leads to what was opened before, by a number that is not zero.
fn is_descriptor(path: &str) -> bool {
    let path = plain(path);
    let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"));
    number.is_some_and(|number| number != "0")
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
        if writes && is_lasting(text(word)) {
            return Some(LASTING);
        }
        (bare && matches!(redirect, Redirect::Write(_)) && !harmless).then_some("empties a file")
    })
}
