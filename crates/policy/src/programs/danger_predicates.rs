//! The named predicates of the danger tables.

use super::danger_matcher::{self, option_values};
use super::persistent_paths::{is_persistent_path, is_workspace_path, normalize_path_text};
use super::{
    MaybeWord, destructive_predicates, git_dangers, list_contains, program_name, sed, upload_predicates,
    wrapped_commands,
};

/// Evaluates the predicate `name`, written with its braces, for `words` of `program`.
pub(super) fn matches_predicate(name: &str, program: &str, words: &[MaybeWord<'_>]) -> bool {
    let any = |fits: fn(&str) -> bool| words.iter().flatten().any(|word| fits(word));
    match name {
        "{operand}" => any(|word| !word.starts_with('-')),
        "{beyond-version}" => words != [Some("-V")],
        "{bare}" => {
            operands(words).next().is_none()
                && !["--version", "--help", "-h"].iter().any(|asks| words == [Some(*asks)])
        }
        "{open}" => any(makes_world_writable),
        "{setid}" => any(is_setuid_mode),
        "{host}" => any(is_remote),
        "{each}" => wrapped_commands::commands_in_args(program, words).iter().any(|argv| {
            argv.first()
                .copied()
                .flatten()
                .is_some_and(|name| list_contains("rm unlink rmdir", program_name(name)))
        }),
        "{pipe}" => {
            option_values(program, "-o --output", words).into_iter().any(|to| to.starts_with(['|', '!']))
        }
        "{test-by}" => any(|word| !word.starts_with("--") && word.starts_with('-') && word.contains("TT")),
        "{alias}" => any(|word| {
            word.split_once('=').is_some_and(|(_, text)| {
                danger_matcher::danger_reason(&text.split_whitespace().map(Some).collect::<Vec<_>>())
                    .is_some()
            })
        }),
        "{drops}" => any(drops_data),
        "{publishes}" => any(|word| {
            gradle_task_name(word).starts_with("publish") && word != "publishToMavenLocal"
                || word == "uploadArchives"
        }),
        "{digits}" => sets_clock(words),
        "{assigns}" => any(|word| word.contains('=') && !word.starts_with('-')),
        "{everything}" => stops_everything(words),
        "{group}" => any(|word| word == "0"),
        "{sed}" => sed::runs_programs(words),
        _ => {
            matches_path_predicate(name, program, words)
                || git_dangers::matches_predicate(name, words)
                || destructive_predicates::matches_predicate(name, program, words)
                || upload_predicates::matches_predicate(name, program, words)
        }
    }
}

/// Evaluates the predicate `name` if it is about paths.
fn matches_path_predicate(name: &str, program: &str, words: &[MaybeWord<'_>]) -> bool {
    let any = |fits: fn(&str) -> bool| words.iter().flatten().any(|word| fits(word));
    let has_value = |names: &'static str, fits: fn(&str) -> bool| {
        option_values(program, names, words).into_iter().any(fits)
    };
    let others = |fits: fn(&str) -> bool| {
        operands(words).next().is_none() || operands(words).any(|word| !word.is_some_and(fits))
    };
    match name {
        "{system}" => any(is_system_path),
        "{device}" => any(|word| word.strip_prefix("of=").is_some_and(is_device)),
        "{disk}" => any(|word| is_device(word) && !word.starts_with("/dev/pts/")),
        "{unnamed}" => others(is_workspace_path),
        "{many}" => any(|word| word.contains(['*', '?'])),
        "{lasting}" => any(|word| is_persistent_path(word.strip_prefix("of=").unwrap_or(word))),
        "{lasting-last}" => {
            operands(words).last().flatten().is_some_and(is_persistent_path)
                || has_value("-t --target-directory", is_persistent_path)
        }
        "{lasting-into}" => has_value("-d", is_persistent_path),
        "{script}" => others(|path| {
            is_workspace_path(path) && !path.starts_with('/') && path.ends_with("/bin/activate")
        }),
        _ => false,
    }
}

/// System directories, and homes.
const SYSTEM_DIRECTORIES: &str =
    "bin boot dev etc lib lib32 lib64 opt proc root run sbin srv sys usr var Applications Library System";

/// Returns true if `word` is the root, a home, a parent directory or a system path.
pub(super) fn is_system_path(word: &str) -> bool {
    let word = if word.len() > 1 { word.trim_end_matches("/*").trim_end_matches('/') } else { word };
    let above = !word.is_empty() && word.split('/').all(|part| part == "..");
    let parts: Vec<&str> = word.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    match parts[..] {
        [] => word.is_empty() || word.starts_with('/'),
        _ if above => true,
        ["~" | "$HOME" | "${HOME}"] => true,
        [first, ..] if word.starts_with('/') && list_contains(SYSTEM_DIRECTORIES, first) => true,
        ["home" | "Users"] | ["home" | "Users", _] => word.starts_with('/'),
        _ => false,
    }
}

/// Returns true if `path` is a device with data, not an empty one or a stream.
fn is_device(path: &str) -> bool {
    let path = normalize_path_text(path);
    let harmless = "null zero full random urandom stdin stdout stderr tty";
    let name = path.strip_prefix("/dev/");
    name.is_some_and(|name| {
        !list_contains(harmless, name) && !name.starts_with("fd/") && !name.starts_with("shm/")
    })
}

/// Returns true if `mode` makes a file writable for everyone.
fn makes_world_writable(mode: &str) -> bool {
    if let Some(digits) = octal_mode(mode) {
        return matches!(digits.as_bytes(), [.., b'2' | b'3' | b'6' | b'7']);
    }
    let clauses = mode.split(',').filter_map(|clause| clause.split_once(['+', '=']));
    let mut open = clauses.filter(|(who, what)| who.contains(['o', 'a']) && what.contains('w'));
    open.any(|(who, what)| {
        who.chars().all(|c| "ugoa".contains(c)) && what.chars().all(|c| "rwxXst".contains(c))
    })
}

/// Returns true if `mode` is setuid or setgid.
fn is_setuid_mode(mode: &str) -> bool {
    let mode = mode.strip_prefix("-m").or_else(|| mode.strip_prefix("--mode=")).unwrap_or(mode);
    if let Some(digits) = octal_mode(mode) {
        return digits.len() > 3 && matches!(digits.as_bytes(), [.., b'2'..=b'7', _, _, _]);
    }
    let clauses = mode.split(',').filter_map(|clause| clause.split_once(['+', '=']));
    let fits = |who: &str, what: &str| {
        who.chars().all(|c| "ugoa".contains(c)) && what.chars().all(|c| "rwxXst".contains(c))
    };
    let mut sets = clauses.filter(|(who, what)| what.contains('s') && fits(who, what));
    sets.any(|(who, _)| who != "o")
}

fn octal_mode(mode: &str) -> Option<&str> {
    let digits = (3..=5).contains(&mode.len()) && mode.chars().all(|digit| ('0'..='7').contains(&digit));
    digits.then_some(mode)
}

/// Returns true if `word` names another machine: `host:path`, `me@host:`, `rsync://host`.
fn is_remote(word: &str) -> bool {
    let before = word.split('/').next().unwrap_or(word);
    !word.starts_with('-') && before.contains(':')
}

/// Returns the words that are not options.
pub(super) fn operands<'w, 'a>(words: &'w [MaybeWord<'a>]) -> impl Iterator<Item = MaybeWord<'a>> + 'w {
    let all = words.iter().position(|word| *word == Some("--")).unwrap_or(words.len());
    let is_operand =
        move |at: usize, word: MaybeWord<'_>| at > all || !word.is_some_and(|it| it.starts_with('-'));
    words.iter().copied().enumerate().filter(move |(at, word)| is_operand(*at, *word)).map(|(_, word)| word)
}

/// Returns the last component of a gradle task: `:x:publish`.
fn gradle_task_name(word: &str) -> &str {
    word.rsplit(':').next().unwrap_or(word)
}

/// SQL statements that remove data in any context; in upper case.
const DROP_STATEMENTS: &[&str] = &[
    "DROP DATABASE", "DROP TABLE", "DROP SCHEMA", "DROP COLLECTION", "DROPDATABASE", "TRUNCATE ",
    "DELETE FROM", "FLUSHALL", "FLUSHDB", ".DROP(", "DELETEMANY(", "DROP OWNED", "DROP USER", "DROP ROLE",
    "DROP KEYSPACE",
];

/// Returns true if a database script removes data.
pub(crate) fn drops_data(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase() + " ";
    DROP_STATEMENTS.iter().any(|drops| text.contains(drops))
}

/// Returns true if an argument of `date` is a time such as `MMDDhhmm` and not the value of an option.
fn sets_clock(words: &[MaybeWord<'_>]) -> bool {
    let is_value = |at: usize| {
        at > 0 && words[at - 1].is_some_and(|name| list_contains("-d -r -f --date --reference", name))
    };
    let is_time = |word: &str| word.len() >= 8 && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.iter().enumerate().any(|(at, word)| word.is_some_and(is_time) && !is_value(at))
}

/// Returns true if `kill` targets process 1 or all processes.
fn stops_everything(words: &[MaybeWord<'_>]) -> bool {
    let is_signal = |at: usize| at > 0 && matches!(words[at - 1], Some("-s" | "-n" | "-l" | "--signal"));
    words.iter().enumerate().any(|(at, word)| matches!(word, Some("-1" | "1")) && !is_signal(at))
}
