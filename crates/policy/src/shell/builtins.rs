//! Analyses shell built-ins: some run their arguments, some evaluate them.

use crate::programs::COMMAND_OPTIONS;
use crate::shell::MAX_DEPTH;
use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::syntax_tree::{ParsedWord, ShellDialect, ValueKind};
use crate::shell::variable_builtins;
use crate::shell::wrapper_options::{OptionTable, parse_options};
use crate::shell::wrappers;

/// Built-ins that run nothing, for any arguments.
const HARMLESS_BUILTINS: &[&str] = &[
    ":", "bg", "break", "caller", "cd", "continue", "dirs", "disown", "echo", "exit", "false", "fg", "help",
    "kill", "logout", "popd", "pushd", "pwd", "return", "shift", "suspend", "times", "true", "type",
    "ulimit", "umask", "unalias",
];
/// Built-ins that may run anything, or change the meaning of later words.
const OPAQUE_BUILTINS: &[&str] = &[
    ".", "bind", "compgen", "complete", "compopt", "enable", "fc", "history", "source",
    // Built-ins of other shells.
    "autoload", "bindkey", "chdir", "emulate", "float", "functions", "integer", "nameref", "print", "r",
    "rehash", "sched", "unhash", "vared", "whence", "where", "zle", "zmodload", "zparseopts", "zstyle",
];
/// Built-ins that are analysed individually.
const ANALYSED_BUILTINS: &[&str] = &[
    "[", "alias", "builtin", "command", "declare", "eval", "exec", "export", "getopts", "hash", "jobs",
    "let", "local", "mapfile", "printf", "read", "readarray", "readonly", "set", "shopt", "test", "trap",
    "typeset", "unset", "wait",
];
/// Shell options that do not change which commands run.
const HARMLESS_LETTERS: &str = "abBCeEfhmnTuvx";
const HARMLESS_OPTIONS: &[&str] = &[
    "allexport", "braceexpand", "errexit", "errtrace", "functrace", "hashall", "monitor", "noclobber",
    "noexec", "noglob", "notify", "nounset", "physical", "pipefail", "verbose", "xtrace",
];
const HARMLESS_SHOPTS: &[&str] = &[
    "dotglob", "failglob", "globstar", "inherit_errexit", "lastpipe", "nocaseglob", "nocasematch", "nullglob",
];

/// Returns true if the name is a shell built-in.
pub(crate) fn is_builtin(name: &str) -> bool {
    HARMLESS_BUILTINS.contains(&name) || OPAQUE_BUILTINS.contains(&name) || ANALYSED_BUILTINS.contains(&name)
}

/// Returns true if this shell option does not change which commands run.
pub(crate) fn is_harmless_option(name: &str) -> bool {
    HARMLESS_OPTIONS.contains(&name)
}

/// Returns true if none of these option letters changes which commands run.
pub(crate) fn are_harmless_letters(letters: &str) -> bool {
    letters.chars().all(|letter| HARMLESS_LETTERS.contains(letter))
}

/// Collects the commands that the built-in `name` runs.
pub(crate) fn collect_builtin(
    collector: &mut CommandCollector,
    name: &str,
    call: &CommandCall,
    context: &CommandContext,
) {
    let args = &call.words[1..];
    if HARMLESS_BUILTINS.contains(&name) && context.dialect != ShellDialect::Foreign {
        return;
    }
    if context.dialect == ShellDialect::Foreign && evaluates_arithmetic(name) && args.iter().any(may_run) {
        return collector.add_doubt(&wrappers::display_text(call), "other shells read this differently");
    }
    let fine = match name {
        _ if HARMLESS_BUILTINS.contains(&name) => true,
        "builtin" | "command" | "exec" => return collect_prefixed(collector, name, call, context),
        "eval" => return eval(collector, args, context),
        "trap" => return trap(collector, args, context),
        "alias" => alias(collector, args),
        "[" | "test" => variable_builtins::is_harmless_test(collector, name, args),
        "declare" | "export" | "local" | "readonly" | "typeset" => {
            variable_builtins::declare(collector, name, args)
        }
        "getopts" => variable_builtins::getopts(collector, args),
        "let" => variable_builtins::let_arithmetic(collector, args),
        "compgen" | "complete" => {
            collect_callback(collector, name, args, context);
            false
        }
        "mapfile" | "readarray" => {
            collect_callback(collector, name, args, context);
            variable_builtins::mapfile(collector, args)
        }
        "printf" => variable_builtins::printf(collector, args),
        "read" => variable_builtins::read(collector, args),
        "unset" => variable_builtins::unset(collector, args),
        "set" => set(args),
        "shopt" => {
            // With `failglob`, a pattern that matches no file is an error.
            if args.iter().any(|arg| arg.known_text() == Some("failglob")) {
                collector.note_possible_error();
            }
            shopt(args)
        }
        "hash" | "jobs" => hash(collector, args),
        "wait" => args.iter().all(|arg| match arg.known_text() {
            Some(word) => !word.starts_with('-') || matches!(word, "-n" | "-f"),
            None => collector.require_plain(arg),
        }),
        _ => false,
    };
    if !fine {
        collector.add_doubt(&wrappers::display_text(call), "this built-in may run anything");
    }
}

/// Records the program that `hash -p PATH NAME` gives a name, and returns true if the options run nothing.
fn hash(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    if let [option, path, name] = args
        && option.known_text() == Some("-p")
        && collector.aliases.len() < MAX_DEPTH
    {
        collector.aliases.push((name.text().to_owned(), path.text().to_owned()));
    }
    args.iter().all(|arg| matches!(arg.known_text(), Some(word) if !word.contains(['p', 'x'])))
}

/// Returns true if some shell reads arguments of this command as arithmetic: zsh and ksh do where bash expects a
/// number.
fn evaluates_arithmetic(name: &str) -> bool {
    !matches!(
        name,
        ":" | "builtin" | "cd" | "command" | "echo" | "eval" | "exec" | "false" | "pwd" | "true" | "type"
    )
}

/// Returns true if this word may run a command when it is evaluated as arithmetic.
fn may_run(arg: &ParsedWord) -> bool {
    arg.known_text().is_none_or(|word| word.contains('[')) && arg.kind != ValueKind::Number
}

/// Collects the command that `command`, `builtin` or `exec` runs.
fn collect_prefixed(
    collector: &mut CommandCollector,
    name: &str,
    call: &CommandCall,
    context: &CommandContext,
) {
    let args = &call.words[1..];
    if name == "exec" && takes_dashes(args, context) {
        return collector.add_doubt(&wrappers::display_text(call), "other shells read this differently");
    }
    let options = match name {
        "command" => COMMAND_OPTIONS,
        "exec" if context.dialect == ShellDialect::Bash => {
            OptionTable { flags: "cl", valued: "a", ..OptionTable::NONE }
        }
        _ => OptionTable::NONE,
    };
    let Some(parsed) = parse_options(args, &options) else {
        return collector.add_doubt(&wrappers::display_text(call), "an option that is not known");
    };
    if parsed.has("v") || parsed.has("V") {
        return;
    }
    let words = args[parsed.rest..].to_vec();
    if words.is_empty() {
        return;
    }
    let by = if name == "exec" { StartedBy::Program } else { StartedBy::Shell };
    collector.collect_call(
        &CommandCall { words, more_args: call.more_args, started_by: by },
        &context.inside_wrapper(name),
    );
}

/// Returns true if some shell takes an option-like first word for the command: dash knows no options here.
fn takes_dashes(args: &[ParsedWord], context: &CommandContext) -> bool {
    let dashes = args.first().is_some_and(|arg| arg.prefix.starts_with('-'));
    dashes && context.dialect != ShellDialect::Bash
}

fn eval(collector: &mut CommandCollector, args: &[ParsedWord], context: &CommandContext) {
    if takes_dashes(args, context) {
        return collector.add_doubt(&wrappers::word_texts(args), "other shells read this differently");
    }
    let args = if args.first().and_then(ParsedWord::known_text) == Some("--") { &args[1..] } else { args };
    let words: Option<Vec<&str>> = args.iter().map(ParsedWord::known_text).collect();
    match words {
        Some(words) if !words.first().is_some_and(|word| word.starts_with('-')) => {
            collector.collect_text(&words.join(" "), &context.inside_wrapper("eval"));
        }
        _ => collector.add_doubt(&wrappers::word_texts(args), "it runs a text that is not known"),
    }
}

fn trap(collector: &mut CommandCollector, args: &[ParsedWord], context: &CommandContext) {
    let args = if args.first().and_then(ParsedWord::known_text) == Some("--") { &args[1..] } else { args };
    let Some(first) = args.first() else { return };
    match first.known_text() {
        Some("-" | "" | "-l" | "-p") => {}
        Some(_) if args.len() == 1 => {}
        Some(script) if !script.starts_with('-') => {
            // The script runs wherever the signal reaches the shell.
            let mut context = context.inside_wrapper("trap");
            context.redirects.clear();
            collector.conditionally(|walk| walk.collect_text(script, &context));
        }
        _ => collector.add_doubt(&wrappers::word_texts(args), "it runs a text that is not known"),
    }
}

/// Collects the callback script after `-C`, which these built-ins run repeatedly.
fn collect_callback(
    collector: &mut CommandCollector,
    name: &str,
    args: &[ParsedWord],
    context: &CommandContext,
) {
    let at = args.iter().position(|arg| arg.known_text() == Some("-C"));
    if let Some(script) = at.and_then(|at| args.get(at + 1)).and_then(ParsedWord::known_text) {
        collector
            .conditionally(|walk| walk.collect_text(script, &context.inside_wrapper(&format!("{name} -C"))));
    }
}

fn alias(collector: &mut CommandCollector, args: &[ParsedWord]) -> bool {
    for arg in args {
        if let Some((name, value)) = arg.prefix.split_once('=') {
            collector.note_definition(name);
            if collector.aliases.len() < MAX_DEPTH {
                collector.aliases.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    args.iter().all(|arg| matches!(arg.known_text(), Some(word) if !word.contains('=')))
}

/// Returns true if `set` does not change which commands run.
fn set(args: &[ParsedWord]) -> bool {
    let mut args = args.iter();
    // ends: each round takes a word
    while let Some(arg) = args.next() {
        let Some(word) = arg.known_text() else { return arg.is_operand() };
        if matches!(word, "--" | "-") {
            return true;
        }
        let Some(letters) = word.strip_prefix(['-', '+']) else { return true };
        let long = letters.strip_suffix('o');
        if !are_harmless_letters(long.unwrap_or(letters)) {
            return false;
        }
        if long.is_some() {
            match args.next().map(ParsedWord::known_text) {
                None => return true,
                Some(Some(name)) if is_harmless_option(name) => {}
                Some(_) => return false,
            }
        }
    }
    true
}

fn shopt(args: &[ParsedWord]) -> bool {
    args.iter().all(|arg| {
        arg.known_text()
            .is_some_and(|word| HARMLESS_SHOPTS.contains(&word) || matches!(word, "-s" | "-u" | "-q" | "-p"))
    })
}
