//! Collects the commands that `xargs`, `watch`, `flock`, `script` and `su` start, directly or by a shell.

use crate::programs::{FLOCK_OPTIONS, SCRIPT_OPTIONS, SU_OPTIONS, WATCH_OPTIONS, XARGS_OPTIONS};
use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::shell_invocation;
use crate::shell::syntax_tree::{ParsedWord, ShellDialect, WordSpread};
use crate::shell::wrapper_options::{OptionTable, ScannedOptions, parse_options};
use crate::shell::wrappers::collect_from;

pub(crate) fn xargs(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &XARGS_OPTIONS)?;
    let mut replaced = None;
    for (name, value) in parsed.options_in_order() {
        match (name, value) {
            ("I", Some(value)) => replaced = Some(value.known_text()?.to_owned()),
            ("i" | "replace", value) => {
                replaced = Some(value.map_or(Some("{}"), ParsedWord::known_text)?.to_owned());
            }
            // Before the replacement option these are ignored; after it they may take precedence.
            ("L" | "n" | "l" | "max-lines" | "max-args", _) if replaced.is_some() => return None,
            _ => {}
        }
    }
    let mut words: Vec<ParsedWord> = args[parsed.rest..].to_vec();
    if words.is_empty() && !call.more_args {
        words.push(ParsedWord::literal("echo"));
    }
    let more = call.more_args || replaced.is_none();
    if let Some(mark) = replaced.filter(|mark| !mark.is_empty()) {
        words = words.iter().map(|word| replace_placeholder(word, &mark)).collect();
    }
    if words.is_empty() {
        return None;
    }
    let mut context = context.inside_wrapper("xargs");
    // The input of `xargs` is not the input of the command.
    context.has_piped_input = false;
    collector.collect_call(&CommandCall { words, more_args: more, started_by: StartedBy::Program }, &context);
    Some(())
}

/// Returns the word with the placeholder `mark` replaced by an unknown value.
pub(crate) fn replace_placeholder(word: &ParsedWord, mark: &str) -> ParsedWord {
    match word.known_text() {
        Some(text) if !text.contains(mark) => word.clone(),
        known => {
            let mut term = ParsedWord::unknown(word.text(), word.spread);
            if let Some((before, _)) = known.and_then(|text| text.split_once(mark)) {
                term.prefix = before.to_owned();
            }
            term
        }
    }
}

pub(crate) fn watch(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &WATCH_OPTIONS)?;
    if parsed.has("x") || parsed.has("exec") {
        return collect_from(collector, "watch", call, parsed.rest, context);
    }
    let words: Option<Vec<&str>> = args[parsed.rest..].iter().map(ParsedWord::known_text).collect();
    if call.more_args {
        return None;
    }
    shell_invocation::collect_started_shell(
        collector,
        &words?.join(" "),
        "watch",
        ShellDialect::Posix,
        context,
    );
    Some(())
}

pub(crate) fn flock(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &FLOCK_OPTIONS)?;
    let file = args.get(parsed.rest);
    if file.is_some_and(|file| !file.spread_is_one()) {
        return None;
    }
    match args.get(parsed.rest + 1).map(ParsedWord::known_text) {
        Some(None) => None,
        Some(Some("-c" | "--command")) => {
            let [script] = &args[parsed.rest + 2..] else { return None };
            let text = script.known_text().filter(|_| !call.more_args)?;
            shell_invocation::collect_started_shell(collector, text, "flock", ShellDialect::Foreign, context);
            Some(())
        }
        Some(Some(word)) if word.starts_with('-') => None,
        None | Some(Some(_)) => collect_from(collector, "flock", call, parsed.rest + 1, context),
    }
}

/// Handles `script`, whose options may follow its operand.
pub(crate) fn script(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let commands = permuted_command_text(&call.words[1..], &SCRIPT_OPTIONS, 1)?;
    let text = commands.filter(|_| !call.more_args)?;
    shell_invocation::collect_started_shell(collector, &text, "script", ShellDialect::Foreign, context);
    Some(())
}

/// Handles `su`, which runs a text in another user's shell.
pub(crate) fn su(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args: Vec<ParsedWord> =
        call.words[1..].iter().filter(|arg| arg.known_text() != Some("-")).cloned().collect();
    let text = permuted_command_text(&args, &SU_OPTIONS, 1)?.filter(|_| !call.more_args)?;
    shell_invocation::collect_started_shell(collector, &text, "su", ShellDialect::Foreign, context);
    Some(())
}

/// Returns the single text after `-c`, where options and at most `operands` operands may be mixed.
fn permuted_command_text(
    args: &[ParsedWord],
    options: &OptionTable,
    operands: usize,
) -> Option<Option<String>> {
    let mut texts: Vec<String> = Vec::new();
    let mut at = 0;
    let mut seen = 0;
    let take = |parsed: &ScannedOptions, texts: &mut Vec<String>| -> Option<()> {
        for name in ["c", "command", "session-command"] {
            for text in parsed.values(name) {
                texts.push(text.known_text()?.to_owned());
            }
        }
        Some(())
    };
    // ends: each round takes options and an operand
    loop {
        let parsed = parse_options(&args[at..], options)?;
        take(&parsed, &mut texts)?;
        at += parsed.rest;
        let dashes = at > 0 && args[at - 1].known_text() == Some("--");
        let Some(operand) = args.get(at) else { break };
        seen += 1;
        at += 1;
        if dashes || seen > operands || operand.spread != WordSpread::One {
            return None;
        }
    }
    (texts.len() <= 1).then(|| texts.pop())
}
