//! Finds the commands in the words of starters, runners, shells and `find`, for matching with the danger tables.

use super::danger_matcher::{MAX_INNER_COMMANDS, after_subcommand};
use super::{Listing, MaybeWord, RUNNERS, Runner, ShellFamily, Starter, list_contains, program_name};
use crate::shell::{OptionTable, ParsedWord, parse_options};

/// Returns the commands that `argv` runs, each with its program first, up to a limit.
pub(super) fn commands_run_by<'a>(argv: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    match argv.split_first() {
        Some((Some(program), words)) => commands_in_args(program_name(program), words),
        _ => Vec::new(),
    }
}

/// Returns the commands in the arguments of the program `name`.
pub(super) fn commands_in_args<'a>(name: &str, words: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    if list_contains("find fd fdfind", name) {
        return exec_commands(words);
    }
    if ShellFamily::of(name).is_some_and(|shell| !shell.has_known_options()) {
        return commands_at_any_word(words);
    }
    if name.starts_with("python") {
        let options = words.len() - skip_options(words, "-W -X -m", name).len();
        let module = words[..options].iter().position(|word| *word == Some("-m"));
        return module.map_or_else(Vec::new, |at| as_command(&words[at + 1..]));
    }
    if name == "git" {
        // The command runs git in several repositories.
        let rest = after_subcommand("for-each-repo", words).map(|rest| skip_options(rest, "--config", name));
        return rest.map_or_else(Vec::new, |rest| vec![[&[Some("git")], rest].concat()]);
    }
    let behind = |runner: &Runner| {
        let found = runner.subcommands.split(' ').try_fold(words, |rest, sub| after_subcommand(sub, rest));
        found.map(|rest| skip_options(rest, "--with --from -p --package", name))
    };
    let calls = words.iter().flatten().any(|word| list_contains("-c --call", word));
    let mut runners = RUNNERS.iter().filter(|one| one.has_name(name) && !one.subcommands.is_empty());
    if let Some(rest) = runners.find_map(behind) {
        let texts = if calls { commands_in_texts(words) } else { Vec::new() };
        return [as_command(rest), texts].concat();
    }
    let Some(starter) = Starter::of(name) else { return Vec::new() };
    if name == "command" && matches!(words.first(), Some(Some("-v" | "-V" | "-pv" | "-pV"))) {
        return Vec::new();
    }
    if name == "env"
        && let Some(split) = env_split_commands(words)
    {
        return split;
    }
    let args: Vec<ParsedWord> = words.iter().map(|word| ParsedWord::literal(word.unwrap_or("?"))).collect();
    let options_end = |(options, operands): (&OptionTable, usize)| {
        let end = parse_options(&args, options)?.rest;
        let is_assignment =
            |word: &&MaybeWord<'_>| word.is_some_and(|word| word == "-" || word.contains('='));
        let set = words[end..].iter().take_while(is_assignment).count();
        Some(if name == "env" { end + set } else { end + operands })
    };
    // After an unknown option, any word may begin the command.
    let grammar = starter.grammar.filter(|_| starter.listing != Listing::ListedLoosely);
    let Some(at) = grammar.and_then(options_end) else { return commands_at_any_word(words) };
    let has_texts = list_contains("parallel watch", name) || name == "npx" && calls;
    let texts = if has_texts { commands_in_texts(words) } else { Vec::new() };
    [as_command(words.get(at..).unwrap_or_default()), texts].concat()
}

/// Splits the text of `env -S` at whitespace and quotes, and returns a command for each start position. Returns `None`
/// without that option.
fn env_split_commands<'a>(words: &[MaybeWord<'a>]) -> Option<Vec<Vec<MaybeWord<'a>>>> {
    let (at, attached) = words.iter().enumerate().find_map(|(at, word)| {
        let word = (*word)?;
        if let Some((name, text)) = word.split_once('=').filter(|(name, _)| name.starts_with("--s")) {
            return "--split-string".starts_with(name).then_some((at, text));
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let text = letters.and_then(|letters| letters.split_once('S')).map(|(_, text)| text);
        text.or_else(|| (word.len() > 2 && "--split-string".starts_with(word)).then_some(""))
            .map(|text| (at, text))
    })?;
    let (text, rest) = match attached {
        "" => (words.get(at + 1).copied().flatten()?, words.get(at + 2..).unwrap_or_default()),
        _ => (attached, &words[at + 1..]),
    };
    let parts =
        text.split_whitespace().flat_map(|part| part.split("\\_")).map(|part| part.trim_matches(['"', '\'']));
    let split: Vec<MaybeWord<'a>> = parts.map(Some).chain(rest.iter().copied()).collect();
    let mut found: Vec<_> =
        (0..split.len().min(MAX_INNER_COMMANDS / 2)).map(|at| split[at..].to_vec()).collect();
    // The text may begin with variables and more options.
    found.push(std::iter::once(Some("env")).chain(split).collect());
    Some(found)
}

fn as_command<'a>(words: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    if words.is_empty() { Vec::new() } else { vec![words.to_vec()] }
}

/// Returns the words after the options of the program `name`; `with_value` lists the options that take the next word.
fn skip_options<'w, 'a>(
    words: &'w [MaybeWord<'a>],
    with_value: &'static str,
    name: &str,
) -> &'w [MaybeWord<'a>] {
    let mut at = 0;
    // ends: each round passes a word
    while let Some(Some(word)) = words.get(at) {
        let is_set = name == "env" && word.contains('=');
        let is_option = word.starts_with('-') && word.len() > 1;
        if !is_set && !is_option {
            break;
        }
        at += if list_contains(with_value, word) { 2 } else { 1 };
    }
    words.get(at..).unwrap_or_default()
}

/// Returns a command for each word that may be a program, and the commands in texts.
fn commands_at_any_word<'a>(words: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    let is_program = |word: MaybeWord<'_>| {
        word.is_some_and(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '/'))
    };
    let begins = (0..words.len()).filter(|at| is_program(words[*at]));
    let mut found: Vec<_> = begins.take(MAX_INNER_COMMANDS / 2).map(|at| words[at..].to_vec()).collect();
    found.extend(commands_in_texts(words));
    found
}

/// Returns, for words with several parts, a command for each start position after a split at whitespace.
fn commands_in_texts<'a>(words: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    let several =
        words.iter().copied().flatten().map(|text| text.split_whitespace().map(Some).collect::<Vec<_>>());
    let begins = several.filter(|text| text.len() > 1).flat_map(|text| {
        (0..text.len().min(MAX_INNER_COMMANDS / 2)).map(|at| text[at..].to_vec()).collect::<Vec<_>>()
    });
    begins.take(MAX_INNER_COMMANDS / 2).collect()
}

/// Returns the commands after `-exec` and similar options.
fn exec_commands<'a>(words: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    let starts = "-exec -execdir -ok -okdir -x -X --exec --exec-batch";
    let ends = |word: &MaybeWord<'_>| matches!(word, Some(";"));
    let command = |at: usize| {
        let (name, first) = match words[at]?.split_once('=') {
            Some((name, first)) => (name, Some(Some(first))),
            None => (words[at]?, None),
        };
        let rest = words[at + 1..].split(ends).next().unwrap_or_default();
        list_contains(starts, name).then(|| first.into_iter().chain(rest.iter().copied()).collect())
    };
    (0..words.len()).filter_map(command).take(MAX_INNER_COMMANDS + 1).collect()
}

/// Returns the variables that `env` sets.
pub(super) fn variables_set_by_env<'w, 'a>(argv: &'w [MaybeWord<'a>]) -> impl Iterator<Item = &'a str> + 'w {
    let is_env = matches!(argv.first(), Some(Some(program)) if program_name(program) == "env");
    let words = argv
        .iter()
        .skip(1)
        .take_while(move |word| is_env && word.is_some_and(|w| w.contains('=') || w.starts_with('-')));
    words.filter_map(|word| word.and_then(|word| word.split_once('=')).map(|(name, _)| name))
}
