//! Parses the words of a command by a list of its options.
//!
//! The list is a text with one item per option:
//!
//! ```text
//! -abc      letters without a value, alone or combined
//! -n=       a letter with a value, attached or in the next word
//! -n:       a letter with a value in the next word only; the letter is the last of its word
//! -n=?      a letter with an optional attached value
//! -NUM      a number: `-5`
//! --name    an option without a value; `=`, `=?` as above; `==` for two values in the next two words
//! exact     letters cannot be combined, and an attached value is a number
//! ```

use super::MaybeWord;

/// The parsed words of a command.
#[derive(Debug, Default)]
pub(super) struct ParsedOptions<'a> {
    /// Values of options, by letter or `--name`.
    pub(super) values: Vec<(&'a str, &'a str)>,
    /// Options without a value, by letter or `--name`.
    pub(super) flags: Vec<&'a str>,
    /// Operands.
    pub(super) operands: Vec<MaybeWord<'a>>,
    /// An option follows an operand; some programs treat it as another operand.
    pub(super) option_after_operand: bool,
}

impl<'a> ParsedOptions<'a> {
    /// Returns the values of the options `names`.
    pub(super) fn values_of(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        self.values.iter().filter(move |(name, _)| names.contains(name)).map(|(_, value)| *value)
    }

    /// Returns true if an option of `names`, a whitespace-separated list, is present, with or without a value.
    pub(super) fn has_any(&self, names: &'static str) -> bool {
        let values = self.values.iter().map(|(name, _)| name);
        values.chain(&self.flags).any(|name| super::list_contains(names, name))
    }
}

/// Parses `words` by the list `options`. Returns `None` for a word that is unlisted, abbreviated, lacks its value, or
/// may be an option.
pub(super) fn scan_options<'a>(options: &'static str, words: &[MaybeWord<'a>]) -> Option<ParsedOptions<'a>> {
    let mut parsed = ParsedOptions::default();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let word = word?;
        if word == "--" {
            if has_item(options, "exact") {
                return None;
            }
            parsed.operands.extend(words);
            return Some(parsed);
        }
        if !word.starts_with('-') || word == "-" {
            parsed.operands.push(Some(word));
            continue;
        }
        parsed.option_after_operand |= !parsed.operands.is_empty();
        if word.starts_with("--") {
            scan_long(options, word, &mut words, &mut parsed)?;
        } else {
            scan_letters(options, word, &mut words, &mut parsed)?;
        }
    }
    Some(parsed)
}

fn scan_long<'a>(
    options: &'static str,
    word: &'a str,
    words: &mut impl Iterator<Item = MaybeWord<'a>>,
    parsed: &mut ParsedOptions<'a>,
) -> Option<()> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let listed = options.split_whitespace().find(|item| item.trim_end_matches(['=', '?']) == name)?;
    match (&listed[name.len()..], attached) {
        ("", None) | ("=?", None) => parsed.flags.push(name),
        ("=" | "=?", Some(value)) => parsed.values.push((name, value)),
        ("=", None) => parsed.values.push((name, next_value(words)?)),
        ("==", None) => {
            let (_, second) = (next_value(words)?, next_value(words)?);
            parsed.values.push((name, second));
        }
        _ => return None,
    }
    Some(())
}

fn scan_letters<'a>(
    options: &'static str,
    word: &'a str,
    words: &mut impl Iterator<Item = MaybeWord<'a>>,
    parsed: &mut ParsedOptions<'a>,
) -> Option<()> {
    let number = word[1..].chars().all(|digit| digit.is_ascii_digit());
    if number && has_item(options, "-NUM") {
        return Some(());
    }
    let exact = has_item(options, "exact");
    for (at, letter) in word.char_indices().skip(1) {
        let after = at + letter.len_utf8();
        let (name, attached) = (&word[at..after], &word[after..]);
        match letter_suffix(options, letter)? {
            "" if exact && word.len() > 2 => return None,
            "" => {
                parsed.flags.push(name);
                continue;
            }
            "=" if exact && !attached.chars().all(|digit| digit.is_ascii_digit()) => return None,
            "=" | "=?" if !attached.is_empty() => parsed.values.push((name, attached)),
            "=" => parsed.values.push((name, next_value(words)?)),
            ":" if attached.is_empty() => parsed.values.push((name, next_value(words)?)),
            "=?" => parsed.flags.push(name),
            _ => return None,
        }
        return Some(());
    }
    Some(())
}

/// Returns the suffix of `letter` in the list: empty if it takes no value.
fn letter_suffix(options: &str, letter: char) -> Option<&str> {
    let letters = options.split_whitespace().filter_map(|item| item.strip_prefix('-'));
    letters.filter(|item| !item.starts_with('-') && *item != "NUM").find_map(|item| {
        let end = item.find(['=', ':', '?']).unwrap_or(item.len());
        item[..end].contains(letter).then_some(&item[end..])
    })
}

/// Returns the value in the next word. A word that may be an option is not accepted: a program without a value here
/// would take it for an option.
fn next_value<'a>(words: &mut impl Iterator<Item = MaybeWord<'a>>) -> Option<&'a str> {
    words.next()?.filter(|word| !looks_like_option(word))
}

/// Returns true if `word` is a dash followed by anything but a digit.
pub(super) fn looks_like_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|next: char| !next.is_ascii_digit()))
}

fn has_item(options: &'static str, item: &str) -> bool {
    super::list_contains(options, item)
}
