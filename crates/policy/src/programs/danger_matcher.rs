//! Matches commands against the danger tables: commands that need review even when confined.
//!
//! A row is a program, a condition on its words, and a reason. All items of the condition must match:
//!
//! ```text
//! (empty)       matches any words
//! word          the sub-command, one item per level; `a,b` is one of them, `a*` a prefix
//! !a,b          a sub-command that is none of them
//! %a,b          some later word is one of them
//! -x,--name     one of these options: a letter alone or combined, a name in full or abbreviated
//! -name         exactly this word
//! --            exactly this word
//! {name}        the named predicate in `danger_predicates`
//! ```

use std::sync::LazyLock;

use super::catalogue::shell_names;
use super::danger_predicates::matches_predicate;
use super::dangerous_commands::ROWS;
use super::program_index::ProgramIndex;
use super::unconfined_risks::RISKS;
use super::{MaybeWord, dangerous_variables, git_dangers, list_contains, program_name, wrapped_commands};

/// Maximum nesting depth of examined commands.
const MAX_NESTING: usize = 8;
/// Maximum number of examined inner commands.
pub(super) const MAX_INNER_COMMANDS: usize = 64;

/// Program names, a condition on the words, and the danger.
pub(super) type DangerRow = (&'static str, &'static str, &'static str);

/// Returns the danger of the command `argv` or of one that it runs; `None` if none is known.
pub(super) fn danger_reason(argv: &[MaybeWord<'_>]) -> Option<&'static str> {
    search_nested(argv, own_danger)
}

/// Returns the risk without confinement of the command `argv` or of one that it runs.
pub(super) fn risk_reason(argv: &[MaybeWord<'_>]) -> Option<&'static str> {
    search_nested(argv, own_risk)
}

/// Applies `check` to the command `argv` and to the commands that it runs.
fn search_nested(
    argv: &[MaybeWord<'_>],
    check: fn(&[MaybeWord<'_>]) -> Option<&'static str>,
) -> Option<&'static str> {
    let mut commands = vec![argv.iter().flat_map(|word| expand_braces(*word)).collect::<Vec<_>>()];
    for _ in 0..MAX_NESTING {
        if let Some(why) = commands.iter().find_map(|argv| check(argv)) {
            return Some(why);
        }
        commands = commands
            .iter()
            .flat_map(|argv| wrapped_commands::commands_run_by(argv))
            .take(MAX_INNER_COMMANDS + 1)
            .collect();
        if commands.is_empty() {
            return None;
        }
        if commands.len() > MAX_INNER_COMMANDS {
            break;
        }
    }
    Some("runs a command inside too many others")
}

/// Returns the commands inside `argv` as far as wrappers are known, up to a limit.
pub(crate) fn inner_commands<'a>(argv: &[MaybeWord<'a>]) -> Vec<Vec<MaybeWord<'a>>> {
    let mut all: Vec<Vec<MaybeWord<'a>>> = Vec::new();
    let mut last = wrapped_commands::commands_run_by(argv);
    for _ in 0..MAX_NESTING {
        last.truncate(MAX_INNER_COMMANDS);
        let next = last
            .iter()
            .flat_map(|argv| wrapped_commands::commands_run_by(argv))
            .take(MAX_INNER_COMMANDS)
            .collect();
        all.append(&mut last);
        last = next;
    }
    all
}

/// Expands `{a,b}` as if unquoted. Quoting is not known here, and the expansion may be dangerous.
fn expand_braces(word: MaybeWord<'_>) -> Vec<MaybeWord<'_>> {
    let list = word.and_then(|word| word.strip_prefix('{')?.strip_suffix('}'));
    match list.filter(|list| list.contains(',') && !list.contains([' ', '"'])) {
        Some(list) => list.split(',').map(Some).collect(),
        None => vec![word],
    }
}

fn own_danger(argv: &[MaybeWord<'_>]) -> Option<&'static str> {
    let Some((Some(program), words)) = argv.split_first() else { return None };
    let name = program_name(program);
    static INDEX: LazyLock<ProgramIndex> =
        LazyLock::new(|| ProgramIndex::new(ROWS.iter().map(|(names, ..)| *names)));
    let of_git = || git_dangers::ROWS.iter();
    let row = match (name, name.strip_prefix("git-")) {
        ("git", _) => of_git().find(|(_, when, _)| condition_holds(name, when, words)),
        // The programs that git itself starts for its sub-commands.
        (_, Some(sub)) => {
            let words = [&[Some(sub)], words].concat();
            of_git().find(|(_, when, _)| condition_holds("git", when, &words))
        }
        _ => {
            let mut rows = INDEX.rows_for(name).into_iter().map(|row| &ROWS[row]);
            rows.find(|(_, when, _)| condition_holds(name, when, words))
        }
    };
    row.map(|(_, _, why)| *why).or_else(|| {
        wrapped_commands::variables_set_by_env(argv).find_map(dangerous_variables::dangerous_variable)
    })
}

fn own_risk(argv: &[MaybeWord<'_>]) -> Option<&'static str> {
    let Some((Some(program), words)) = argv.split_first() else { return None };
    let name = program_name(program);
    static INDEX: LazyLock<ProgramIndex> =
        LazyLock::new(|| ProgramIndex::new(RISKS.iter().map(|(names, ..)| *names)));
    let mut rows = INDEX.rows_for(name).into_iter().map(|row| &RISKS[row]);
    rows.find(|(_, when, _)| condition_holds(name, when, words)).map(|(_, _, why)| *why)
}

/// Returns at most `limit` program names of the table, and shells, whose name `fits`.
pub(crate) fn programs_matching(fits: impl Fn(&str) -> bool, limit: usize) -> Vec<&'static str> {
    let rows = ROWS.iter().flat_map(|(names, ..)| names.split_whitespace());
    let others = ["git", "env", "xargs", "eval", "python3", "perl", "mkfs", "mkfs.ext4", "mkfs.xfs", "fsck"];
    let mut names: Vec<&'static str> =
        rows.chain(others).chain(shell_names()).filter(|name| !name.ends_with('*') && fits(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(limit);
    names
}

/// Returns true if `words` satisfy all items of `when`. Options count only after the sub-commands.
fn condition_holds(program: &str, when: &str, words: &[MaybeWord<'_>]) -> bool {
    let mut rest = words;
    for item in when.split_whitespace() {
        let fits = if item.starts_with('{') {
            matches_predicate(item, program, rest)
        } else if item.starts_with('-') {
            item.split(',').any(|option| has_option(program, option, rest))
        } else if let Some(list) = item.strip_prefix('%') {
            rest.iter().flatten().any(|word| list_matches(list, word))
        } else if let Some(after) = after_subcommand(item, rest) {
            rest = after;
            true
        } else {
            false
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Options of programs with sub-commands that always take the next word.
const VALUE_OPTIONS: &str = "
    -n --namespace --context --kubeconfig --cluster --user -s --server -H --host --config -f --file --profile --region
    -p --project-name --project -C -c --git-dir --work-tree --manifest-path --color --prefix";

/// Options of such programs that never take the next word.
const FLAG_OPTIONS: &str = "
    -A --all-namespaces -a --all -D --debug -q --quiet -l --full --no-pager --no-legend --user --system --global --tls
    --insecure-skip-tls-verify --verbose --now --force --dry-run --ansi --compatibility";

/// Returns the words after the sub-command that `item` names. A word after an option may be its value, so it is skipped
/// if it does not match. For a negated item it is skipped if it certainly is a value; if that is unclear, the next word
/// is examined too.
pub(super) fn after_subcommand<'w, 'a>(
    item: &str,
    words: &'w [MaybeWord<'a>],
) -> Option<&'w [MaybeWord<'a>]> {
    let (list, other) = match item.strip_prefix('!') {
        Some(list) => (list, true),
        None => (item, false),
    };
    let mut option = "";
    for (at, word) in words.iter().enumerate() {
        let word = (*word)?;
        let is_option = word.starts_with(['-', '+']);
        let is_value = if other { list_contains(VALUE_OPTIONS, option) } else { !option.is_empty() };
        if !is_option && list_matches(list, word) != other && !(other && is_value) {
            return Some(&words[at + 1..]);
        }
        let may_be = other && !option.is_empty() && !list_contains(FLAG_OPTIONS, option);
        if !is_option && !is_value && !may_be {
            return None;
        }
        option = if is_option && !word.contains('=') { word } else { "" };
    }
    None
}

fn list_matches(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one == word || matches_prefix(one, word))
}

/// Returns true if `pattern` ends in `*` and `word` begins with the rest of it.
fn matches_prefix(pattern: &str, word: &str) -> bool {
    pattern.strip_suffix('*').is_some_and(|begin| word.starts_with(begin))
}

/// Option letters that take a value, so that an attached value is not read as more letters.
const VALUE_LETTERS: &[(&str, &str)] = &[
    ("curl", "AbcCdDeEFhHKmoPQrtTuUwxyYzX"),
    ("wget", "aoiBtTOQPUlARDI"),
    ("tar bsdtar gtar", "fCTXKgHbLVN"),
    ("gh", "RqtHp"),
    ("iptables", "tpsdjio"),
    ("git", "CcFo"),
    ("sysctl", "r"),
    ("rsync", "fMT"),
    ("date", "drI"),
    ("zip", "binOPstx"),
    ("unzip bsdunzip", "dPx"),
];

fn value_letters(program: &str) -> &'static str {
    VALUE_LETTERS.iter().find(|(names, _)| list_contains(names, program)).map_or("", |(_, letters)| letters)
}

/// Returns true if `word` is the option `full` or an abbreviation of it.
fn abbreviates(word: &str, full: &str) -> bool {
    word.len() > 2 && word.starts_with("--") && full.starts_with(word)
}

/// Returns true if `words` contain `option` before a `--`.
pub(super) fn has_option(program: &str, option: &str, words: &[MaybeWord<'_>]) -> bool {
    let mut before = words.iter().flatten().take_while(|word| **word != "--");
    if option == "--" {
        return words.contains(&Some("--"));
    }
    if option.starts_with("--") {
        return before.any(|word| abbreviates(word.split('=').next().unwrap_or(word), option));
    }
    let letter = match option.as_bytes() {
        [b'-', letter] => char::from(*letter),
        _ => return before.any(|word| *word == option),
    };
    // Letters that take a value before a sub-command of git take none after it.
    let stops = if program == "git" { "Foe" } else { value_letters(program) };
    let in_letters = |letters: &str| {
        let end = letters.find(|c: char| stops.contains(c)).unwrap_or(letters.len());
        letters[..end].contains(letter) || letters[end..].starts_with(letter)
    };
    // The first word of `tar` consists of option letters even without a dash; their values follow.
    let bare = words.first().copied().flatten().filter(|_| list_contains("tar bsdtar gtar", program));
    bare.is_some_and(|word| !word.starts_with('-') && word.contains(letter))
        || before
            .filter_map(|word| word.strip_prefix('-'))
            .any(|rest| !rest.starts_with('-') && in_letters(rest))
}

/// Returns the values of the options `names`, also abbreviated: attached, or in the next word.
pub(super) fn option_values<'a>(program: &str, names: &'static str, words: &[MaybeWord<'a>]) -> Vec<&'a str> {
    let stops = value_letters(program);
    let value = |at: usize| {
        let word = words[at]?;
        let next = words.get(at + 1).copied().flatten();
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let Some(letters) = letters else {
            let (name, attached) = word.split_once('=').map_or((word, None), |(name, it)| (name, Some(it)));
            let named = names.split_whitespace().any(|full| abbreviates(name, full));
            return attached.or(next).filter(|_| named);
        };
        let is_named = |letter: char| list_contains(names, &format!("-{letter}"));
        let (at, letter) = letters.char_indices().find(|(_, c)| stops.contains(*c) || is_named(*c))?;
        let rest = letters[at + letter.len_utf8()..].trim_start_matches('=');
        if rest.is_empty() { next } else { Some(rest) }.filter(|_| is_named(letter))
    };
    (0..words.len()).filter_map(value).collect()
}
