//! Expands unknown words to their likely values, using the variables that the script itself sets.
//!
//! The script parser leaves a word unknown if it contains an expansion. This module tries the likely expansions, so
//! that a danger hidden behind variables, braces or `$IFS` is still found. The results only add dangers; they never
//! make a command harmless.

mod glob;
mod parameter;
mod scan;
mod values;

pub(crate) use glob::fits as fits_glob;
pub(crate) use values::Values;

use crate::account::text;
use crate::shell::{Command, Redirect, Word};
use scan::Scan;

/// Maximum length of a value and of a word.
const LONGEST: usize = 4 << 10;
/// Maximum number of expansions tried for one command.
const CANDIDATES: usize = 16;

/// The replacement for a part of unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The part stays as it is written.
    Kept,
    /// The part is empty, like an unset variable.
    Empty,
}

/// Returns the likely forms of `command` with its words expanded; none if all words are known.
pub(crate) fn likely(command: &Command, values: &Values) -> Vec<Command> {
    let unknown = |word: &Word| matches!(word, Word::Unknown(_));
    let targets = command.redirects.iter().filter_map(target);
    if !command.words.iter().chain(targets).any(unknown) {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for missing in [Missing::Kept, Missing::Empty] {
        let redirects: Vec<Redirect> =
            command.redirects.iter().map(|redirect| expanded_target(redirect, values, missing)).collect();
        for words in lists(&command.words, values, missing) {
            if words.is_empty() {
                continue;
            }
            let words = words.into_iter().map(Word::Literal).collect();
            let form = Command { words, redirects: redirects.clone(), ..command.clone() };
            if !forms.contains(&form) && forms.len() < CANDIDATES {
                forms.push(form);
            }
        }
    }
    forms
}

/// Returns the lists of words that `words` may expand to.
pub(crate) fn lists(words: &[Word], values: &Values, missing: Missing) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for (at, word) in words.iter().enumerate() {
        // A path below an unknown variable is not an absolute path.
        let kept = at > 0 && text(word).contains('/');
        let missing = if kept { Missing::Kept } else { missing };
        let ways = match word {
            Word::Literal(text) => vec![vec![text.clone()]],
            Word::Unknown(raw) => {
                let ways = word_lists(raw, values, missing);
                // An empty word is not a plausible file name.
                let nameless = at > 0 && ways.iter().flatten().any(String::is_empty);
                if nameless { word_lists(raw, values, Missing::Kept) } else { ways }
            }
        };
        let longer =
            lists.iter().flat_map(|list| ways.iter().map(move |way| [list.clone(), way.clone()].concat()));
        lists = longer.take(CANDIDATES).collect();
    }
    lists
}

/// Returns the lists of words that one source word may expand to.
pub(crate) fn word_lists(raw: &str, values: &Values, missing: Missing) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for one in scan::braces(raw) {
        let ways = Scan::new(&one, values, missing).words();
        let longer =
            lists.iter().flat_map(|list| ways.iter().map(move |way| [list.clone(), way.clone()].concat()));
        lists = longer.take(CANDIDATES).collect();
    }
    lists
}

fn target(redirect: &Redirect) -> Option<&Word> {
    match redirect {
        Redirect::Read(word) | Redirect::Write(word) | Redirect::Append(word) | Redirect::ReadWrite(word) => {
            Some(word)
        }
        Redirect::Text(_) => None,
    }
}

fn expanded_target(redirect: &Redirect, values: &Values, missing: Missing) -> Redirect {
    let one = |word: &Word| {
        let missing = if text(word).contains('/') { Missing::Kept } else { missing };
        let ways = lists(std::slice::from_ref(word), values, missing);
        let first = ways.into_iter().find(|way| way.len() == 1).and_then(|way| way.into_iter().next());
        Word::Literal(first.unwrap_or_else(|| text(word).to_owned()))
    };
    match redirect {
        Redirect::Read(word) => Redirect::Read(one(word)),
        Redirect::Write(word) => Redirect::Write(one(word)),
        Redirect::Append(word) => Redirect::Append(one(word)),
        Redirect::ReadWrite(word) => Redirect::ReadWrite(one(word)),
        Redirect::Text(word) => Redirect::Text(word.clone()),
    }
}

#[cfg(test)]
mod tests;
