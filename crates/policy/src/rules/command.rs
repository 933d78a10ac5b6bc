//! Which rules a command matches: for certain, or only if words that nobody knows turn out so.

use std::cmp::Reverse;

use super::{MAX_WORDS, On, Rule, Rules};
use crate::shell::Word;

/// A rule that a command matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The rule names a program, and the command a path to one of that name: whoever relies on the rule has to look where
    /// the program lies.
    pub by_name: bool,
}

/// The rules for a command, in the order they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches<'a> {
    /// Those that match, whatever the unknown words are.
    pub certain: Vec<Matched<'a>>,
    /// Those that match if the unknown words turn out so, and only then.
    pub possible: Vec<Matched<'a>>,
}

/// The strictest of `matched`; of several the one with the longest pattern, whose reason says most.
pub fn strictest<'a>(matched: &[Matched<'a>]) -> Option<Matched<'a>> {
    // The first of equals: `min_by_key` keeps it, `max_by_key` the last.
    matched.iter().min_by_key(|matched| Reverse((matched.rule.decision, length(matched.rule)))).copied()
}

fn length(rule: &Rule) -> usize {
    match &rule.on {
        On::Command { pattern, exact } => pattern.len() + usize::from(*exact),
        On::Path { .. } | On::Tool { .. } | On::Host { .. } => 0,
    }
}

/// How a command fits a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Certain,
    Possible,
    Not,
}

pub(super) fn matches<'a>(rules: &'a Rules, words: &[Word], more: bool) -> Matches<'a> {
    let mut found = Matches::default();
    for at in candidates(rules, words, more) {
        let rule = &rules.rules[at];
        let On::Command { pattern, exact } = &rule.on else { continue };
        let matched = Matched { rule, by_name: by_name(pattern, words) };
        match fit(pattern, *exact, words, more) {
            Fit::Certain => found.certain.push(matched),
            Fit::Possible => found.possible.push(matched),
            Fit::Not => {}
        }
    }
    found
}

/// The rules whose first word can be the command's, in order.
fn candidates(rules: &Rules, words: &[Word], more: bool) -> Vec<usize> {
    let listed = |first: &str| rules.by_first.get(first).map(Vec::as_slice).unwrap_or_default();
    match words.first() {
        Some(Word::Literal(program)) if program.contains('/') => {
            let mut both = [listed(program), listed(last_part(program))].concat();
            both.sort_unstable();
            both.dedup();
            both
        }
        Some(Word::Literal(program)) => {
            let mut one = listed(program).to_vec();
            // A word may stand twice among the alternatives.
            one.dedup();
            one
        }
        Some(Word::Unknown(_)) => (0..rules.rules.len()).collect(),
        None if more => (0..rules.rules.len()).collect(),
        None => Vec::new(),
    }
}

fn by_name(pattern: &[Vec<String>], words: &[Word]) -> bool {
    match (pattern.first(), words.first()) {
        (Some(names), Some(Word::Literal(program))) => program.contains('/') && !names.contains(program),
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// How the command `words`, of which `more` may follow, fits `pattern`.
pub(super) fn fit(pattern: &[Vec<String>], exact: bool, words: &[Word], more: bool) -> Fit {
    for (at, names) in pattern.iter().enumerate() {
        match words.get(at) {
            Some(Word::Literal(word)) if is_one_of(names, word, at) => {}
            Some(Word::Literal(_)) => return Fit::Not,
            // It may stand for all words that the pattern still asks for.
            Some(Word::Unknown(_)) if !exact => return Fit::Possible,
            Some(Word::Unknown(_)) => return fit_exactly(pattern, at, &words[at..], more),
            None => return if more { Fit::Possible } else { Fit::Not },
        }
    }
    match words.get(pattern.len()..) {
        Some([]) if exact && more => Fit::Possible,
        Some(rest) if exact && !rest.is_empty() => fit_exactly(pattern, pattern.len(), rest, more),
        Some(_) | None => Fit::Certain,
    }
}

/// Whether `words`, some of them unknown, may be exactly what stands in `pattern` from `at` on.
fn fit_exactly(pattern: &[Vec<String>], at: usize, words: &[Word], more: bool) -> Fit {
    const _: () = assert!(MAX_WORDS < 128, "a bit for each position, and one for the end");
    // No file holds such a rule; whoever made it otherwise gets the careful answer.
    if pattern.len() > MAX_WORDS {
        return Fit::Possible;
    }
    // Bit n: the words so far can be those before position n.
    let mut reached: u128 = 1 << at;
    let end: u128 = 1 << pattern.len();
    for word in words {
        reached = match word {
            // No, one or more words: every position from the first one on. What lies beyond the end is cut off.
            Word::Unknown(_) => {
                let first = reached & reached.wrapping_neg();
                first.wrapping_neg() & (end | (end - 1))
            }
            Word::Literal(word) => pattern
                .iter()
                .enumerate()
                .filter(|(at, names)| reached & (1 << at) != 0 && is_one_of(names, word, *at))
                .fold(0, |next, (at, _)| next | 1 << (at + 1)),
        };
        // A known word takes a step, so this comes after as many of them as the pattern has, at the latest.
        if reached == 0 {
            return Fit::Not;
        }
    }
    if more || reached & end != 0 { Fit::Possible } else { Fit::Not }
}

/// Whether `word` is one of `names`. Of a path to a program the last part counts too, where a program stands.
fn is_one_of(names: &[String], word: &str, at: usize) -> bool {
    let is = |word: &str| names.iter().any(|name| name == word);
    is(word) || at == 0 && word.contains('/') && is(last_part(word))
}

fn last_part(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
