//! Collects the commands of shells that are given a script as an argument.

use crate::programs::program_name;
use crate::shell::builtins::{are_harmless_letters, is_harmless_option};
use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::syntax_tree::{ParsedWord, ShellDialect, ValueKind};
use crate::shell::{ScriptRedirect, ScriptWord};

/// Shells whose options are known.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];
/// Shells with a syntax of their own.
const OTHER_SHELLS: &[&str] = &[
    "csh", "elvish", "fish", "ksh93", "mksh", "nu", "oksh", "osh", "pdksh", "posh", "pwsh", "rbash", "tcsh",
    "xonsh", "yash",
];

pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || OTHER_SHELLS.contains(&name)
}

/// Returns the dialect of the shell `name`.
fn dialect_of(name: &str) -> ShellDialect {
    match name {
        "bash" => ShellDialect::Bash,
        "ash" | "dash" | "sh" => ShellDialect::Posix,
        _ => ShellDialect::Foreign,
    }
}

/// The parsed options of a shell.
#[derive(Default)]
struct ShellInvocation {
    /// The word that contains `-c`.
    script_flag: Option<String>,
    login: bool,
    /// The position of the first operand.
    rest: usize,
}

/// Collects the commands of a shell's script argument. A script file or standard input has no commands to collect.
pub(crate) fn collect_shell_script(
    walk: &mut CommandCollector,
    name: &str,
    call: &CommandCall,
    place: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let start = (!OTHER_SHELLS.contains(&name)).then(|| parse_shell_options(args, dialect_of(name))).flatten();
    let Some(start) = start else {
        collect_guessed_script(walk, name, args, place);
        return None;
    };
    walk.login |= start.login;
    let Some(flag) = start.script_flag else {
        // The script is a file or standard input; an added or unknown word may be the file.
        if args.len() == start.rest {
            collect_stdin_script(walk, name, place);
        }
        return Some(());
    };
    let script = args.get(start.rest)?;
    let shell = call.words[0].known_text().map_or(name, program_name);
    let by = format!("{shell} {flag}");
    let Some(known) = script.known_text() else {
        // `xargs` and `find` replace only the placeholder; the rest of the script stays as it is.
        let adds = |by: &String| by == "xargs" || by.starts_with("find -");
        if place.wrappers.last().is_some_and(adds) {
            collect_script_text(walk, script.text(), &by, dialect_of(name), place);
        }
        for likely in likely_scripts(walk, script) {
            collect_script_text(walk, &likely, &by, dialect_of(name), place);
        }
        return None;
    };
    collect_script_text(walk, known, &by, dialect_of(name), place);
    Some(())
}

/// Collects the commands of a script on standard input. The script's own commands may consume parts of that input, so
/// the result is only likely.
fn collect_stdin_script(walk: &mut CommandCollector, name: &str, place: &CommandContext) {
    let inner = CommandContext { redirects: Vec::new(), ..place.clone() };
    for redirect in &place.redirects {
        if let ScriptRedirect::Text(ScriptWord::Literal(script)) = redirect {
            collect_script_text(walk, script, &format!("{name} <<<"), dialect_of(name), &inner);
        }
    }
}

/// Collects the likely script of a shell that is not understood: the word after `-c`.
fn collect_guessed_script(walk: &mut CommandCollector, name: &str, args: &[ParsedWord], place: &CommandContext) {
    let is_flag = |word: &str| {
        matches!(word, "--command" | "-Command") || word.strip_prefix('-').is_some_and(|it| it.ends_with('c'))
    };
    let at = args.iter().position(|arg| arg.known_text().is_some_and(is_flag));
    let Some(script) = at.and_then(|at| args.get(at + 1)) else { return };
    for likely in likely_scripts(walk, script) {
        collect_script_text(walk, &likely, &format!("{name} -c"), dialect_of(name), place);
    }
}

/// Returns the likely text of a script: the value of its variable, or the text around its variables.
fn likely_scripts(walk: &CommandCollector, script: &ParsedWord) -> Vec<String> {
    if let Some(known) = script.known_text() {
        return vec![known.to_owned()];
    }
    let inside = script.text().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let begins = |text: &&str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = inside.filter(begins).filter(|text| !text.contains(['\\', '"', '`']) && !text.contains("$("));
    walk.likely_values(script.text()).into_iter().chain(plain.map(str::to_owned)).collect()
}

/// Lists the shell that `by` starts, and collects the commands of its script.
pub(crate) fn collect_started_shell(
    walk: &mut CommandCollector,
    script: &str,
    by: &str,
    dialect: ShellDialect,
    place: &CommandContext,
) {
    let words = ["sh", "-c", script].into_iter().map(ParsedWord::literal).collect();
    let place = place.inside_wrapper(by);
    walk.push_command(&CommandCall { words, more_args: false, started_by: StartedBy::Program }, &place);
    collect_script_text(walk, script, "sh -c", dialect, &place);
}

/// Collects the commands of a script that `by` runs.
fn collect_script_text(walk: &mut CommandCollector, script: &str, by: &str, dialect: ShellDialect, place: &CommandContext) {
    let mut inner = place.inside_wrapper(by);
    inner.dialect = dialect;
    for (name, word) in &place.variables {
        let kind = match word {
            ScriptWord::Literal(text) => crate::shell::syntax_tree::kind_of(text),
            ScriptWord::Unknown(_) => ValueKind::Any,
        };
        walk.set_variable(name, word, kind);
    }
    if inner.depth > crate::shell::MAX_DEPTH {
        return walk.add_doubt(script, "it is nested too deep");
    }
    walk.collect_text(script, &inner);
}

/// Parses the options of a shell. Returns `None` if one is unknown or changes how scripts are parsed.
fn parse_shell_options(args: &[ParsedWord], dialect: ShellDialect) -> Option<ShellInvocation> {
    let mut start = ShellInvocation::default();
    // ends: each round takes a word
    while let Some(arg) = args.get(start.rest) {
        let Some(word) = arg.known_text() else {
            // Without `-c` the word is a script file. A word that may be an option is not accepted.
            return arg.is_operand().then_some(start);
        };
        match word {
            "--" | "-" => {
                start.rest += 1;
                return Some(start);
            }
            "--login" | "--noprofile" | "--norc" | "--noediting" if dialect == ShellDialect::Bash => {
                start.login |= word == "--login";
                start.rest += 1;
                continue;
            }
            "--version" | "--help" if args.len() == 1 => return Some(start),
            _ => {}
        }
        let Some(letters) = word.strip_prefix(['-', '+']) else { return Some(start) };
        start.rest += 1;
        parse_option_letters(letters, word, args, &mut start)?;
    }
    Some(start)
}

fn parse_option_letters(letters: &str, word: &str, args: &[ParsedWord], start: &mut ShellInvocation) -> Option<()> {
    for letter in letters.chars() {
        match letter {
            'c' if word.starts_with('-') => start.script_flag = Some(word.to_owned()),
            'l' => start.login = true,
            's' if word == "-s" => {}
            'o' => {
                let name = args.get(start.rest)?.known_text()?;
                is_harmless_option(name).then_some(())?;
                start.rest += 1;
            }
            _ => are_harmless_letters(&letter.to_string()).then_some(())?,
        }
    }
    Some(())
}
