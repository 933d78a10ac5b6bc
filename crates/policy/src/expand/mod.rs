//! Expands unknown words to their likely values, using the variables that the script itself sets.
//!
//! The script parser leaves a word unknown if it contains an expansion. This module tries the likely expansions, so
//! that a danger hidden behind variables, braces or `$IFS` is still found. The results only add dangers; they never
//! make a command harmless.

mod parameter_expansion;
mod script_variables;
mod shell_glob;
mod word_expander;

pub(crate) use script_variables::ScriptVariables;
pub(crate) use shell_glob::glob_matches as fits_glob;

use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, word_text};
use word_expander::WordExpander;

/// Maximum length of a value and of a word.
const MAX_VALUE_BYTES: usize = 4 << 10;
/// Maximum number of expansions tried for one command.
const MAX_EXPANSIONS: usize = 16;

/// The replacement for a part of unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownExpansion {
    /// The part stays as it is written.
    Kept,
    /// The part is empty, like an unset variable.
    Empty,
}

/// Returns the likely forms of `command` with its words expanded; none if all words are known.
pub(crate) fn likely_forms(command: &ScriptCommand, values: &ScriptVariables) -> Vec<ScriptCommand> {
    let unknown = |word: &ScriptWord| matches!(word, ScriptWord::Unknown(_));
    let targets = command.redirects.iter().filter_map(redirect_target);
    if !command.words.iter().chain(targets).any(unknown) {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for missing in [UnknownExpansion::Kept, UnknownExpansion::Empty] {
        let redirects: Vec<ScriptRedirect> =
            command.redirects.iter().map(|redirect| expand_redirect(redirect, values, missing)).collect();
        for words in expand_words(&command.words, values, missing) {
            if words.is_empty() {
                continue;
            }
            let words = words.into_iter().map(ScriptWord::Literal).collect();
            let form = ScriptCommand { words, redirects: redirects.clone(), ..command.clone() };
            if !forms.contains(&form) && forms.len() < MAX_EXPANSIONS {
                forms.push(form);
            }
        }
    }
    forms
}

/// Returns the lists of words that `words` may expand to.
pub(crate) fn expand_words(
    words: &[ScriptWord],
    values: &ScriptVariables,
    missing: UnknownExpansion,
) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for (at, word) in words.iter().enumerate() {
        // A path below an unknown variable is not an absolute path.
        let kept = at > 0 && word_text(word).contains('/');
        let missing = if kept { UnknownExpansion::Kept } else { missing };
        let expansions = match word {
            ScriptWord::Literal(text) => vec![vec![text.clone()]],
            ScriptWord::Unknown(raw) => {
                let expansions = expand_word(raw, values, missing);
                // An empty word is not a plausible file name.
                let nameless = at > 0 && expansions.iter().flatten().any(String::is_empty);
                if nameless { expand_word(raw, values, UnknownExpansion::Kept) } else { expansions }
            }
        };
        let longer = lists
            .iter()
            .flat_map(|list| expansions.iter().map(move |way| [list.clone(), way.clone()].concat()));
        lists = longer.take(MAX_EXPANSIONS).collect();
    }
    lists
}

/// Returns the lists of words that one source word may expand to.
pub(crate) fn expand_word(
    raw: &str,
    values: &ScriptVariables,
    missing: UnknownExpansion,
) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for one in word_expander::expand_braces(raw) {
        let expansions = WordExpander::new(&one, values, missing).expand_to_words();
        let longer = lists
            .iter()
            .flat_map(|list| expansions.iter().map(move |way| [list.clone(), way.clone()].concat()));
        lists = longer.take(MAX_EXPANSIONS).collect();
    }
    lists
}

fn redirect_target(redirect: &ScriptRedirect) -> Option<&ScriptWord> {
    match redirect {
        ScriptRedirect::Read(word)
        | ScriptRedirect::Write(word)
        | ScriptRedirect::Append(word)
        | ScriptRedirect::ReadWrite(word) => Some(word),
        ScriptRedirect::Text(_) => None,
    }
}

fn expand_redirect(
    redirect: &ScriptRedirect,
    values: &ScriptVariables,
    missing: UnknownExpansion,
) -> ScriptRedirect {
    let one = |word: &ScriptWord| {
        let missing = if word_text(word).contains('/') { UnknownExpansion::Kept } else { missing };
        let expansions = expand_words(std::slice::from_ref(word), values, missing);
        let first = expansions.into_iter().find(|way| way.len() == 1).and_then(|way| way.into_iter().next());
        ScriptWord::Literal(first.unwrap_or_else(|| word_text(word).to_owned()))
    };
    match redirect {
        ScriptRedirect::Read(word) => ScriptRedirect::Read(one(word)),
        ScriptRedirect::Write(word) => ScriptRedirect::Write(one(word)),
        ScriptRedirect::Append(word) => ScriptRedirect::Append(one(word)),
        ScriptRedirect::ReadWrite(word) => ScriptRedirect::ReadWrite(one(word)),
        ScriptRedirect::Text(word) => ScriptRedirect::Text(word.clone()),
    }
}

#[cfg(test)]
mod tests;
