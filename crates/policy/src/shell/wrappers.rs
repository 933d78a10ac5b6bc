//! Finds the command in the arguments of wrapper programs.

use crate::programs::{
    COMMAND_OPTIONS, ENV_OPTIONS, Listing, SUDO_OPTIONS, ShellFamily, Starter, program_name,
};
use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::syntax_tree::{ParsedWord, ValueKind};
use crate::shell::wrapper_options::parse_options;
use crate::shell::{ScriptWord, find_exec, git_exec, shell_invocation, special_wrappers};

/// Formats the command for display.
pub(crate) fn display_text(call: &CommandCall) -> String {
    word_texts(&call.words)
}

pub(crate) fn word_texts(words: &[ParsedWord]) -> String {
    words.iter().map(ParsedWord::text).collect::<Vec<_>>().join(" ")
}

/// Collects the commands that the program `name` starts, if it is a wrapper.
pub(crate) fn collect_wrapped(
    collector: &mut CommandCollector,
    name: &str,
    call: &CommandCall,
    context: &CommandContext,
) {
    let name = program_name(name);
    let fine = match name {
        "env" => env(collector, call, context),
        "sudo" => sudo(collector, call, context),
        "xargs" => special_wrappers::xargs(collector, call, context),
        "watch" => special_wrappers::watch(collector, call, context),
        "flock" => special_wrappers::flock(collector, call, context),
        "script" => special_wrappers::script(collector, call, context),
        "su" => special_wrappers::su(collector, call, context),
        "busybox" => busybox(collector, call, context),
        "find" => find_exec::collect_find_commands(collector, call, context),
        "git" => git_exec::collect_git_commands(collector, call, context),
        "command" => command(collector, call, context),
        _ => match (ShellFamily::of(name), Starter::of(name)) {
            (Some(shell), _) => shell_invocation::collect_shell_script(collector, shell, call, context),
            (_, Some(starter)) => collect_simple_wrapper(collector, &starter, name, call, context),
            _ => Some(()),
        },
    };
    if fine.is_none() {
        collector.add_doubt(&display_text(call), "what this starts is not known");
    }
}

/// Collects the command that begins at argument `at`.
pub(crate) fn collect_from(
    collector: &mut CommandCollector,
    name: &str,
    call: &CommandCall,
    at: usize,
    context: &CommandContext,
) -> Option<()> {
    let words = call.words.get(at + 1..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return (!call.more_args).then_some(());
    }
    collector.collect_call(
        &CommandCall { words, more_args: call.more_args, started_by: StartedBy::Program },
        &context.inside_wrapper(name),
    );
    Some(())
}

fn collect_simple_wrapper(
    collector: &mut CommandCollector,
    starter: &Starter,
    name: &str,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let (options, operands) = match (starter.listing, starter.grammar) {
        (Listing::Unlisted, _) => return Some(()),
        (Listing::Undecided, _) | (_, None) => return args.is_empty().then_some(()),
        (_, Some(grammar)) => grammar,
    };
    let parsed = parse_options(args, options)?;
    // The output may be a pipe to another program.
    let pipes = |value: &ParsedWord| {
        !value.prefix.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'))
    };
    if name == "strace" && parsed.values("o").any(pipes) {
        return None;
    }
    let at = parsed.rest + operands;
    // Newer versions need no priority.
    let is_number = |term: &ParsedWord| {
        term.known_text().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if name == "chrt" && args.get(parsed.rest).is_some_and(|priority| !is_number(priority)) {
        return None;
    }
    if !args.iter().take(at).all(ParsedWord::spread_is_one) {
        return None;
    }
    if at >= args.len() && starter.listing == Listing::ListedOrShell {
        return None;
    }
    collect_from(collector, name, call, at, context)
}

/// Adds the assignments `NAME=value` from position `at` to `context`, and returns their end.
fn take_assignments(
    collector: &mut CommandCollector,
    args: &[ParsedWord],
    mut at: usize,
    context: &mut CommandContext,
) -> Option<usize> {
    // ends: each round takes a word
    while let Some(arg) = args.get(at) {
        let Some((name, rest)) = arg.prefix.split_once('=') else { break };
        if !arg.spread_is_one() {
            return None;
        }
        let value = match arg.known_text() {
            Some(_) => ScriptWord::Literal(rest.to_owned()),
            None => ScriptWord::Unknown(
                arg.text().split_once('=').map_or_else(String::new, |(_, value)| value.to_owned()),
            ),
        };
        let kind = if arg.known_text().is_some() {
            crate::shell::syntax_tree::kind_of(rest)
        } else {
            ValueKind::Any
        };
        collector.set_variable(name, &value, kind);
        context.variables.push((name.to_owned(), value));
        at += 1;
    }
    Some(at)
}

fn env(collector: &mut CommandCollector, call: &CommandCall, context: &CommandContext) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &ENV_OPTIONS)?;
    let mut inner = context.clone();
    for name in parsed.values("u").chain(parsed.values("unset")) {
        collector.set_variable(name.known_text()?, &ScriptWord::Literal(String::new()), ValueKind::Plain);
    }
    let split: Vec<&ParsedWord> = parsed.values("S").chain(parsed.values("split-string")).collect();
    if let Some(text) = split.first() {
        // The following words belong to the command, even if they look like options.
        let is_last =
            parsed.options_in_order().last().is_some_and(|(name, _)| matches!(name, "S" | "split-string"));
        if !is_last || args[parsed.rest - 1].known_text() == Some("--") {
            return None;
        }
        return env_split(collector, text, split.len(), &args[parsed.rest..], call, context);
    }
    let mut at = parsed.rest;
    if args.get(at).and_then(ParsedWord::known_text) == Some("-") {
        at += 1;
    }
    let at = take_assignments(collector, args, at, &mut inner)?;
    collect_from(collector, "env", call, at, &inner)
}

/// Handles `env -S`: splits a text of plain words at spaces, and parses the result like arguments.
fn env_split(
    collector: &mut CommandCollector,
    text: &ParsedWord,
    count: usize,
    rest: &[ParsedWord],
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let text = text.known_text()?;
    let simple = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '=' | '-' | ' ' | ':' | ',' | '+')
    };
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    if count != 1 || !text.chars().all(simple) || words.first().is_none_or(|word| word.starts_with('-')) {
        return None;
    }
    let words: Vec<ParsedWord> =
        words.into_iter().map(ParsedWord::literal).chain(rest.iter().cloned()).collect();
    let mut inner = context.inside_wrapper("env");
    let at = take_assignments(collector, &words, 0, &mut inner)?;
    let words = words.get(at..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return (!call.more_args).then_some(());
    }
    collector.collect_call(
        &CommandCall { words, more_args: call.more_args, started_by: StartedBy::Program },
        &inner,
    );
    Some(())
}

fn sudo(collector: &mut CommandCollector, call: &CommandCall, context: &CommandContext) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &SUDO_OPTIONS)?;
    let mut inner = context.clone();
    let at = take_assignments(collector, args, parsed.rest, &mut inner)?;
    collect_from(collector, "sudo", call, at, &inner)
}

/// Handles `busybox`, whose applets have other options than the programs of the same name.
fn busybox(collector: &mut CommandCollector, call: &CommandCall, context: &CommandContext) -> Option<()> {
    let args = &call.words[1..];
    let Some(applet) = args.first() else { return (!call.more_args).then_some(()) };
    let name = applet.known_text().filter(|name| !name.starts_with('-'))?;
    let known_here = matches!(name, "sh" | "ash");
    let is_listed = |starter: Starter| !matches!(starter.listing, Listing::Undecided | Listing::Unlisted);
    let is_wrapper =
        Starter::of(name).is_some_and(is_listed) || ShellFamily::of(name).is_some() || name == "find";
    if is_wrapper && !known_here {
        return None;
    }
    collect_from(collector, "busybox", call, 0, context)
}

/// Handles the program `command`, which equals the shell built-in.
fn command(collector: &mut CommandCollector, call: &CommandCall, context: &CommandContext) -> Option<()> {
    let parsed = parse_options(&call.words[1..], &COMMAND_OPTIONS)?;
    if parsed.has("v") || parsed.has("V") {
        return Some(());
    }
    let words = call.words.get(parsed.rest + 1..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return (!call.more_args).then_some(());
    }
    collector.collect_call(
        &CommandCall { words, more_args: call.more_args, started_by: StartedBy::Shell },
        &context.inside_wrapper("command"),
    );
    Some(())
}
