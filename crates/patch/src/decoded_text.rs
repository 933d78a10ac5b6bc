//! A decoded text file as lines with their line ends, so that untouched parts are written back byte for byte.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use crate::invalid_utf8;
use crate::line_index::{LineIndex, SearchBudget};

const BOM: char = '\u{feff}';
/// Bytes that are decoded, or searched, in the time of one line comparison.
const DECODED_BYTES_PER_STEP: usize = 8;
pub(crate) const SEARCHED_BYTES_PER_STEP: usize = 64;
/// A typical line length in bytes.
const TYPICAL_LINE_BYTES: usize = 32;
/// The cost of indexing a line, in line comparisons.
const INDEX_COST_PER_LINE: usize = 16;

/// A decoded text file.
#[derive(Debug, Clone)]
pub(crate) struct DecodedText<'a> {
    /// The complete text, decoded, without its byte order mark.
    content: Cow<'a, str>,
    lines: Vec<LineRange>,
    encoding: TextEncoding,
    has_bom: bool,
    index: OnceCell<LineIndex>,
    budget: SearchBudget,
}

/// The byte range of a line's text. Its line end extends to the next line.
type LineRange = Range<usize>;

/// The encoding of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Utf16 {
        little: bool,
    },
    /// UTF-8 with invalid bytes in it.
    Utf8WithInvalid(InvalidByteShare),
    Other(&'static Encoding),
}

/// The share of a text's bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InvalidByteShare {
    /// Few invalid bytes: added text is written as UTF-8.
    Few,
    /// Many invalid bytes: it is unclear how to encode added text, unless it is ASCII.
    Many,
}

/// The reason why bytes cannot be edited as text, or why text cannot be encoded as such bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TextCodecError {
    #[error("is a binary file, so no text in it can be changed; replace it as a whole with another tool")]
    Binary,
    #[error(
        "is encoded as {0}, and would not come out as it was; convert it to UTF-8 first, or use another tool"
    )]
    Lossy(&'static str),
    #[error(
        "has bytes that are UTF-8 and bytes that are not, so it is unclear how to write {0:?}; leave that out, or make the file UTF-8 first"
    )]
    Mixed(char),
    #[error("is encoded as {0}, which has no {1:?}; leave that out, or convert the file to UTF-8 first")]
    Unwritable(&'static str, char),
}

impl<'a> DecodedText<'a> {
    /// Decodes `bytes`.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Result<Self, TextCodecError> {
        let (encoding, decoded) = decode(bytes)?;
        let has_bom = decoded.starts_with(BOM);
        let content = match decoded {
            content if !has_bom => content,
            Cow::Borrowed(content) => Cow::Borrowed(&content[BOM.len_utf8()..]),
            Cow::Owned(content) => Cow::Owned(content[BOM.len_utf8()..].to_owned()),
        };
        let lines = split_lines(&content);
        Ok(Self {
            content,
            lines,
            encoding,
            has_bom,
            index: OnceCell::new(),
            budget: SearchBudget::default(),
        })
    }

    /// Creates a text with other content in the same encoding.
    pub(crate) fn with_content(&self, content: String) -> DecodedText<'static> {
        let (encoding, has_bom) = (self.encoding, self.has_bom);
        let lines = split_lines(&content);
        let text = DecodedText {
            content: Cow::Owned(content),
            lines,
            encoding,
            has_bom,
            index: OnceCell::new(),
            budget: SearchBudget::default(),
        };
        text.with_budget(&self.budget)
    }

    /// Charges searches in this text to `budget`.
    pub(crate) fn with_budget(mut self, budget: &SearchBudget) -> Self {
        self.budget = budget.clone();
        budget.spend(self.content.len() / DECODED_BYTES_PER_STEP);
        self
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a line without its line end.
    pub(crate) fn line(&self, at: usize) -> &str {
        self.lines.get(at).map_or("", |span| &self.content[span.clone()])
    }

    /// Returns the line that contains the byte at this offset.
    pub(crate) fn line_at_byte(&self, byte: usize) -> usize {
        self.lines.partition_point(|span| span.start <= byte).saturating_sub(1)
    }

    /// Returns the lines without their line ends.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.lines.iter().map(|span| &self.content[span.clone()])
    }

    /// Returns the line end; empty for a last line without a newline.
    pub(crate) fn line_end(&self, at: usize) -> &str {
        let next = self.lines.get(at + 1).map_or(self.content.len(), |next| next.start);
        self.lines.get(at).map_or("", |span| &self.content[span.end..next])
    }

    /// Returns the text of a range of lines, with their line ends.
    pub(crate) fn lines_with_ends(&self, from: usize, until: usize) -> &str {
        let start = self.lines.get(from).map_or(self.content.len(), |span| span.start);
        let end = self.lines.get(until).map_or(self.content.len(), |span| span.start);
        &self.content[start..end.max(start)]
    }

    /// Returns the line index.
    pub(crate) fn index(&self) -> &LineIndex {
        self.index.get_or_init(|| {
            self.budget.spend(INDEX_COST_PER_LINE * self.len());
            LineIndex::build(self.iter())
        })
    }

    /// Returns the search budget.
    pub(crate) fn budget(&self) -> &SearchBudget {
        &self.budget
    }

    /// Returns the lines that equal `line` exactly.
    pub(crate) fn find_exact_line(&self, line: &str) -> Vec<usize> {
        if let Some(index) = self.index.get().or(line.is_empty().then(|| self.index())) {
            return index.lines_like(line).iter().copied().filter(|at| self.line(*at) == line).collect();
        }
        self.budget.spend(self.content.len() / SEARCHED_BYTES_PER_STEP);
        let found = memchr::memmem::find_iter(self.content.as_bytes(), line);
        let line_starting_at = |start: usize| {
            let at = self.lines.binary_search_by_key(&start, |span| span.start).ok()?;
            (self.lines[at].end == start + line.len()).then_some(at)
        };
        found.filter_map(line_starting_at).collect()
    }

    /// Returns the complete text.
    pub(crate) fn as_str(&self) -> &str {
        &self.content
    }

    /// Strips the byte order mark from a replacement for the whole text, if this text has one already.
    pub(crate) fn strip_repeated_bom<'b>(&self, content: &'b str) -> &'b str {
        content.strip_prefix(BOM).filter(|_| self.has_bom).unwrap_or(content)
    }

    /// Returns true if the text begins with a byte order mark.
    pub(crate) fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// Strips byte order marks from a text to replace and its replacement. The mark belongs to the file.
    pub(crate) fn strip_bom_pair<'b>(&self, old: &'b str, new: &'b str) -> (&'b str, &'b str) {
        match old.strip_prefix(BOM) {
            Some(old) => (old, new.strip_prefix(BOM).unwrap_or(new)),
            None => (old, self.strip_repeated_bom(new)),
        }
    }

    /// Returns the name of the encoding.
    pub(crate) fn encoding_name(&self) -> &'static str {
        match self.encoding {
            TextEncoding::Utf16 { little: true } => "UTF-16LE",
            TextEncoding::Utf16 { little: false } => "UTF-16BE",
            TextEncoding::Utf8WithInvalid(_) => invalid_utf8::ENCODING_NAME,
            TextEncoding::Other(encoding) => encoding.name(),
        }
    }

    /// Returns the line end of the first line. New lines use it if no neighbour has one.
    pub(crate) fn first_line_end(&self) -> &str {
        let ending = self.line_end(0);
        if ending.is_empty() { "\n" } else { ending }
    }

    /// Encodes `content` in this text's encoding.
    pub(crate) fn encode(&self, content: String) -> Result<Vec<u8>, TextCodecError> {
        let content = if self.has_bom { format!("{BOM}{content}") } else { content };
        match self.encoding {
            TextEncoding::Utf16 { little } => {
                let unit = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
                Ok(content.encode_utf16().flat_map(unit).collect())
            }
            TextEncoding::Utf8WithInvalid(share) => {
                let odd = match share {
                    InvalidByteShare::Few => invalid_utf8::find_surplus_char(
                        &self.content,
                        &content,
                        invalid_utf8::is_byte_placeholder,
                    ),
                    InvalidByteShare::Many => {
                        invalid_utf8::find_surplus_char(&self.content, &content, |char| {
                            !char.is_ascii() && char != BOM
                        })
                    }
                };
                odd.map_or_else(|| Ok(invalid_utf8::encode(&content)), |odd| Err(TextCodecError::Mixed(odd)))
            }
            TextEncoding::Other(encoding) if encoding == UTF_8 => Ok(content.into_bytes()),
            TextEncoding::Other(encoding) => {
                let (bytes, _, lost) = encoding.encode(&content);
                if !lost {
                    return Ok(bytes.into_owned());
                }
                let mut buffer = [0; 4];
                let odd = content.chars().find(|char| encoding.encode(char.encode_utf8(&mut buffer)).2);
                Err(TextCodecError::Unwritable(encoding.name(), odd.unwrap_or('?')))
            }
        }
    }
}

/// Strips a byte order mark from a line.
pub(crate) fn strip_bom(line: &str) -> &str {
    line.strip_prefix(BOM).unwrap_or(line)
}

fn decode(bytes: &[u8]) -> Result<(TextEncoding, Cow<'_, str>), TextCodecError> {
    if let Some(little) = bytes.get(..2).and_then(|mark| match mark {
        [0xff, 0xfe] => Some(true),
        [0xfe, 0xff] => Some(false),
        _ => None,
    }) {
        let name = if little { "UTF-16LE" } else { "UTF-16BE" };
        let pairs = bytes.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err(TextCodecError::Lossy(name));
        }
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
        };
        let decoded: Result<String, _> = char::decode_utf16(pairs.map(unit)).collect();
        let decoded = decoded.map_err(|_| TextCodecError::Lossy(name))?;
        return Ok((TextEncoding::Utf16 { little }, Cow::Owned(decoded)));
    }
    if memchr::memchr(0, bytes).is_some() {
        return Err(TextCodecError::Binary);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((TextEncoding::Other(UTF_8), Cow::Borrowed(text)));
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (non_ascii_count, invalid_count) = invalid_utf8::count_non_ascii_and_invalid(bytes);
    let few = non_ascii_count >= invalid_count;
    if non_ascii_count > 0 && (few || encoding.is_single_byte()) {
        let text = invalid_utf8::decode(bytes).ok_or(TextCodecError::Lossy(invalid_utf8::ENCODING_NAME))?;
        return Ok((
            TextEncoding::Utf8WithInvalid(if few { InvalidByteShare::Few } else { InvalidByteShare::Many }),
            Cow::Owned(text),
        ));
    }
    let (decoded, lost) = encoding.decode_without_bom_handling(bytes);
    let (back, _, unwritable) = encoding.encode(&decoded);
    if lost || unwritable || *back != *bytes {
        return Err(TextCodecError::Lossy(encoding.name()));
    }
    Ok((TextEncoding::Other(encoding), Cow::Owned(decoded.into_owned())))
}

/// Splits a text into lines. Lines end with `\n` or `\r\n`; with `\r` only in a file that has no `\n`.
fn split_lines(content: &str) -> Vec<LineRange> {
    let bytes = content.as_bytes();
    let newline = if memchr::memchr(b'\n', bytes).is_some() { b'\n' } else { b'\r' };
    let mut lines = Vec::with_capacity(bytes.len() / TYPICAL_LINE_BYTES + 1);
    let mut start = 0;
    for at in memchr::memchr_iter(newline, bytes) {
        let is_long = newline == b'\n' && at > start && bytes[at - 1] == b'\r';
        lines.push(start..at - usize::from(is_long));
        start = at + 1;
    }
    if start < bytes.len() {
        lines.push(start..bytes.len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_text_is_encoded_to_the_same_bytes() {
        let utf16 = |text: &str| -> Vec<u8> {
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        };
        let rows: Vec<(Vec<u8>, &[&str])> = vec![
            (b"".to_vec(), &[]),
            (b"\n".to_vec(), &[""]),
            (b"a".to_vec(), &["a"]),
            (b"a\nb\n".to_vec(), &["a", "b"]),
            (b"a\r\nb\nc\r\n".to_vec(), &["a", "b", "c"]),
            (b"a\rb\r".to_vec(), &["a", "b"]),
            (b"a\rb\n".to_vec(), &["a\rb"]),
            ("\u{feff}a\nb".as_bytes().to_vec(), &["a", "b"]),
            (b"caf\xe9 au lait, d\xe9j\xe0 vu\n".to_vec(), &["café au lait, déjà vu"]),
            (utf16("é\r\nb\n"), &["é", "b"]),
        ];
        for (bytes, lines) in rows {
            let text = DecodedText::from_bytes(&bytes).unwrap();
            assert_eq!(text.iter().collect::<Vec<_>>(), lines);
            let whole: String =
                (0..text.len()).map(|at| text.line(at).to_owned() + text.line_end(at)).collect();
            assert_eq!(text.encode(whole).unwrap(), bytes);
        }
    }

    #[test]
    fn text_that_would_not_round_trip_is_refused() {
        assert_eq!(DecodedText::from_bytes(b"a\0b").unwrap_err(), TextCodecError::Binary);
        assert_eq!(DecodedText::from_bytes(b"\xff\xfea").unwrap_err(), TextCodecError::Lossy("UTF-16LE"));
        let latin = DecodedText::from_bytes(b"caf\xe9 au lait, d\xe9j\xe0 vu\n").unwrap();
        assert_eq!(latin.encode("語".to_owned()), Err(TextCodecError::Unwritable("windows-1252", '語')));
    }
}
