//! Finds the end of a JSON object in growing text, reading every byte once.

/// Scanner state: the bytes already read, and the nesting depth there.
#[derive(Debug, Default)]
pub(super) struct ObjectScanner {
    scanned_bytes: usize,
    depth: usize,
    state: JsonScanState,
    closed: bool,
}

/// The lexical state: outside strings, in a string, or after a backslash.
#[derive(Debug, Default, Clone, Copy)]
enum JsonScanState {
    #[default]
    Outside,
    String,
    Escape,
}

impl ObjectScanner {
    /// Returns whether the first bracket of `text` is closed. `text` may only have grown since the last call.
    pub(super) fn is_closed(&mut self, text: &str) -> bool {
        for byte in text.as_bytes().get(self.scanned_bytes..).unwrap_or_default() {
            self.scan_byte(*byte);
        }
        self.scanned_bytes = text.len();
        self.closed
    }

    fn scan_byte(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (JsonScanState::Outside, b'"') => JsonScanState::String,
            (JsonScanState::Outside, byte) => {
                match byte {
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.closed |= self.depth == 1;
                        self.depth = self.depth.saturating_sub(1);
                    }
                    _ => {}
                }
                JsonScanState::Outside
            }
            (JsonScanState::String, b'"') => JsonScanState::Outside,
            (JsonScanState::String, b'\\') => JsonScanState::Escape,
            (JsonScanState::String | JsonScanState::Escape, _) => JsonScanState::String,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_closed_by_its_own_brace() {
        for text in [r#"{}"#, r#" {"a": {"b": [1]}}"#, r#"{"a": "\"}"}"#, r#"{"a": "\\"}"#, r#"{"a": "ö}"} "#]
        {
            let mut scan = ObjectScanner::default();
            let closing = text.trim_end().len();
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                assert_eq!(scan.is_closed(&text[..end]), end >= closing, "{}", &text[..end]);
            }
        }
    }
}
