//! Decodes the bytes of a terminal into line-editing keys.

const ESCAPE: u8 = 0x1b;
/// A terminal sends pasted text between these sequences.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A decoded key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineEditKey {
    /// Typed or pasted text.
    Text(String),
    /// Enter: submits the text.
    Enter,
    /// A line break within the input: Alt-Enter, or Shift-Enter where the terminal reports it.
    LineBreak,
    /// Tab: completes the word before the cursor.
    Tab,
    /// Deletes the character before the cursor.
    Backspace,
    /// Deletes the character under the cursor.
    Delete,
    /// Ctrl-W and Alt-Backspace: delete the word before the cursor.
    DeleteWordBefore,
    /// Alt-D: deletes the word after the cursor.
    DeleteWordAfter,
    /// Ctrl-U: deletes to the start of the line.
    DeleteToStart,
    /// Ctrl-K: deletes to the end of the line.
    DeleteToEnd,
    /// Ctrl-Y: inserts the text that was deleted last.
    Yank,
    /// One character to the left.
    Left,
    /// One character to the right.
    Right,
    /// To the start of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// To the start of the line.
    Home,
    /// To the end of the line.
    End,
    /// The line above, or the earlier prompt.
    Up,
    /// The line below, or the later prompt.
    Down,
    /// Ctrl-R: finds an earlier prompt with the typed text.
    SearchHistory,
    /// Ctrl-G: leaves the search in earlier prompts.
    LeaveSearch,
    /// Ctrl-D: deletes a character, or ends the input on an empty line.
    EndOfInput,
    /// Escape: clears the text, or stops the turn if there is none.
    Escape,
}

/// Decodes keys, and holds the bytes of an incomplete one.
#[derive(Debug, Default)]
pub struct KeyDecoder {
    bytes: Vec<u8>,
    pasting: bool,
}

impl KeyDecoder {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns true if bytes are left, which may be the start of a key.
    pub fn has_pending(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Returns true if more bytes belong, or may belong, to the last key or paste.
    pub fn is_within_key(&self) -> bool {
        self.pasting || self.has_pending()
    }

    /// Decodes the available keys. With `last`, no more bytes follow for now, so a lone ESC is the Escape
    /// key.
    pub fn decode(&mut self, last: bool) -> Vec<LineEditKey> {
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
                keys.extend(end.and_then(|end| sequence_key(&bytes[2..end])));
                end.or(last.then_some(bytes.len()))
            }
            [ESCAPE, key, ..] => {
                keys.extend(alt_key(*key));
                Some(2)
            }
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
        0x7f | 0x08 => Some(LineEditKey::Backspace),
        b'\t' => Some(LineEditKey::Tab),
        0x01 => Some(LineEditKey::Home),
        0x02 => Some(LineEditKey::Left),
        0x04 => Some(LineEditKey::EndOfInput),
        0x05 => Some(LineEditKey::End),
        0x06 => Some(LineEditKey::Right),
        0x07 => Some(LineEditKey::LeaveSearch),
        0x0b => Some(LineEditKey::DeleteToEnd),
        0x0e => Some(LineEditKey::Down),
        0x10 => Some(LineEditKey::Up),
        0x12 => Some(LineEditKey::SearchHistory),
        0x15 => Some(LineEditKey::DeleteToStart),
        0x17 => Some(LineEditKey::DeleteWordBefore),
        0x19 => Some(LineEditKey::Yank),
        _ => None,
    }
}

/// Returns the key of an escape sequence, without the `ESC [` or `ESC O` before it.
fn sequence_key(sequence: &[u8]) -> Option<LineEditKey> {
    match sequence {
        b"A" => Some(LineEditKey::Up),
        b"B" => Some(LineEditKey::Down),
        b"C" => Some(LineEditKey::Right),
        b"D" => Some(LineEditKey::Left),
        b"H" | b"1~" | b"7~" => Some(LineEditKey::Home),
        b"F" | b"4~" | b"8~" => Some(LineEditKey::End),
        b"3~" => Some(LineEditKey::Delete),
        b"1;3D" | b"1;5D" | b"5D" => Some(LineEditKey::WordLeft),
        b"1;3C" | b"1;5C" | b"5C" => Some(LineEditKey::WordRight),
        b"3;3~" | b"3;5~" => Some(LineEditKey::DeleteWordAfter),
        b"13;2u" | b"13;3u" | b"27;2;13~" => Some(LineEditKey::LineBreak),
        _ => None,
    }
}

/// Returns the meaning of Alt with a key.
fn alt_key(byte: u8) -> Option<LineEditKey> {
    match byte {
        b'\r' | b'\n' => Some(LineEditKey::LineBreak),
        b'b' => Some(LineEditKey::WordLeft),
        b'f' => Some(LineEditKey::WordRight),
        b'd' => Some(LineEditKey::DeleteWordAfter),
        0x7f | 0x08 => Some(LineEditKey::DeleteWordBefore),
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
            (&[b"\x1b", b"[A"], &[LineEditKey::Up]),
            (&[b"\x1b[5~\x1bOPx"], &[text("x")]),
            (&[b"\x1b[1;5"], &[]),
            (&[b"\x1ba"], &[]),
            (
                &[b"\x1bOD\x1b[1;5C\x1bb\x1b[3~\x1b\r\x1b[13;2u\t\x0b"],
                &[
                    LineEditKey::Left,
                    LineEditKey::WordRight,
                    LineEditKey::WordLeft,
                    LineEditKey::Delete,
                    LineEditKey::LineBreak,
                    LineEditKey::LineBreak,
                    LineEditKey::Tab,
                    LineEditKey::DeleteToEnd,
                ],
            ),
            (&["é".as_bytes()], &[text("é")]),
            (&[b"\xc3", b"\xa9"], &[text("é")]),
            (&[b"\xff"], &[text("\u{fffd}")]),
            (
                &[b"a\x7f\x17\x15\x04"],
                &[
                    text("a"),
                    LineEditKey::Backspace,
                    LineEditKey::DeleteWordBefore,
                    LineEditKey::DeleteToStart,
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
