//! Limits of one JSON message (size, values, depth, encoding), checked byte by byte before parsing.
//!
//! Parsed values would cost a hundred times as much.

/// Maximum bytes of one message.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Maximum number of objects, lists and their members.
const MAX_VALUES: usize = 250_000;
/// Maximum nesting depth; a deeper message cannot be parsed.
const MAX_DEPTH: usize = 127;
/// The error code of the response that replaces an unread message.
pub(crate) const UNREAD_MESSAGE_CODE: i32 = -32_768;

/// The reason why a message is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonExcess {
    #[error("it answers with more than {} MiB at once", MAX_MESSAGE_BYTES >> 20)]
    Long,
    #[error("it answers with more than {MAX_VALUES} values at once")]
    Many,
    #[error("its answer is nested more than {MAX_DEPTH} levels deep")]
    Deep,
    #[error("its answer is not UTF-8")]
    Bytes,
    #[error("its answer contains a lone surrogate")]
    Half,
    #[error("it sends several messages at once, which the protocol does not allow")]
    Batch,
}

/// Checks a complete message.
pub(crate) fn check_message(message: &[u8]) -> Result<(), JsonExcess> {
    let mut meter = JsonMeter::default();
    message.iter().try_for_each(|byte| meter.push_byte(*byte))
}

/// Incremental state of the check.
#[derive(Default)]
pub(crate) struct JsonMeter {
    start: MessageStart,
    bytes: usize,
    values: usize,
    depth: usize,
    in_string: bool,
    escape: EscapeState,
    /// A high surrogate was escaped, so a low one must follow.
    expects_low_surrogate: bool,
    utf8: Utf8Sequence,
}

/// The beginning of a message.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum MessageStart {
    #[default]
    Empty,
    /// A bracket and nothing after it.
    List,
    /// A JSON-RPC message.
    Message,
    /// No JSON-RPC message: the reader skips it.
    NotMessage,
}

/// The position in an escape sequence.
#[derive(Default, Clone, Copy)]
enum EscapeState {
    #[default]
    Outside,
    Begun,
    /// The number of hexadecimal digits so far, and their value.
    Digits(u8, u32),
}

/// The bytes that must follow in a UTF-8 sequence: their number, and the range of the next one.
#[derive(Default, Clone, Copy)]
struct Utf8Sequence {
    left: u8,
    from: u8,
    to: u8,
}

impl JsonMeter {
    /// Checks the next byte. Input that does not begin like a message is not limited.
    pub(crate) fn push_byte(&mut self, byte: u8) -> Result<(), JsonExcess> {
        self.classify_start(byte)?;
        if matches!(self.start, MessageStart::Empty | MessageStart::NotMessage) {
            return Ok(());
        }
        self.bytes += 1;
        if self.bytes > MAX_MESSAGE_BYTES {
            return Err(JsonExcess::Long);
        }
        if !self.utf8.accept_byte(byte) {
            return Err(JsonExcess::Bytes);
        }
        if self.in_string { self.check_string_byte(byte) } else { self.count_structure(byte) }
    }

    fn classify_start(&mut self, byte: u8) -> Result<(), JsonExcess> {
        self.start = match (self.start, byte) {
            (MessageStart::Empty | MessageStart::List, b' ' | b'\t' | b'\r' | b'\n') => self.start,
            (MessageStart::Empty, b'{') => MessageStart::Message,
            (MessageStart::Empty, b'[') => MessageStart::List,
            (MessageStart::List, b'{') => return Err(JsonExcess::Batch),
            (MessageStart::List | MessageStart::Message, _) => MessageStart::Message,
            (MessageStart::Empty | MessageStart::NotMessage, _) => MessageStart::NotMessage,
        };
        Ok(())
    }

    fn count_structure(&mut self, byte: u8) -> Result<(), JsonExcess> {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => (self.values, self.depth) = (self.values + 1, self.depth + 1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' => self.values += 1,
            _ => {}
        }
        if self.depth > MAX_DEPTH {
            return Err(JsonExcess::Deep);
        }
        if self.values > MAX_VALUES { Err(JsonExcess::Many) } else { Ok(()) }
    }

    fn check_string_byte(&mut self, byte: u8) -> Result<(), JsonExcess> {
        self.escape = match (self.escape, byte) {
            (EscapeState::Outside, b'\\') => EscapeState::Begun,
            (EscapeState::Begun, b'u') => EscapeState::Digits(0, 0),
            (EscapeState::Outside | EscapeState::Begun, _) if self.expects_low_surrogate => {
                return Err(JsonExcess::Half);
            }
            (EscapeState::Outside, b'"') => {
                self.in_string = false;
                EscapeState::Outside
            }
            (EscapeState::Outside | EscapeState::Begun, _) => EscapeState::Outside,
            (EscapeState::Digits(3, worth), digit) => {
                self.check_surrogate(worth * 16 + hex_value(digit))?;
                EscapeState::Outside
            }
            (EscapeState::Digits(seen, worth), digit) => {
                EscapeState::Digits(seen + 1, worth * 16 + hex_value(digit))
            }
        };
        Ok(())
    }

    /// Checks an escaped code unit for unpaired surrogates.
    fn check_surrogate(&mut self, escaped: u32) -> Result<(), JsonExcess> {
        let (first, second) = ((0xD800..0xDC00).contains(&escaped), (0xDC00..0xE000).contains(&escaped));
        if self.expects_low_surrogate != second {
            return Err(JsonExcess::Half);
        }
        self.expects_low_surrogate = first;
        Ok(())
    }
}

/// Returns the value of a hexadecimal digit. The parser rejects invalid digits.
fn hex_value(digit: u8) -> u32 {
    char::from(digit).to_digit(16).unwrap_or_default()
}

impl Utf8Sequence {
    /// Returns whether the byte is valid here.
    fn accept_byte(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let fits = (self.from..=self.to).contains(&byte);
            *self = Self { left: self.left - 1, from: 0x80, to: 0xBF };
            return fits;
        }
        let (left, from, to) = match byte {
            0..=0x7F => return true,
            0xC2..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xE1..=0xEF => (2, 0x80, 0xBF),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            _ => return false,
        };
        *self = Self { left, from, to };
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn oversized_messages_are_rejected_before_parsing() {
        let deep = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
        let many = |values: usize| [b"[0".to_vec(), b",0".repeat(values - 1), b"]".to_vec()].concat();
        let long = |bytes: usize| [b"{\"".to_vec(), b"x".repeat(bytes - 2)].concat();
        let rows: Vec<(&str, Vec<u8>, Result<(), JsonExcess>)> = vec![
            ("as deep as may be", deep(MAX_DEPTH), Ok(())),
            ("deeper", deep(MAX_DEPTH + 1), Err(JsonExcess::Deep)),
            ("as many as may be", many(MAX_VALUES), Ok(())),
            ("more", many(MAX_VALUES + 1), Err(JsonExcess::Many)),
            ("as long as may be", long(MAX_MESSAGE_BYTES), Ok(())),
            ("longer", long(MAX_MESSAGE_BYTES + 1), Err(JsonExcess::Long)),
            ("brackets in a text", [b"{\"a\\\"".to_vec(), b"[,{".repeat(200_000)].concat(), Ok(())),
            ("words", [b"x".to_vec(), b"[".repeat(200)].concat(), Ok(())),
            ("noise that is no text", b"\xff\xfe[[[".to_vec(), Ok(())),
            ("a message that is no text", b"{\"a\": \"\xff\"}".to_vec(), Err(JsonExcess::Bytes)),
            ("half a letter", b"{\"a\": \"\xc3\"}".to_vec(), Err(JsonExcess::Bytes)),
            ("a pair", br#"{"a": "\ud83d\ude00"}"#.to_vec(), Ok(())),
            ("its first half", br#"{"a": "\ud83d"}"#.to_vec(), Err(JsonExcess::Half)),
            ("its first half and a word", br#"{"a": "\ud83dx"}"#.to_vec(), Err(JsonExcess::Half)),
            ("its first half and a line", br#"{"a": "\ud83d\n"}"#.to_vec(), Err(JsonExcess::Half)),
            ("its second half", br#"{"a": "\ude00"}"#.to_vec(), Err(JsonExcess::Half)),
            ("no escape", br#"{"a": "\\ude00"}"#.to_vec(), Ok(())),
            ("several at once", b" [ {}]".to_vec(), Err(JsonExcess::Batch)),
            ("none at once", b"[]".to_vec(), Ok(())),
        ];
        for (name, message, expected) in rows {
            assert_eq!(check_message(&message), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_text_is_what_the_language_takes_for_text(bytes: Vec<u8>, text in any::<String>()) {
            let message = [b"{\"", &bytes[..], b" "].concat();
            if std::str::from_utf8(&message).is_err() {
                assert!(check_message(&message).is_err());
            }
            let json = serde_json::to_vec(&serde_json::json!({ "a": text })).unwrap();
            assert_eq!(check_message(&json), Ok(()));
        }
    }
}
