//! Decides which commands started by `xargs` or `find -exec` are read-only, although unknown arguments are added.

use crate::programs::program_name;
use crate::programs::{
    ShellFamily, find_only_runs_commands, is_read_only_with_any_args, may_name_special_files,
    prints_file_names, xargs_only_runs_command,
};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, literal_text, word_text};

/// Placeholders for an added argument.
const PLACEHOLDERS: &[&str] = &["{}", "%"];

/// Marks the commands of a line that only read, or only start read-only commands, for any added arguments.
pub(crate) struct ReadOnlyStarts(Vec<bool>);

impl ReadOnlyStarts {
    /// Examines `commands`; `wraps` marks those that only start another command.
    pub(crate) fn new(commands: &[ScriptCommand], wraps: &[bool]) -> Self {
        // The added arguments come from the output of other commands. That output must consist of file names, none of
        // them special.
        let names_special_files = commands.iter().zip(wraps).any(|(command, wraps)| {
            let reads = !*wraps || is_program(command, "xargs");
            let words = command.words.iter().filter(|_| reads).skip(1);
            words.chain(redirected_input(command)).any(|word| may_name_special_files(word_text(word)))
        });
        let by = |name: &str| commands.iter().filter(|command| is_program(command, name)).count();
        let started = |command: &ScriptCommand| command.wrappers.last().is_some_and(|by| by == "find -exec");
        // The output of a started command may be anything, so another command must not take arguments from it.
        let again = by("xargs") > 1 || by("xargs") == 1 && commands.iter().any(started);
        let feeds = |(command, wraps): (&ScriptCommand, &bool)| {
            has_added_args(command) || supplies_file_names(command, *wraps)
        };
        let unsafe_input = names_special_files || again || !commands.iter().zip(wraps).all(feeds);
        let reads = |at: usize| {
            !unsafe_input && (is_read_only_started(commands, at) || is_read_only_find(&commands[at]))
        };
        Self((0..commands.len()).map(reads).collect())
    }

    /// Returns true if the command at `at` is read-only.
    pub(crate) fn is_read_only(&self, at: usize) -> bool {
        self.0[at]
    }
}

fn has_added_args(command: &ScriptCommand) -> bool {
    command.wrappers.last().is_some_and(|by| by == "xargs" || by == "find -exec")
}

/// Returns true if `command` prints only file names, and takes its own arguments only from file names.
fn supplies_file_names(command: &ScriptCommand, wraps: bool) -> bool {
    if is_program(command, "xargs") {
        return takes_only_names(command);
    }
    let shell = literal_text(&command.words[0]).and_then(ShellFamily::of);
    if wraps && matches!(shell, Some(ShellFamily::Bash | ShellFamily::Sh | ShellFamily::Zsh)) {
        return true;
    }
    let words: Vec<Option<&str>> = command.words.iter().map(literal_text).collect();
    prints_file_names(&words, command.has_piped_input)
}

/// Returns true if `xargs` reads its arguments from another command or a literal text, not from a file.
fn takes_only_names(xargs: &ScriptCommand) -> bool {
    let quotes = |text: &str| text.contains(['\\', '"', '\'']);
    let known = |word: &ScriptWord| literal_text(word).is_some_and(|text| !quotes(text));
    let is_text = |redirect: &ScriptRedirect| matches!(redirect, ScriptRedirect::Text(text) if known(text));
    let texts = redirected_input(xargs).count();
    texts == xargs.redirects.iter().filter(|redirect| is_text(redirect)).count()
        && (xargs.has_piped_input || texts > 0)
}

/// Lists the input that the line itself redirects to the command.
fn redirected_input(command: &ScriptCommand) -> impl Iterator<Item = &ScriptWord> {
    command.redirects.iter().filter_map(|redirect| match redirect {
        ScriptRedirect::Read(word) | ScriptRedirect::Text(word) => Some(word),
        ScriptRedirect::Write(_) | ScriptRedirect::Append(_) | ScriptRedirect::ReadWrite(_) => None,
    })
}

fn is_program(command: &ScriptCommand, name: &str) -> bool {
    literal_text(&command.words[0]).is_some_and(|word| program_name(word) == name)
}

/// Returns true for a `find` that only prints and starts commands; those commands are listed separately.
fn is_read_only_find(command: &ScriptCommand) -> bool {
    let words: Vec<Option<&str>> = command.words.iter().skip(1).map(literal_text).collect();
    is_program(command, "find")
        && !command.more_args
        && words.contains(&Some("-exec"))
        && find_only_runs_commands(&words)
}

/// Returns true if the command at `at` is started with added arguments, and is read-only for all of them.
fn is_read_only_started(commands: &[ScriptCommand], at: usize) -> bool {
    let command = &commands[at];
    let words: Vec<Option<&str>> = command.words.iter().map(literal_text).collect();
    let marked = |word: &ScriptWord| literal_text(word).is_some() || is_placeholder_text(word_text(word));
    if !command.words.iter().all(marked) || (!command.more_args && !words.contains(&None)) {
        return false;
    }
    let by_starter = match command.wrappers.last().map(String::as_str) {
        Some("xargs") => is_plain_xargs(commands, at),
        Some("find -exec") => true,
        _ => false,
    };
    let added = command.more_args.then_some(None);
    by_starter && is_read_only_with_any_args(&words.into_iter().chain(added).collect::<Vec<_>>())
}

/// Returns true if `text` is a placeholder, perhaps among ordinary letters, without shell expansions.
fn is_placeholder_text(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " :_-=,".contains(letter);
    PLACEHOLDERS.iter().any(|mark| text.contains(mark) && text.replace(mark, "").chars().all(is_plain))
}

/// Returns true if the `xargs` that starts the command at `at` has no other effect.
fn is_plain_xargs(commands: &[ScriptCommand], at: usize) -> bool {
    let command = &commands[at];
    let Some((_, outside)) = command.wrappers.split_last() else { return false };
    let starts = |one: &&ScriptCommand| is_program(one, "xargs") && one.wrappers == outside;
    let Some(xargs) = commands[..at].iter().rev().find(starts) else { return false };
    let words: Vec<Option<&str>> = xargs.words.iter().skip(1).map(literal_text).collect();
    let same = |(one, other): (&ScriptWord, &ScriptWord)| word_text(one) == word_text(other);
    let begins = xargs.words.len().saturating_sub(command.words.len());
    let named = begins > 0 && xargs.words[begins..].iter().zip(&command.words).all(same);
    // Without a command, `xargs` runs `echo`.
    let options = if named { &words[..begins - 1] } else { &words[..] };
    !xargs.more_args && xargs_only_runs_command(options)
}
