//! Matches a command against rules: certain matches, and matches that depend on unknown words.

use std::cmp::Reverse;

use super::{MAX_PATTERN_WORDS, PolicyRule, RuleSet, RuleSubject};
use crate::programs::program_name;
use crate::shell::ScriptWord;

/// A rule that a command matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedRule<'a> {
    /// The rule.
    pub rule: &'a PolicyRule,
    /// The rule names a program, and the command gives a path to a program of that name. A caller that relies on the
    /// rule must check the location of the program.
    pub matched_by_name: bool,
}

/// The rules for a command, in the order they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchedRules<'a> {
    /// Rules that match for any value of the unknown words.
    pub certain: Vec<MatchedRule<'a>>,
    /// Rules that match only for some values of the unknown words.
    pub possible: Vec<MatchedRule<'a>>,
}

/// Returns the strictest of `matched`; among equals the one with the longest pattern, whose reason is the most
/// specific.
pub fn strictest<'a>(matched: &[MatchedRule<'a>]) -> Option<MatchedRule<'a>> {
    // `min_by_key` keeps the first of equals; `max_by_key` would keep the last.
    matched
        .iter()
        .min_by_key(|matched| Reverse((matched.rule.decision, pattern_length(matched.rule))))
        .copied()
}

fn pattern_length(rule: &PolicyRule) -> usize {
    match &rule.subject {
        RuleSubject::Command { pattern, exact } => pattern.len() + usize::from(*exact),
        RuleSubject::Path { .. } | RuleSubject::Tool { .. } | RuleSubject::Host { .. } => 0,
    }
}

/// The degree to which a command matches a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternFit {
    Certain,
    Possible,
    NoMatch,
}

pub(super) fn find_matches<'a>(rules: &'a RuleSet, words: &[ScriptWord], more: bool) -> MatchedRules<'a> {
    let mut found = MatchedRules::default();
    for at in candidates(rules, words, more) {
        let rule = &rules.rules[at];
        let RuleSubject::Command { pattern, exact } = &rule.subject else { continue };
        let matched = MatchedRule { rule, matched_by_name: matches_by_name(pattern, words) };
        match match_pattern(pattern, *exact, words, more) {
            PatternFit::Certain => found.certain.push(matched),
            PatternFit::Possible => found.possible.push(matched),
            PatternFit::NoMatch => {}
        }
    }
    found
}

/// Returns the rules whose first word may be the command's, in order.
fn candidates(rules: &RuleSet, words: &[ScriptWord], more: bool) -> Vec<usize> {
    let listed = |first: &str| rules.by_first_word.get(first).map(Vec::as_slice).unwrap_or_default();
    match words.first() {
        Some(ScriptWord::Literal(program)) if program.contains('/') => {
            let mut both = [listed(program), listed(program_name(program))].concat();
            both.sort_unstable();
            both.dedup();
            both
        }
        Some(ScriptWord::Literal(program)) => {
            let mut one = listed(program).to_vec();
            // A word may occur twice among the alternatives.
            one.dedup();
            one
        }
        Some(ScriptWord::Unknown(_)) => (0..rules.rules.len()).collect(),
        None if more => (0..rules.rules.len()).collect(),
        None => Vec::new(),
    }
}

fn matches_by_name(pattern: &[Vec<String>], words: &[ScriptWord]) -> bool {
    match (pattern.first(), words.first()) {
        (Some(names), Some(ScriptWord::Literal(program))) => {
            program.contains('/') && !names.contains(program)
        }
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// Matches the command `words`, which `more` words may follow, against `pattern`.
pub(super) fn match_pattern(
    pattern: &[Vec<String>],
    exact: bool,
    words: &[ScriptWord],
    more: bool,
) -> PatternFit {
    for (at, names) in pattern.iter().enumerate() {
        match words.get(at) {
            Some(ScriptWord::Literal(word)) if is_one_of(names, word, at) => {}
            Some(ScriptWord::Literal(_)) => return PatternFit::NoMatch,
            // The unknown word may stand for all remaining words of the pattern.
            Some(ScriptWord::Unknown(_)) if !exact => return PatternFit::Possible,
            Some(ScriptWord::Unknown(_)) => return fit_exactly(pattern, at, &words[at..], more),
            None => return if more { PatternFit::Possible } else { PatternFit::NoMatch },
        }
    }
    match words.get(pattern.len()..) {
        Some([]) if exact && more => PatternFit::Possible,
        Some(rest) if exact && !rest.is_empty() => fit_exactly(pattern, pattern.len(), rest, more),
        Some(_) | None => PatternFit::Certain,
    }
}

/// Decides whether `words`, some of them unknown, may be exactly `pattern` from position `at` on.
fn fit_exactly(pattern: &[Vec<String>], at: usize, words: &[ScriptWord], more: bool) -> PatternFit {
    const _: () = assert!(MAX_PATTERN_WORDS < 128, "a bit for each position, and one for the end");
    // No parsed rule is this long; a rule built in code gets the conservative answer.
    if pattern.len() > MAX_PATTERN_WORDS {
        return PatternFit::Possible;
    }
    // Bit n is set if the words so far can match the first n positions.
    let mut reached: u128 = 1 << at;
    let end: u128 = 1 << pattern.len();
    for word in words {
        reached = match word {
            // The word becomes none, one or more words: every position from the first one on. Bits beyond the end are
            // cleared.
            ScriptWord::Unknown(_) => {
                let first = reached & reached.wrapping_neg();
                first.wrapping_neg() & (end | (end - 1))
            }
            ScriptWord::Literal(word) => pattern
                .iter()
                .enumerate()
                .filter(|(at, names)| reached & (1 << at) != 0 && is_one_of(names, word, *at))
                .fold(0, |next, (at, _)| next | 1 << (at + 1)),
        };
        // A known word advances by one position, so this is reached after at most as many known words as the pattern
        // has.
        if reached == 0 {
            return PatternFit::NoMatch;
        }
    }
    if more || reached & end != 0 { PatternFit::Possible } else { PatternFit::NoMatch }
}

/// Returns true if `word` is one of `names`. For a program path the last component counts too.
fn is_one_of(names: &[String], word: &str, at: usize) -> bool {
    let is = |word: &str| names.iter().any(|name| name == word);
    is(word) || at == 0 && word.contains('/') && is(program_name(word))
}
