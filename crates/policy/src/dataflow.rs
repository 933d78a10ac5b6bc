//! Finds dangers in the data flow of a command: the sources of its input and the destinations of its output.

use crate::interpreter_args::ScriptSource;
use crate::programs::program_name;
use crate::programs::{
    REMOVES_FILES, ShellFamily, Starter, WRITES_PERSISTENT_PATH, drops_data, inner_commands, is_interpreter,
    is_persistent_path, normalize_path_text, script_file_options,
};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, literal_text, word_text};

const RUNS_OUTPUT: &str = "runs whatever another command writes";
/// Interpreters that work on a database.
const DATABASES: &[&str] = &["mariadb", "mongo", "mongosh", "mysql", "psql", "redis-cli", "sqlite3"];
/// Output destinations that store no data.
pub(crate) const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// Returns the danger in the sources and destinations of a command's data.
pub(crate) fn find_danger(command: &ScriptCommand) -> Option<&'static str> {
    danger_of_printed_name(command)
        .or_else(|| danger_of_added_args(command))
        .or_else(|| danger_of_input(command))
        .or_else(|| danger_of_redirects(command))
}

/// Returns the danger of a command name that another command prints.
fn danger_of_printed_name(command: &ScriptCommand) -> Option<&'static str> {
    let name = word_text(&command.words[0]).trim_matches('"');
    let inside = name.trim_start_matches(['$', '(', '`']);
    let asks = ["which ", "command -v ", "type -p ", "type -P "].iter().any(|asks| inside.starts_with(asks));
    let whole = name.starts_with("$(") && name.ends_with(')') || name.starts_with('`') && name.ends_with('`');
    let added = command.wrappers.last().is_some_and(|by| by == "xargs");
    (literal_text(&command.words[0]).is_none() && (whole && !asks || added)).then_some(RUNS_OUTPUT)
}

/// Returns the danger of arguments that `xargs` or `find` adds.
fn danger_of_added_args(command: &ScriptCommand) -> Option<&'static str> {
    let each = |by: &String| by == "xargs" || by.starts_with("find -");
    let (name, rest) = command.words.split_first()?;
    let name = program_name(literal_text(name)?);
    if command.wrappers.iter().any(each) && matches!(name, "rm" | "unlink" | "rmdir") {
        return Some(REMOVES_FILES);
    }
    let fed = command.wrappers.last().is_some_and(|by| by == "xargs");
    let no_command =
        rest.iter().all(|word| word_text(word).starts_with(|c: char| c == '-' || c.is_ascii_digit()));
    let program = match ScriptSource::from_args(name, rest) {
        // The script begins with the added argument.
        ScriptSource::Text(script) => {
            let written = word_text(script);
            let added = !written.starts_with(|c: char| c.is_ascii_alphabetic()) || !written.contains(' ');
            let passed = written.trim_start_matches('"').starts_with(['$', '@']);
            if literal_text(script).is_none() { added } else { command.more_args && passed }
        }
        ScriptSource::Input => command.more_args,
        ScriptSource::File(_) => false,
    };
    let operands = Starter::of(name).and_then(|starter| Some(starter.grammar?.1));
    let mut first =
        rest.iter().filter(|word| !word_text(word).starts_with('-')).take(operands.unwrap_or(0) + 1);
    let named = name != "find" && first.any(|word| literal_text(word).is_none());
    let is_starter = operands.is_some() || matches!(name, "eval" | "find");
    let starts = is_starter && (command.more_args && no_command || named);
    let runs = starts || is_interpreter(name) && program;
    (fed && runs).then_some(RUNS_OUTPUT)
}

fn danger_of_input(command: &ScriptCommand) -> Option<&'static str> {
    let (name, rest) = command.words.split_first()?;
    let name = program_name(literal_text(name)?);
    let given = command.redirects.iter().any(|redirect| matches!(redirect, ScriptRedirect::Text(_)));
    if (command.has_piped_input || given) && args_run_input(name, rest) || args_run_output(name, rest) {
        return Some(RUNS_OUTPUT);
    }
    if matches!(name, "declare" | "export" | "readonly" | "typeset")
        && rest.iter().any(begins_with_substitution)
    {
        return Some("sets variables that another command names");
    }
    if command.has_piped_input && inner_command_runs_input(command) {
        return Some(RUNS_OUTPUT);
    }
    if !is_interpreter(name) {
        return None;
    }
    let is_shell = ShellFamily::of(name).is_some();
    let drops = |redirect: &ScriptRedirect| matches!(redirect, ScriptRedirect::Text(given) if drops_data(word_text(given)));
    if DATABASES.contains(&name) && command.redirects.iter().any(drops) {
        return Some("removes the data of a database");
    }
    let printed = |redirect: &ScriptRedirect| matches!(redirect, ScriptRedirect::Text(text) if begins_with_substitution(text));
    match ScriptSource::from_args(name, rest) {
        ScriptSource::Input if command.redirects.iter().any(printed) => Some(RUNS_OUTPUT),
        ScriptSource::Input if command.has_piped_input => Some(RUNS_OUTPUT),
        ScriptSource::Input if is_shell && given => Some("runs a text that was not looked into"),
        ScriptSource::File(file) if is_stdin_path(word_text(file)) && (command.has_piped_input || given) => {
            Some(RUNS_OUTPUT)
        }
        ScriptSource::File(file)
            if word_text(file).starts_with("<(") || is_descriptor_path(word_text(file)) =>
        {
            Some(RUNS_OUTPUT)
        }
        // An awk program may safely contain a search term printed by a command.
        ScriptSource::Text(script) if name.ends_with("awk") => {
            begins_with_substitution(script).then_some(RUNS_OUTPUT)
        }
        ScriptSource::Text(script)
            if literal_text(script).is_none() && contains_substitution(word_text(script)) =>
        {
            Some(RUNS_OUTPUT)
        }
        ScriptSource::Input | ScriptSource::File(_) | ScriptSource::Text(_) => None,
    }
}

/// Returns true if a command started by this one runs its standard input. `xargs` and similar programs consume their
/// input themselves.
fn inner_command_runs_input(command: &ScriptCommand) -> bool {
    let words: Vec<Option<&str>> = command.words.iter().map(literal_text).collect();
    if matches!(words[0].map(program_name), Some("xargs" | "gxargs" | "parallel" | "find" | "fd" | "entr")) {
        return false;
    }
    inner_commands(&words).into_iter().any(|argv| {
        let word = |word: &Option<&str>| ScriptWord::Literal(word.unwrap_or("?").to_owned());
        let words: Vec<ScriptWord> = argv.iter().map(word).collect();
        let name = program_name(word_text(&words[0]));
        is_interpreter(name) && matches!(ScriptSource::from_args(name, &words[1..]), ScriptSource::Input)
    })
}

/// Returns true if the arguments tell the program `name` to run its standard input, or if it does so without arguments.
fn args_run_input(name: &str, rest: &[ScriptWord]) -> bool {
    let is_read = |word: &str| word == "-" || is_stdin_path(word);
    let words: Vec<&str> = rest.iter().map(word_text).collect();
    let behind = |lead: &&str| {
        let attached = words.iter().filter_map(|word| word.strip_prefix(lead));
        let next = words.windows(2).filter(|pair| pair[0] == *lead).map(|pair| pair[1]);
        attached.map(|rest| rest.trim_start_matches('=')).chain(next).any(is_read)
    };
    match name {
        "parallel" => words.iter().all(|word| {
            word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || ShellFamily::of(word).is_some()
        }),
        _ => script_file_options(name).iter().any(behind),
    }
}

/// Returns true if the arguments tell the program `name` to run another command's output, other than by standard input.
fn args_run_output(name: &str, rest: &[ScriptWord]) -> bool {
    let leads = || script_file_options(name).iter();
    let prints = |file: &str| file.starts_with("<(") || is_descriptor_path(file);
    let behind = rest
        .windows(2)
        .any(|pair| leads().any(|lead| *lead == word_text(&pair[0])) && prints(word_text(&pair[1])));
    let attached = |word: &ScriptWord| {
        leads().any(|lead| {
            word_text(word).strip_prefix(lead).is_some_and(|file| prints(file.trim_start_matches('=')))
        })
    };
    let evaluates =
        |word: &ScriptWord| word_text(word).starts_with("--eval=") && contains_substitution(word_text(word));
    match name {
        "make" | "gmake" => behind || rest.iter().any(attached) || rest.iter().any(evaluates),
        "sed" => behind || rest.iter().any(attached) || rest.first().is_some_and(begins_with_substitution),
        _ => behind || rest.iter().any(attached),
    }
}

/// Returns the danger of an interpreter whose script is a variable filled by another command, or of a command whose
/// name is such a variable.
pub(crate) fn danger_by_variable(
    command: &ScriptCommand,
    assigned: &[(String, ScriptWord)],
) -> Option<&'static str> {
    let (name, rest) = command.words.split_first()?;
    if let ScriptWord::Unknown(raw) = name {
        let variable = raw.trim_matches('"').trim_start_matches('$').trim_matches(['{', '}']);
        let read = |value: &ScriptWord| matches!(word_text(value), "read" | "mapfile" | "readarray");
        let named = assigned.iter().any(|(set, value)| set == variable && read(value));
        return (command.has_piped_input && named).then_some(RUNS_OUTPUT);
    }
    let name = program_name(literal_text(name)?);
    let filled = |word: &ScriptWord| {
        let variable = word_text(word).trim_matches('"').strip_prefix('$').unwrap_or_default();
        let variable = variable.trim_matches(['{', '}']);
        let by_read = |value: &ScriptWord| literal_text(value).is_none() && word_text(value) == "read";
        let mut values = assigned.iter().filter(|(name, _)| name == variable).map(|(_, value)| value);
        literal_text(word).is_none() && values.any(|value| by_read(value) || begins_with_substitution(value))
    };
    let text_is = matches!(ScriptSource::from_args(name, rest), ScriptSource::Text(script) if filled(script));
    let given = matches!(ScriptSource::from_args(name, rest), ScriptSource::Input)
        && command
            .redirects
            .iter()
            .any(|redirect| matches!(redirect, ScriptRedirect::Text(text) if filled(text)));
    (is_interpreter(name) && (text_is || given)).then_some(RUNS_OUTPUT)
}

/// Returns true if a word begins with a command substitution.
fn begins_with_substitution(word: &ScriptWord) -> bool {
    let written = word_text(word).trim_start_matches(|c: char| c == '"' || c.is_whitespace());
    literal_text(word).is_none()
        && (written.starts_with("$(") && !written.starts_with("$((") || written.starts_with('`'))
}

/// Returns true if a text contains a command substitution.
fn contains_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Returns true if a path means standard input.
fn is_stdin_path(path: &str) -> bool {
    let path = normalize_from_root(path);
    path == "/dev/stdin" || path == "/dev/fd/0" || (path.starts_with("/proc/") && path.ends_with("/fd/0"))
}

/// Returns true if a path means an open file descriptor other than 0.
fn is_descriptor_path(path: &str) -> bool {
    let path = normalize_from_root(path);
    let of_process =
        path.strip_prefix("/proc/").and_then(|rest| rest.split_once("/fd/")).map(|(_, number)| number);
    path.strip_prefix("/dev/fd/").or(of_process).is_some_and(|number| number != "0")
}

/// Normalizes a path. A path that starts with `..` is treated as one from the root.
fn normalize_from_root(path: &str) -> String {
    let path = normalize_path_text(path);
    match path.strip_prefix("../") {
        Some(rest) => format!("/{}", rest.trim_start_matches("../")),
        None => path,
    }
}

/// Returns the danger of a command's redirections.
fn danger_of_redirects(command: &ScriptCommand) -> Option<&'static str> {
    let bare = literal_text(&command.words[0]) == Some(":");
    command.redirects.iter().find_map(|redirect| {
        let (word, writes) = match redirect {
            ScriptRedirect::Write(to) | ScriptRedirect::Append(to) | ScriptRedirect::ReadWrite(to) => {
                (to, true)
            }
            ScriptRedirect::Read(from) => (from, false),
            ScriptRedirect::Text(_) => return None,
        };
        let path = normalize_path_text(word_text(word));
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
        if writes && is_persistent_path(word_text(word)) {
            return Some(WRITES_PERSISTENT_PATH);
        }
        (bare && matches!(redirect, ScriptRedirect::Write(_)) && !harmless).then_some("empties a file")
    })
}
