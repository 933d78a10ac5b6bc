//! Detects the encoding of a file and decodes its lines.

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::line_window::LineCut;

/// The number of bytes at the head of a file that decide its kind.
pub(crate) const HEAD_BYTES: usize = 8 << 10;

/// The kind of a file's content, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// Text whose lines end in the byte `\n`.
    Text,
    /// UTF-16 with a byte order mark; it is decoded while reading.
    Utf16(&'static Encoding),
    /// Not text.
    Binary,
}

/// Detects the content kind from the head of a file.
pub(crate) fn detect_content(head: &[u8]) -> ContentKind {
    match Encoding::for_bom(head) {
        // UTF-32; its byte order mark begins like that of UTF-16.
        _ if head.starts_with(b"\xff\xfe\0\0") => ContentKind::Binary,
        Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => ContentKind::Utf16(encoding),
        Some(_) => ContentKind::Text,
        None if memchr::memchr(0, head).is_some() => ContentKind::Binary,
        None => ContentKind::Text,
    }
}

/// Returns the encoding of the lines of a window: UTF-8 if they are valid, else the best guess.
pub(crate) fn guess_encoding<'a>(
    lines: impl Iterator<Item = (&'a [u8], LineCut)> + Clone,
) -> &'static Encoding {
    // A truncated line may end inside a character.
    let is_utf8 = |(line, cut): (&[u8], LineCut)| match std::str::from_utf8(line) {
        Ok(_) => true,
        Err(error) => cut == LineCut::Yes && error.error_len().is_none(),
    };
    if lines.clone().all(is_utf8) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    for (line, _) in lines {
        detector.feed(line, false);
        detector.feed(b"\n", false);
    }
    detector.feed(b"", true);
    detector.guess(None, chardetng::Utf8Detection::Deny)
}

/// Decodes one line. Invalid bytes become U+FFFD; a NUL, which some model APIs reject, becomes `␀`.
pub(crate) fn decode_line(line: &[u8], encoding: &'static Encoding) -> String {
    let (text, _) = encoding.decode_without_bom_handling(line);
    if text.contains('\0') { text.replace('\0', "␀") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_bytes_decide_the_content_kind() {
        for (head, expected) in [
            (&b""[..], ContentKind::Text),
            (b"plain", ContentKind::Text),
            (b"\xef\xbb\xbfbom", ContentKind::Text),
            (b"\xff\xfea\0", ContentKind::Utf16(UTF_16LE)),
            (b"\xfe\xff\0a", ContentKind::Utf16(UTF_16BE)),
            (b"\xff\xfe\0\0a\0\0\0", ContentKind::Binary),
            (b"\x7fELF\0\0", ContentKind::Binary),
        ] {
            assert_eq!(detect_content(head), expected, "{head:?}");
        }
    }

    #[test]
    fn encoding_is_guessed_from_lines() {
        let name = |line: &[u8]| guess_encoding([(line, LineCut::No)].into_iter()).name();
        assert_eq!(name("naïve".as_bytes()), "UTF-8");
        assert_eq!(name(b"Le caf\xe9 est tr\xe8s bon, d\xe9j\xe0 vu"), "windows-1252");
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("これは日本語のテキストです。漢字も含みます。");
        assert_eq!(name(&japanese), "Shift_JIS");
        assert_eq!(
            decode_line(b"caf\xe9", guess_encoding([(&b"caf\xe9 d\xe9j\xe0"[..], LineCut::No)].into_iter())),
            "café"
        );
        let cut = &"漢字".as_bytes()[..5];
        assert_eq!(guess_encoding([(cut, LineCut::Yes)].into_iter()).name(), "UTF-8");
        assert_ne!(guess_encoding([(cut, LineCut::No)].into_iter()).name(), "UTF-8");
    }
}
