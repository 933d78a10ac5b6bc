//! Decodes the bytes of a terminal into line-editing keys.

const ESCAPE: u8 = 0x1b;
/// A terminal sends pasted text between these sequences.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A decoded key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineEditKey {
    Text(String),
    Enter,
    /// Deletes a character, a word, or the line.
    DeleteChar,
    DeleteWord,
    DeleteLine,
    /// Ctrl-D.
    EndOfInput,
    Escape,
}

/// Decodes keys, and holds the bytes of an incomplete one.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    bytes: Vec<u8>,
    pasting: bool,
}

impl KeyDecoder {
    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns true if bytes are left, which may be the start of a key.
    pub(super) fn has_pending(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Decodes the available keys. With `last`, no more bytes follow for now, so a lone ESC is the Escape
    /// key.
    pub(super) fn decode(&mut self, last: bool) -> Vec<LineEditKey> {
        let mut keys = Vec::new();
        // ends: each round takes bytes, or there are too few
        while let Some(taken) = self.decode_next(&mut keys, last) {
            self.bytes.drain(..taken);
        }
        keys
    }

    /// Decodes the next key and returns its length in bytes, or `None` if it is incomplete.
    fn decode_next(&mut self, keys: &mut Vec<LineEditKey>, last: bool) -> Option<usize> {
        let bytes = self.bytes.as_slice();
        if self.pasting {
            let end = bytes.windows(PASTE_END.len()).position(|part| part == PASTE_END);
            self.pasting = end.is_none();
            let until = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len()));
            let text = String::from_utf8_lossy(&bytes[..until]).replace("\r\n", "\n").replace('\r', "\n");
            if !text.is_empty() {
                keys.push(LineEditKey::Text(text));
            }
            let taken = end.map_or(until, |end| end + PASTE_END.len());
            return (taken > 0).then_some(taken);
        }
        match bytes {
            [] => None,
            [ESCAPE] if last => {
                keys.push(LineEditKey::Escape);
                Some(1)
            }
            [ESCAPE] => None,
            [ESCAPE, b'[' | b'O', rest @ ..] => {
                let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)).map(|end| end + 3);
                self.pasting = end.is_some_and(|end| &bytes[..end] == PASTE_START);
                end.or(last.then_some(bytes.len()))
            }
            // Alt with a key: ignored.
            [ESCAPE, _, ..] => Some(2),
            [byte, ..] if byte.is_ascii_control() => {
                keys.extend(control_key(*byte));
                Some(1)
            }
            bytes => decode_text(bytes, keys, last),
        }
    }
}

fn control_key(byte: u8) -> Option<LineEditKey> {
    match byte {
        b'\r' | b'\n' => Some(LineEditKey::Enter),
        0x7f | 0x08 => Some(LineEditKey::DeleteChar),
        b'\t' => Some(LineEditKey::Text(" ".to_owned())),
        0x17 => Some(LineEditKey::DeleteWord),
        0x15 => Some(LineEditKey::DeleteLine),
        0x04 => Some(LineEditKey::EndOfInput),
        _ => None,
    }
}

/// Takes complete characters up to the next control byte.
fn decode_text(bytes: &[u8], keys: &mut Vec<LineEditKey>, last: bool) -> Option<usize> {
    let end = bytes.iter().position(u8::is_ascii_control).unwrap_or(bytes.len());
    let whole = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => text.len(),
        // The rest of the character may still arrive.
        Err(error) if error.error_len().is_none() && end == bytes.len() && !last => error.valid_up_to(),
        Err(_) => end,
    };
    if whole > 0 {
        keys.push(LineEditKey::Text(String::from_utf8_lossy(&bytes[..whole]).into_owned()));
    }
    (whole > 0).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> Vec<LineEditKey> {
        let mut keyboard = KeyDecoder::default();
        let mut keys = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            keyboard.push(piece);
            keys.extend(keyboard.decode(at + 1 == pieces.len()));
        }
        assert!(!keyboard.has_pending(), "{keyboard:?}");
        keys
    }

    #[test]
    fn terminal_bytes_are_decoded_into_keys() {
        let text = |text: &str| LineEditKey::Text(text.to_owned());
        let rows: &[(&[&[u8]], &[LineEditKey])] = &[
            (&[b"ab\r"], &[text("ab"), LineEditKey::Enter]),
            (&[b"\x1b"], &[LineEditKey::Escape]),
            (&[b"\x1b", b"[A"], &[]),
            (&[b"\x1b[A\x1bOPx"], &[text("x")]),
            (&[b"\x1b[1;5"], &[]),
            (&[b"\x1ba"], &[]),
            (&["é".as_bytes()], &[text("é")]),
            (&[b"\xc3", b"\xa9"], &[text("é")]),
            (&[b"\xff"], &[text("\u{fffd}")]),
            (
                &[b"a\x7f\x17\x15\x04"],
                &[
                    text("a"),
                    LineEditKey::DeleteChar,
                    LineEditKey::DeleteWord,
                    LineEditKey::DeleteLine,
                    LineEditKey::EndOfInput,
                ],
            ),
            (&[b"\x1b[200~one\rtwo\x1b[201~\r"], &[text("one\ntwo"), LineEditKey::Enter]),
            (&[b"\x1b[200~one two th", b"ree\x1b[20", b"1~!"], &[text("one two"), text(" three"), text("!")]),
        ];
        for (pieces, keys) in rows {
            let (got, keys) = (typed(pieces), keys.to_vec());
            // The test ignores the boundaries between pieces of text.
            let whole = |keys: &[LineEditKey]| {
                keys.iter().fold(String::new(), |all, key| match key {
                    LineEditKey::Text(text) => all + text,
                    key => format!("{all}<{key:?}>"),
                })
            };
            assert_eq!(whole(&got), whole(&keys), "{pieces:?}");
        }
    }

    #[test]
    fn every_byte_sequence_is_consumed() {
        proptest::proptest!(|(pieces: Vec<Vec<u8>>)| {
            let mut keyboard = KeyDecoder::default();
            for piece in &pieces {
                keyboard.push(piece);
                keyboard.decode(false);
            }
            keyboard.decode(true);
            proptest::prop_assert!(keyboard.pasting || !keyboard.has_pending());
        });
    }
}
