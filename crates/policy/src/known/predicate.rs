//! What a row of `danger` or `git` asks for by name.

use super::danger::has_option;
use super::{Word, git, lists, sed};

/// Whether `words` fit the predicate `name`, written with its braces.
pub(super) fn predicate(name: &str, words: &[Word<'_>]) -> bool {
    let any = |fits: fn(&str) -> bool| words.iter().flatten().any(|word| fits(word));
    match name {
        "{operand}" => any(|word| !word.starts_with('-')),
        "{beyond-version}" => words != [Some("-V")],
        "{system}" => any(is_system),
        "{device}" => any(|word| word.strip_prefix("of=").is_some_and(is_device)),
        "{disk}" => any(|word| is_device(word) && !word.starts_with("/dev/pts/")),
        "{open}" => any(opens),
        "{setid}" => any(sets_id),
        "{host}" => any(is_host),
        "{method}" => value_after(words, "-X --request --method", |method| {
            !lists("GET HEAD OPTIONS", &method.to_ascii_uppercase())
        }),
        "{file}" => {
            let names =
                "-o -O -P --output --output-dir --output-document --directory-prefix -D --dump-header";
            value_after(words, names, |path| !is_sink(path))
        }
        "{digits}" => sets_clock(words),
        "{assigns}" => any(|word| word.contains('=') && !word.starts_with('-')),
        "{everything}" => stops_everything(words),
        "{group}" => any(|word| word == "0"),
        "{sed}" => sed::runs_programs(words),
        "{config}" => git::configures(words),
        "{keys}" => git::runs_by_key(words),
        "{worktree}" => {
            !has_option("git", "-S", words) && !has_option("git", "--staged", words)
                || has_option("git", "-W", words)
                || has_option("git", "--worktree", words)
        }
        "{remote}" => {
            any(|word| word.starts_with("ext::") || word.starts_with("fd::") || word.contains("=ext::"))
        }
        "{refs}" => any(|word| word.starts_with('+') || word.starts_with(':')),
        _ => false,
    }
}

/// Directories that belong to the system, and homes.
const SYSTEM: &str =
    "bin boot dev etc lib lib32 lib64 opt proc root run sbin srv sys usr var Applications Library System";

/// Whether `word` is the root, a home, a directory above, or something that belongs to the system.
fn is_system(word: &str) -> bool {
    let word = if word.len() > 1 { word.trim_end_matches("/*").trim_end_matches('/') } else { word };
    let above = !word.is_empty() && word.split('/').all(|part| part == "..");
    let parts: Vec<&str> = word.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    match parts[..] {
        [] => word.is_empty() || word.starts_with('/'),
        _ if above => true,
        ["~" | "$HOME" | "${HOME}"] => true,
        [first, ..] if word.starts_with('/') && lists(SYSTEM, first) => true,
        ["home" | "Users"] | ["home" | "Users", _] => word.starts_with('/'),
        _ => false,
    }
}

/// Whether `path` is a device that holds something, rather than one that is always empty or a stream.
fn is_device(path: &str) -> bool {
    let harmless = "null zero full random urandom stdin stdout stderr tty";
    let name = path.strip_prefix("/dev/");
    name.is_some_and(|name| !lists(harmless, name) && !name.starts_with("fd/") && !name.starts_with("shm/"))
}

/// Whether `mode` lets everybody write.
fn opens(mode: &str) -> bool {
    if let Some(digits) = digits_of(mode) {
        return matches!(digits.as_bytes(), [.., b'2' | b'3' | b'6' | b'7']);
    }
    let clauses = mode.split(',').filter_map(|clause| clause.split_once(['+', '=']));
    let mut open = clauses.filter(|(who, what)| who.contains(['o', 'a']) && what.contains('w'));
    open.any(|(who, what)| {
        who.chars().all(|c| "ugoa".contains(c)) && what.chars().all(|c| "rwxXst".contains(c))
    })
}

/// Whether `mode` makes a program run with the rights of its owner or group.
fn sets_id(mode: &str) -> bool {
    let mode = mode.strip_prefix("-m").or_else(|| mode.strip_prefix("--mode=")).unwrap_or(mode);
    if let Some(digits) = digits_of(mode) {
        return digits.len() > 3 && matches!(digits.as_bytes(), [.., b'2'..=b'7', _, _, _]);
    }
    let clauses = mode.split(',').filter_map(|clause| clause.split_once(['+', '=']));
    let fits = |who: &str, what: &str| {
        who.chars().all(|c| "ugoa".contains(c)) && what.chars().all(|c| "rwxXst".contains(c))
    };
    let mut sets = clauses.filter(|(who, what)| what.contains('s') && fits(who, what));
    sets.any(|(who, _)| who != "o")
}

fn digits_of(mode: &str) -> Option<&str> {
    let digits = (3..=5).contains(&mode.len()) && mode.chars().all(|digit| ('0'..='7').contains(&digit));
    digits.then_some(mode)
}

/// Whether `word` names another machine: `host:path`, `me@host:`, `rsync://host`.
fn is_host(word: &str) -> bool {
    let before = word.split('/').next().unwrap_or(word);
    !word.starts_with('-') && before.contains(':')
}

/// Whether one of the options `names` has a value that `fits`, attached to it or in the next word.
fn value_after(words: &[Word<'_>], names: &str, fits: fn(&str) -> bool) -> bool {
    let attached = |word: &str| {
        names.split_whitespace().any(|name| match word.strip_prefix(name) {
            Some(rest) if name.starts_with("--") => rest.strip_prefix('=').is_some_and(fits),
            Some(rest) => !rest.is_empty() && fits(rest.trim_start_matches('=')),
            None => false,
        })
    };
    // The last letter of several may be the one: `-sX`.
    let is_name = |word: &str| {
        let short = word.starts_with('-') && !word.starts_with("--");
        let last = word.chars().last().filter(|_| short).map(|last| format!("-{last}"));
        lists(names, word) || last.is_some_and(|last| lists(names, &last))
    };
    let pairs = words.windows(2).filter_map(|pair| pair[0].zip(pair[1]));
    words.iter().flatten().any(|word| attached(word))
        || pairs.into_iter().any(|(name, value)| is_name(name) && fits(value))
}

/// Whether what is written there leaves nothing behind, or only in a scratch place.
fn is_sink(path: &str) -> bool {
    lists("- /dev/null /dev/stdout /dev/stderr", path) || (path.starts_with("/tmp/") && !path.contains(".."))
}

/// Whether a word for `date` is a time as `MMDDhhmm` and more, and no option's value.
fn sets_clock(words: &[Word<'_>]) -> bool {
    let is_value =
        |at: usize| at > 0 && words[at - 1].is_some_and(|name| lists("-d -r -f --date --reference", name));
    let is_time = |word: &str| word.len() >= 8 && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.iter().enumerate().any(|(at, word)| word.is_some_and(is_time) && !is_value(at))
}

/// Whether `kill` is told to stop the first process or all of them.
fn stops_everything(words: &[Word<'_>]) -> bool {
    let is_signal = |at: usize| at > 0 && matches!(words[at - 1], Some("-s" | "-n" | "-l" | "--signal"));
    words.iter().enumerate().any(|(at, word)| matches!(word, Some("-1" | "1")) && !is_signal(at))
}
