//! Dangers that are spelled so that the words of a command do not show them: with variables that the script sets, braces,
//! `$IFS`, and patterns in the place of a program's name.

use crate::account::{base, danger_of, literal, text};
use crate::expand::{self, Missing, Values, fits_glob};
use crate::known::{Known, names_like};
use crate::shell::{Command, Word, analyse_argv};

/// How many programs that a pattern may mean are tried.
const PROGRAMS: usize = 64;
/// Programs that remove what their words name.
const REMOVERS: &[&str] = &["rm", "unlink", "gio", "trash", "trash-put"];

/// What the likely `forms` of `command` come to, if that is worse than its words tell.
pub(crate) fn danger(command: &Command, forms: &[Command], values: &Values) -> Option<Known> {
    let found = forms.iter().find_map(|form| of_form(command, form));
    found.or_else(|| by_pattern(command)).or_else(|| by_open_word(command, values))
}

/// The danger of a form of `command`, or of what that starts.
fn of_form(command: &Command, form: &Command) -> Option<Known> {
    let argv: Vec<String> = form.words.iter().map(|word| text(word).to_owned()).collect();
    analyse_argv(&argv).commands.into_iter().find_map(|inner| {
        let outermost = inner.through.is_empty();
        let redirects = if outermost { form.redirects.clone() } else { inner.redirects };
        danger_of(&Command { fed: inner.fed || command.fed && outermost, redirects, ..inner })
    })
}

/// The danger of a program that the pattern in its place may mean: `/bin/r?`.
fn by_pattern(command: &Command) -> Option<Known> {
    let Word::Unknown(name) = &command.words[0] else { return None };
    let name = name.replace(['"', '\''], "");
    if name.contains(['$', '`']) || !name.contains(['*', '?', '[']) {
        return None;
    }
    let pattern = base(&name);
    names_like(|program| fits_glob(pattern, program), PROGRAMS).into_iter().find_map(|program| {
        let first = std::iter::once(Word::Literal(program.to_owned()));
        let words: Vec<Word> = first.chain(command.words[1..].iter().cloned()).collect();
        of_form(command, &Command { words, ..command.clone() })
    })
}

/// The risk of a word without quotes that nobody knows, next to a program that removes what it is given.
fn by_open_word(command: &Command, values: &Values) -> Option<Known> {
    let name = base(literal(&command.words[0])?);
    let open = |word: &Word| match word {
        Word::Unknown(raw) if !raw.starts_with('"') && raw.contains(['$', '`']) => {
            let ways = expand::word_lists(raw, values, Missing::Kept);
            ways.iter().flatten().any(|word| word.contains(['$', '`']))
        }
        Word::Unknown(_) | Word::Literal(_) => false,
    };
    let risky = REMOVERS.contains(&name) && command.words[1..].iter().any(open);
    risky.then_some(Known::Risky("removes files that are not known before it runs"))
}
