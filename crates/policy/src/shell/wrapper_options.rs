//! Parses the options of wrappers.
//!
//! An unknown option stops the parser: the next word could be its value or the command.

use crate::shell::syntax_tree::ParsedWord;

/// The options of a program and their values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionTable {
    /// Letters without a value.
    pub(crate) flags: &'static str,
    /// Letters with a value, attached or in the next word.
    pub(crate) valued: &'static str,
    /// Letters with an optional attached value.
    pub(crate) attached: &'static str,
    pub(crate) long_flags: &'static [&'static str],
    /// Long options with a value, after `=` or in the next word.
    pub(crate) long_valued: &'static [&'static str],
    /// Long options with an optional value after `=`.
    pub(crate) long_attached: &'static [&'static str],
}

impl OptionTable {
    pub(crate) const NONE: Self =
        Self { flags: "", valued: "", attached: "", long_flags: &[], long_valued: &[], long_attached: &[] };
}

/// The parsed options, and the position after them.
#[derive(Debug, Default)]
pub(crate) struct ScannedOptions {
    options: Vec<(String, Option<ParsedWord>)>,
    pub(crate) rest: usize,
}

impl ScannedOptions {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(given, _)| given == name)
    }

    /// Returns the values of an option, in order.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ParsedWord> {
        self.options.iter().filter(move |(given, _)| given == name).filter_map(|(_, value)| value.as_ref())
    }

    /// Returns the options with their values, in order.
    pub(crate) fn options_in_order(&self) -> impl Iterator<Item = (&str, Option<&ParsedWord>)> {
        self.options.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }
}

/// Parses options up to the first operand. Returns `None` if a word may be an option that is not known.
pub(crate) fn parse_options(args: &[ParsedWord], options: &OptionTable) -> Option<ScannedOptions> {
    let mut parsed = ScannedOptions::default();
    // ends: each round takes a word
    while let Some(arg) = args.get(parsed.rest) {
        let Some(word) = arg.known_text() else { return arg.is_operand().then_some(parsed) };
        if word == "--" {
            parsed.rest += 1;
            return Some(parsed);
        }
        if word == "-" || !word.starts_with('-') {
            return Some(parsed);
        }
        parsed.rest += 1;
        match word.strip_prefix("--") {
            Some(long) => take_long(long, args, options, &mut parsed)?,
            None => take_letters(&word[1..], args, options, &mut parsed)?,
        }
    }
    Some(parsed)
}

fn take_long(
    word: &str,
    args: &[ParsedWord],
    options: &OptionTable,
    parsed: &mut ScannedOptions,
) -> Option<()> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(ParsedWord::literal(value))),
        None => (word, None),
    };
    let value = match value {
        None if options.long_flags.contains(&name) || options.long_attached.contains(&name) => None,
        None if options.long_valued.contains(&name) => Some(next_value(args, parsed)?),
        Some(value) if options.long_valued.contains(&name) || options.long_attached.contains(&name) => {
            Some(value)
        }
        _ => return None,
    };
    parsed.options.push((name.to_owned(), value));
    Some(())
}

fn take_letters(
    letters: &str,
    args: &[ParsedWord],
    options: &OptionTable,
    parsed: &mut ScannedOptions,
) -> Option<()> {
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        let attached = (!rest.is_empty()).then(|| ParsedWord::literal(rest));
        let value = if options.flags.contains(letter) {
            parsed.options.push((letter.to_string(), None));
            continue;
        } else if options.valued.contains(letter) {
            Some(attached.map_or_else(|| next_value(args, parsed), Some)?)
        } else if options.attached.contains(letter) {
            attached
        } else {
            return None;
        };
        parsed.options.push((letter.to_string(), value));
        return Some(());
    }
    Some(())
}

/// Returns the next word as the value of an option; it must be exactly one word.
fn next_value(args: &[ParsedWord], parsed: &mut ScannedOptions) -> Option<ParsedWord> {
    let value = args.get(parsed.rest).filter(|value| value.spread_is_one())?;
    parsed.rest += 1;
    Some(value.clone())
}
