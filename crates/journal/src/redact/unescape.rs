//! Finds secrets behind JSON and URL escapes, and maps them back to positions in the original text.

use std::ops::Range;

use super::SecretMatch;

/// Maximum nesting of escapes: JSON in a string of JSON in a URL.
const MAX_DEPTH: usize = 3;

/// Returns the matches of `search` in a text and in its unescaped views, as ranges of the text. Each layer shortens the
/// text. At most 84 views are searched, and ordinary text has one or two.
pub(super) fn find_through_escapes(
    text: &[u8],
    search: &dyn Fn(&[u8]) -> Vec<SecretMatch>,
) -> Vec<SecretMatch> {
    find_layered(text, search, MAX_DEPTH)
}

fn find_layered(text: &[u8], search: &dyn Fn(&[u8]) -> Vec<SecretMatch>, depth: usize) -> Vec<SecretMatch> {
    let mut found = search(text);
    if depth > 0 {
        let readers: [EscapeReader; 4] =
            [unescape, unescape_after_backslash, unescape_after_letter, decode_percent];
        for read in readers {
            let Some(view) = read(text) else { continue };
            let below = find_layered(&view.text, search, depth - 1);
            found.extend(
                below
                    .into_iter()
                    .map(|found| SecretMatch { range: view.source_range(&found.range), ..found }),
            );
        }
    }
    found
}

/// Decodes a text; `None` if there is nothing to decode.
type EscapeReader = fn(&[u8]) -> Option<UnescapedText>;

/// A text with its escapes decoded.
struct UnescapedText {
    text: Vec<u8>,
    escapes: Vec<EscapeSpan>,
}

/// An escape: its range in the decoded text, and its range in the source.
struct EscapeSpan {
    decoded: Range<usize>,
    source: Range<usize>,
}

impl UnescapedText {
    /// Returns the source range of a range of the decoded text, extended to whole escapes.
    fn source_range(&self, range: &Range<usize>) -> Range<usize> {
        let before = |plain: usize| self.escapes[..plain].last();
        let start = match before(self.escapes.partition_point(|escape| escape.decoded.start <= range.start)) {
            None => range.start,
            Some(escape) if range.start < escape.decoded.end => escape.source.start,
            Some(escape) => escape.source.end + (range.start - escape.decoded.end),
        };
        let end = match before(self.escapes.partition_point(|escape| escape.decoded.start < range.end)) {
            None => range.end,
            Some(escape) if range.end <= escape.decoded.end => escape.source.end,
            Some(escape) => escape.source.end + (range.end - escape.decoded.end),
        };
        start..end
    }
}

/// Decodes `\n`, `\"`, `\u00e9` and so on; `None` if the text has no such escape.
fn unescape(text: &[u8]) -> Option<UnescapedText> {
    decode_escapes(text, b'\\', decode_escape)
}

/// Decodes escapes that follow an unrelated backslash.
fn unescape_after_backslash(text: &[u8]) -> Option<UnescapedText> {
    let has_two = text.windows(2).any(|pair| pair == b"\\\\");
    let late = |rest: &[u8]| decode_escape(rest).filter(|_| rest.get(1) != Some(&b'\\'));
    has_two.then(|| decode_escapes(text, b'\\', late)).flatten()
}

/// Decodes all escapes but those of a letter: in `\f\/`, the `f` may be the first letter of a secret.
fn unescape_after_letter(text: &[u8]) -> Option<UnescapedText> {
    let is_letter = |next: Option<&u8>| matches!(next, Some(b'b' | b'f' | b'n' | b'r' | b't'));
    let has_letter = text.windows(2).any(|pair| pair[0] == b'\\' && is_letter(pair.get(1)));
    let other = |rest: &[u8]| decode_escape(rest).filter(|_| !is_letter(rest.get(1)));
    has_letter.then(|| decode_escapes(text, b'\\', other)).flatten()
}

/// Returns the bytes that an escape stands for, and its length.
fn decode_escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    match rest.get(1)? {
        b'n' => Some((b"\n".to_vec(), 2)),
        b't' => Some((b"\t".to_vec(), 2)),
        b'r' => Some((b"\r".to_vec(), 2)),
        b'b' => Some((vec![8], 2)),
        b'f' => Some((vec![12], 2)),
        b'u' => decode_unicode_escape(rest),
        letter @ (b'"' | b'\\' | b'/') => Some((vec![*letter], 2)),
        _ => None,
    }
}

/// Decodes `%41`; `None` if the text has no such escape.
fn decode_percent(text: &[u8]) -> Option<UnescapedText> {
    decode_escapes(text, b'%', |rest| Some((vec![u8::try_from(parse_hex(rest.get(1..3)?)?).ok()?], 3)))
}

fn decode_escapes(
    text: &[u8],
    mark: u8,
    read: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>,
) -> Option<UnescapedText> {
    let mut view = UnescapedText { text: Vec::new(), escapes: Vec::new() };
    let mut at = 0;
    // ends: `at` only climbs
    while let Some(next) = text[at..].iter().position(|byte| *byte == mark) {
        view.text.extend_from_slice(&text[at..at + next]);
        at += next;
        let (plain, length) = read(&text[at..]).unwrap_or_else(|| (Vec::new(), 0));
        if length == 0 {
            view.text.push(mark);
            at += 1;
            continue;
        }
        let start = view.text.len();
        view.text.extend_from_slice(&plain);
        view.escapes.push(EscapeSpan { decoded: start..view.text.len(), source: at..at + length });
        at += length;
    }
    if view.escapes.is_empty() {
        return None;
    }
    view.text.extend_from_slice(&text[at..]);
    Some(view)
}

/// Decodes `\u00e9`, or a surrogate pair.
fn decode_unicode_escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let first = parse_hex(rest.get(2..6)?)?;
    let (code, length) = if (0xd800..0xdc00).contains(&first) {
        let second = rest.get(6..12)?.strip_prefix(b"\\u")?;
        let low = parse_hex(second)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        (0x10000 + ((first - 0xd800) << 10) + low, 12)
    } else {
        (first, 6)
    };
    Some((char::from_u32(code)?.to_string().into_bytes(), length))
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    let text = str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, 16).ok()
}
