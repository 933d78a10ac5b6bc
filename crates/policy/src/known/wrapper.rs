//! Commands inside a command: what a wrapper runs.

use super::{Word, last_part, lists};

/// Programs that run the rest of their words, their options that take the next word, and how many words stand before
/// the command.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("env", "-u -C -P --unset --chdir --block-signal --default-signal", 0),
    ("timeout gtimeout", "-k -s --kill-after --signal", 1),
    ("nice", "-n --adjustment", 0),
    ("ionice", "-c -n --class --classdata", 0),
    ("chrt taskset", "-p", 1),
    (
        "nohup setsid time exec command builtin noglob nocorrect busybox toybox eatmydata fakeroot",
        "-a -f -o",
        0,
    ),
    (
        "npx bunx pnpx uvx unbuffer chronic linux32 linux64 ssh-agent dbus-run-session xvfb-run tini
         catchsegv proxychains proxychains4 torsocks",
        "-p --package -s",
        0,
    ),
    ("setarch faketime numactl", "", 1),
    ("stdbuf", "-i -o -e --input --output --error", 0),
    (
        "xargs gxargs",
        "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --max-chars",
        0,
    ),
    ("parallel", "-j -a -I --jobs --arg-file", 0),
    ("watch", "-n --interval", 0),
    ("strace ltrace", "-e -o -p -s -a -E -u -P -b -O -S -X", 0),
    ("entr", "", 0),
    ("flock", "-w -E --timeout --wait --conflict-exit-code", 1),
    ("caffeinate", "-t -w", 0),
];

/// The commands that `argv` runs, each with its program first.
pub(super) fn inner<'w, 'a>(argv: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let Some((Some(program), words)) = argv.split_first() else { return Vec::new() };
    let name = last_part(program);
    if name == "find" || name == "fd" || name == "fdfind" {
        return executed(words);
    }
    let Some((_, with_value, before)) = WRAPPERS.iter().find(|(names, ..)| lists(names, name)) else {
        return Vec::new();
    };
    if name == "command" && matches!(words.first(), Some(Some("-v" | "-V" | "-pv" | "-pV"))) {
        return Vec::new();
    }
    let mut at = 0;
    // Ends: each turn passes a word.
    while let Some(Some(word)) = words.get(at) {
        let is_set = name == "env" && word.contains('=');
        let is_option = word.starts_with('-') && word.len() > 1;
        if !is_set && !is_option {
            break;
        }
        at += if lists(with_value, word) { 2 } else { 1 };
    }
    match words.get(at + before..) {
        Some(rest) if !rest.is_empty() => vec![rest],
        _ => Vec::new(),
    }
}

/// What follows `-exec` and its like, up to the end of the words.
fn executed<'w, 'a>(words: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let runs = |word: &Word<'_>| {
        word.is_some_and(|word| lists("-exec -execdir -ok -okdir -x -X --exec --exec-batch", word))
    };
    let ends = |word: &Word<'_>| matches!(word, Some(";"));
    let commands = words.iter().enumerate().filter(|(_, word)| runs(word)).map(|(at, _)| &words[at + 1..]);
    commands.map(|rest| &rest[..rest.iter().position(ends).unwrap_or(rest.len())]).collect()
}

/// The variables that `env` sets.
pub(super) fn set<'w, 'a>(argv: &'w [Word<'a>]) -> impl Iterator<Item = &'a str> + 'w {
    let is_env = matches!(argv.first(), Some(Some(program)) if last_part(program) == "env");
    let words = argv
        .iter()
        .skip(1)
        .take_while(move |word| is_env && word.is_some_and(|w| w.contains('=') || w.starts_with('-')));
    words.filter_map(|word| word.and_then(|word| word.split_once('=')).map(|(name, _)| name))
}
