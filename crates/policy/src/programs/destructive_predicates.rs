//! Predicates about lost, filled or given-away files, and about programs from the network, for the danger tables.

use super::danger_matcher::option_values;
use super::danger_predicates::{is_system_path, operands};
use super::persistent_paths::normalize_path_text;
use super::{MaybeWord, list_contains};

/// Evaluates the predicate `name` if it is one of these.
pub(super) fn matches_predicate(name: &str, program: &str, words: &[MaybeWord<'_>]) -> bool {
    let any = |fits: fn(&str) -> bool| words.iter().flatten().any(|word| fits(word));
    let has_value = |names: &'static str, fits: fn(&str) -> bool| {
        option_values(program, names, words).into_iter().any(fits)
    };
    match name {
        "{system-first}" => {
            let all: Vec<MaybeWord<'_>> = operands(words).collect();
            all.split_last().is_some_and(|(_, from)| from.iter().flatten().any(|word| is_system_path(word)))
        }
        "{unbounded}" => {
            any(|word| word.strip_prefix("if=").is_some_and(is_endless_device))
                && any(|word| word.starts_with("of=") && !is_sink(&word[3..]))
                && !any(|word| word.starts_with("count="))
        }
        "{endless}" => operands(words).flatten().any(is_endless_device),
        "{void}" => {
            operands(words).last().flatten().is_some_and(|to| normalize_path_text(to) == "/dev/null")
                && has_two(words)
                || has_value("-t --target-directory", |to| normalize_path_text(to) == "/dev/null")
        }
        "{url}" => runs_url(program, words),
        "{to-root}" => makes_root_owner(program, words),
        "{to-file}" => any(|word| word.strip_prefix("of=").is_some_and(|to| !is_sink(to))),
        _ => false,
    }
}

/// Returns true if a device provides endless data.
pub(crate) fn is_endless_device(path: &str) -> bool {
    matches!(normalize_path_text(path).as_str(), "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full")
}

/// Returns true if data written to `path` is not stored.
fn is_sink(path: &str) -> bool {
    list_contains("/dev/null /dev/stdout /dev/stderr -", path)
}

/// Returns true if there are at least two operands.
fn has_two(words: &[MaybeWord<'_>]) -> bool {
    operands(words).nth(1).is_some()
}

/// Returns true if the program to run is given by a URL: as the first operand or as its package.
fn runs_url(program: &str, words: &[MaybeWord<'_>]) -> bool {
    let is_url = |word: &str| {
        ["http://", "https://", "git+", "git://", "github:", "gitlab:", "gist:", "ssh://"]
            .iter()
            .any(|begin| word.starts_with(begin))
    };
    operands(words).next().flatten().is_some_and(is_url)
        || option_values(program, "-p --package --from --with --spec", words).into_iter().any(is_url)
}

/// Returns true if `chown`, `chgrp` or `install` makes root the owner: by name, by number, or by a system reference
/// file.
fn makes_root_owner(program: &str, words: &[MaybeWord<'_>]) -> bool {
    let root = |name: &str| matches!(name, "root" | "0" | "+0" | "wheel");
    if program == "install" {
        return option_values(program, "-o --owner -g --group", words).into_iter().any(root);
    }
    let by = words.iter().flatten().find_map(|word| word.strip_prefix("--reference="));
    if let Some(by) = by {
        return is_system_path(by);
    }
    let first = operands(words).next().flatten();
    first.is_some_and(|owner| match owner.split_once([':', '.']) {
        Some((user, group)) => root(user) || root(group),
        None => root(owner),
    }) && list_contains("chown chgrp lchown", program)
}
