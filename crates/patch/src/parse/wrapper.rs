//! Strips wrappers that models put around a patch: Markdown fences and here-documents.

use super::{PatchSyntaxError, marker};
use crate::engine_part::EnginePart;

/// The maximum number of nested wrappers that are stripped.
const MAX_WRAPPERS: usize = 4;
/// Commands that a here-document may feed without changing the meaning of the patch.
const COMMANDS: &[&str] = &["apply_patch", "applypatch", "git apply", "patch -p1"];

/// A patch text without its wrappers.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchSource<'a> {
    pub(super) text: &'a str,
    /// The number of its first line.
    pub(super) first_line_number: usize,
    /// True if the end is certainly not missing: the last line ends, or a wrapper closes.
    pub(super) complete: bool,
    /// True if a wrapper closes after the patch: then the patch was written completely.
    pub(super) wrapper_closed: bool,
}

impl<'a> PatchSource<'a> {
    /// Creates the source from a text as received.
    pub(super) fn from_text(text: &'a str) -> Self {
        let complete = text.ends_with('\n');
        Self {
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            first_line_number: 1,
            complete,
            wrapper_closed: false,
        }
    }
}

/// Strips fences, here-documents and the blank lines before them.
pub(super) fn strip_wrappers(text: &str) -> Result<PatchSource<'_>, PatchSyntaxError> {
    let mut source = skip_blank(PatchSource::from_text(text));
    for _ in 0..MAX_WRAPPERS {
        let (line, inside) = source.text.split_once('\n').unwrap_or((source.text, ""));
        let Some(close) = opened_wrapper_end(line.trim()).filter(|_| EnginePart::Wrappers.is_on()) else {
            break;
        };
        source = skip_blank(strip_wrapper(
            PatchSource { text: inside, first_line_number: source.first_line_number + 1, ..source },
            &close,
        )?);
    }
    Ok(source)
}

/// The end of a wrapper.
enum WrapperEnd<'a> {
    /// A fence of at least this many of the same character.
    Fence(char, usize),
    /// This word, alone in a line.
    Word(&'a str),
}

impl WrapperEnd<'_> {
    fn matches_line(&self, line: &str) -> bool {
        match self {
            Self::Fence(sign, least) => line.len() >= *least && line.chars().all(|other| other == *sign),
            Self::Word(word) => line == *word,
        }
    }
}

/// Returns the end of the wrapper that `line` opens, if it opens one.
fn opened_wrapper_end(line: &str) -> Option<WrapperEnd<'_>> {
    for sign in ['`', '~'] {
        let length = line.len() - line.trim_start_matches(sign).len();
        if length >= 3 {
            return Some(WrapperEnd::Fence(sign, length));
        }
    }
    let (before, after) = line.split_once("<<")?;
    let after = after.strip_prefix('-').unwrap_or(after).trim_start();
    let end = after.find(|sign: char| sign.is_whitespace() || sign == '|').unwrap_or(after.len());
    let (word, rest) = after.split_at(end);
    let word =
        ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(word);
    let word = word.strip_prefix('\\').unwrap_or(word);
    let is_word = !word.is_empty() && word.chars().all(|sign| sign.is_alphanumeric() || "_-.".contains(sign));
    let piped = rest.trim().strip_prefix('|').map(str::trim);
    let fed = match (before.trim(), piped) {
        ("cat", Some(command)) => COMMANDS.contains(&command),
        ("", None) => rest.trim().is_empty(),
        (command, None) => rest.trim().is_empty() && COMMANDS.contains(&command),
        (_, Some(_)) => false,
    };
    (is_word && fed).then_some(WrapperEnd::Word(word))
}

/// Returns the content of a wrapper. If the wrapper does not close, the patch itself must have an end marker.
fn strip_wrapper<'a>(
    inside: PatchSource<'a>,
    close: &WrapperEnd<'_>,
) -> Result<PatchSource<'a>, PatchSyntaxError> {
    let text = inside.text.trim_end();
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let (before, last) = text.split_at(start);
    let last = last.trim();
    let envelope_ends =
        |text: &str| marker::is_end_marker(text.trim_end().rsplit('\n').next().unwrap_or_default());
    if close.matches_line(last) {
        return Ok(PatchSource { text: before, complete: true, wrapper_closed: true, ..inside });
    }
    // The word may be attached to other text, if the patch ended before it.
    if let WrapperEnd::Word(word) = close
        && last.ends_with(word)
        && envelope_ends(before)
    {
        return Ok(PatchSource { text: before, complete: true, wrapper_closed: true, ..inside });
    }
    if envelope_ends(text) {
        return Ok(inside);
    }
    let line = inside.first_line_number + text.matches('\n').count();
    let wanted = match close {
        WrapperEnd::Fence(sign, length) => sign.to_string().repeat(*length),
        WrapperEnd::Word(word) => super::clip(word),
    };
    Err(PatchSyntaxError::cut_off(
        line,
        format!("send all of it, up to the {} that closes it", super::clip(&wanted)),
    ))
}

fn skip_blank(mut source: PatchSource<'_>) -> PatchSource<'_> {
    // ends: each round takes a line
    while let Some((line, rest)) = source.text.split_once('\n')
        && line.trim().is_empty()
    {
        source = PatchSource { text: rest, first_line_number: source.first_line_number + 1, ..source };
    }
    source
}
