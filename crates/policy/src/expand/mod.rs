//! Likely words: what the words of a command become if variables are what the script itself sets them to.
//!
//! The reader of scripts leaves a word unknown if anything is expanded in it. Here the likely outcomes are tried, so that a
//! danger that is spelled with variables, braces or `$IFS` is still one. They only add to what is known: nothing becomes
//! harmless by them.

mod glob;
mod parameter;
mod scan;
mod values;

pub(crate) use glob::fits as fits_glob;
pub(crate) use values::Values;

use crate::account::text;
use crate::shell::{Command, Redirect, Word};
use scan::Scan;

/// The longest value and the longest word that are tried.
const LONGEST: usize = 4 << 10;
/// How many ways to expand the words of one command are tried.
const CANDIDATES: usize = 16;

/// What a part that nobody can know becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It stays as it is written.
    Kept,
    /// It is nothing, as a variable is that nobody set.
    Empty,
}

/// The likely forms of `command`, each with its words expanded; none if all its words are known.
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

/// The lists of words that `words` may become.
pub(crate) fn lists(words: &[Word], values: &Values, missing: Missing) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for (at, word) in words.iter().enumerate() {
        // A path below a variable that nobody knows is no path from the root.
        let kept = at > 0 && text(word).contains('/');
        let missing = if kept { Missing::Kept } else { missing };
        let ways = match word {
            Word::Literal(text) => vec![vec![text.clone()]],
            Word::Unknown(raw) => {
                let ways = word_lists(raw, values, missing);
                // Nobody names a file that has no name.
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

/// The lists of words that one word, as it is written, may become.
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
