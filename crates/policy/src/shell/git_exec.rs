//! Collects the commands that `git` is told to run.

use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::shell_invocation;
use crate::shell::syntax_tree::{ParsedWord, ShellDialect};
use crate::shell::wrapper_options::{OptionTable, parse_options};

const GLOBAL_OPTIONS: OptionTable = OptionTable {
    flags: "pP",
    valued: "cC",
    attached: "",
    long_flags: &[
        "version", "help", "paginate", "no-pager", "no-replace-objects", "bare", "literal-pathspecs",
        "glob-pathspecs", "noglob-pathspecs", "icase-pathspecs", "no-optional-locks", "no-advice",
        "html-path", "man-path", "info-path",
    ],
    long_valued: &["attr-source", "git-dir", "work-tree", "namespace"],
    long_attached: &[],
};
/// Prefixes of settings that name no program.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.", "color.", "column.", "core.autocrlf=", "core.quotepath=", "core.quotePath=", "diff.renames=",
    "init.defaultbranch=", "init.defaultBranch=", "safe.directory=", "user.email=", "user.name=",
];
/// Sub-commands with an argument that names a program.
const PROGRAM_SUBCOMMANDS: &[&str] = &[
    "archive", "bisect", "clone", "cvsimport", "cvsserver", "daemon", "difftool", "fetch", "fetch-pack",
    "filter-branch", "grep", "help", "instaweb", "ls-remote", "mergetool", "p4", "pull", "push", "rebase",
    "receive-pack", "remote-ext", "send-email", "send-pack", "shell", "submodule", "svn", "upload-archive",
    "upload-pack", "web--browse",
];
/// Prefixes of arguments that name a program for these sub-commands.
const PROGRAM_ARGUMENTS: &[&str] = &[
    "--op", "--up", "--rece", "--exe", "--ex=", "--tool", "-x", "-O", "-u", "-t", "ext::", "--con", "--co=",
    "--te", "-c",
];

/// Collects the commands that `git` is told to run. Returns `None` if they are unknown.
pub(crate) fn collect_git_commands(
    collector: &mut CommandCollector,
    call: &CommandCall,
    context: &CommandContext,
) -> Option<()> {
    let args = &call.words[1..];
    let parsed = parse_options(args, &GLOBAL_OPTIONS)?;
    let harmless =
        |setting: &ParsedWord| HARMLESS_SETTINGS.iter().any(|known| setting.prefix.starts_with(known));
    if !parsed.values("c").all(harmless) {
        let named = args.get(parsed.rest).and_then(ParsedWord::known_text).unwrap_or_default();
        let is_meant = |key: &str| key.eq_ignore_ascii_case(&format!("alias.{named}"));
        let set = parsed
            .values("c")
            .filter_map(ParsedWord::known_text)
            .filter_map(|setting| setting.split_once('='));
        set.filter(|(key, _)| is_meant(key)).for_each(|(_, value)| {
            collect_alias(collector, value, call, parsed.rest, context);
        });
        return None;
    }
    let Some(name) = args.get(parsed.rest) else { return (!call.more_args).then_some(()) };
    let name = name.known_text()?;
    let rest = &args[parsed.rest + 1..];
    match name {
        "bisect" => bisect(collector, rest, call.more_args, context),
        "rebase" => rebase(collector, rest, call.more_args, context),
        "submodule" => submodule(collector, rest, call.more_args, context),
        "filter-branch" | "difftool" | "instaweb" | "mergetool" | "send-email" | "shell" | "remote-ext"
        | "web--browse" => None,
        _ if PROGRAM_SUBCOMMANDS.contains(&name) => {
            let set_upstream = name == "push";
            let mut fine = |arg: &ParsedWord| match arg.known_text() {
                Some("-u") => set_upstream,
                Some(word) => !PROGRAM_ARGUMENTS.iter().any(|program| word.starts_with(program)),
                // The word may be such an option.
                None => arg.is_operand() || collector.require_plain(arg),
            };
            rest.iter().all(&mut fine).then_some(())
        }
        _ => Some(()),
    }
}

/// Collects the commands of an alias set by `value`, for the sub-command at word `at`. The call stays undecided: the
/// repository may have settings too.
fn collect_alias(
    collector: &mut CommandCollector,
    value: &str,
    call: &CommandCall,
    at: usize,
    context: &CommandContext,
) {
    if let Some(script) = value.trim_start().strip_prefix('!') {
        return shell_invocation::collect_started_shell(
            collector,
            script,
            "git alias",
            ShellDialect::Posix,
            context,
        );
    }
    // An alias may expand to another alias.
    let words = call.words[..=at].iter().cloned().chain(value.split_whitespace().map(ParsedWord::literal));
    let words = words.chain(call.words[at + 1..].iter().skip(1).cloned()).collect();
    collector.collect_call(
        &CommandCall { words, more_args: false, started_by: StartedBy::Program },
        &context.inside_wrapper("git alias"),
    );
}

/// Handles `git bisect run COMMAND …`.
fn bisect(
    collector: &mut CommandCollector,
    rest: &[ParsedWord],
    more: bool,
    context: &CommandContext,
) -> Option<()> {
    let Some(first) = rest.first() else { return (!more).then_some(()) };
    if first.known_text()? != "run" {
        return Some(());
    }
    let words = rest[1..].to_vec();
    if words.is_empty() {
        return None;
    }
    // Git passes the words to a shell, each quoted.
    collector.collect_call(
        &CommandCall { words, more_args: more, started_by: StartedBy::Program },
        &context.inside_wrapper("git bisect run"),
    );
    Some(())
}

/// Handles `git rebase -x TEXT`.
fn rebase(
    collector: &mut CommandCollector,
    rest: &[ParsedWord],
    more: bool,
    context: &CommandContext,
) -> Option<()> {
    if more {
        return None;
    }
    let mut texts = Vec::new();
    let mut args = rest.iter();
    // ends: each round takes a word
    while let Some(arg) = args.next() {
        let Some(word) = arg.known_text() else {
            arg.is_operand().then_some(())?;
            continue;
        };
        if matches!(word, "-x" | "--exec") {
            texts.push(args.next()?.known_text()?);
        } else if let Some(text) = word.strip_prefix("--exec=") {
            texts.push(text);
        } else if word.starts_with("--e")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('x'))
        {
            return None;
        }
    }
    for text in texts {
        shell_invocation::collect_started_shell(
            collector,
            text,
            "git rebase -x",
            ShellDialect::Posix,
            context,
        );
    }
    Some(())
}

/// Handles `git submodule foreach COMMAND …`.
fn submodule(
    collector: &mut CommandCollector,
    rest: &[ParsedWord],
    more: bool,
    context: &CommandContext,
) -> Option<()> {
    let mut words = rest;
    // ends: each round takes a word
    while let [first, others @ ..] = words
        && matches!(first.known_text()?, "-q" | "--quiet" | "--cached")
    {
        words = others;
    }
    let [first, others @ ..] = words else { return (!more).then_some(()) };
    if first.known_text()? != "foreach" {
        let fine = |arg: &ParsedWord| {
            arg.known_text().is_none_or(|word| !word.starts_with("--upload") && !word.starts_with("ext::"))
        };
        return others.iter().all(fine).then_some(());
    }
    let options = OptionTable { flags: "q", long_flags: &["quiet", "recursive"], ..OptionTable::NONE };
    let at = parse_options(others, &options)?.rest;
    match &others[at..] {
        [] => None,
        [script] if !more => {
            shell_invocation::collect_started_shell(
                collector,
                script.known_text()?,
                "git submodule foreach",
                ShellDialect::Posix,
                context,
            );
            Some(())
        }
        words => {
            collector.collect_call(
                &CommandCall { words: words.to_vec(), more_args: more, started_by: StartedBy::Program },
                &context.inside_wrapper("git submodule foreach"),
            );
            Some(())
        }
    }
}
