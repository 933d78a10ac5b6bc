//! Decodes UTF-8 with invalid bytes: each becomes a placeholder character and is written back unchanged.

use std::collections::HashMap;

/// The name of this encoding.
pub(crate) const ENCODING_NAME: &str = "UTF-8 with other bytes in it";
/// The placeholder for byte 0. Placeholders are the last 256 code points, in the last private-use plane.
const FIRST_PLACEHOLDER: u32 = 0x0010_ff00;

/// Counts the characters of more than one byte, and the bytes that belong to no character.
pub(crate) fn count_non_ascii_and_invalid(bytes: &[u8]) -> (usize, usize) {
    let (mut non_ascii_count, mut invalid_count) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        non_ascii_count += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
        invalid_count += chunk.invalid().len();
    }
    (non_ascii_count, invalid_count)
}

/// Decodes the bytes; `None` if the text already contains placeholder characters.
pub(crate) fn decode(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len() + 64);
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(is_byte_placeholder) {
            return None;
        }
        text.push_str(chunk.valid());
        text.extend(
            chunk.invalid().iter().filter_map(|byte| char::from_u32(FIRST_PLACEHOLDER + u32::from(*byte))),
        );
    }
    Some(text)
}

/// Encodes a text.
pub(crate) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for char in text.chars() {
        match u8::try_from(u32::from(char).wrapping_sub(FIRST_PLACEHOLDER)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(char.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    bytes
}

/// Returns true if a character is a placeholder for a byte.
pub(crate) fn is_byte_placeholder(char: char) -> bool {
    u32::from(char) >= FIRST_PLACEHOLDER
}

/// Returns a character of `after` that satisfies `is` and occurs more often than in `before`.
pub(crate) fn find_surplus_char(before: &str, after: &str, is: impl Fn(char) -> bool) -> Option<char> {
    let mut unused: HashMap<char, usize> = HashMap::new();
    for char in before.chars().filter(|char| is(*char)) {
        *unused.entry(char).or_default() += 1;
    }
    after.chars().filter(|char| is(*char)).find(|char| match unused.get_mut(char) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        Some(_) | None => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_round_trips() {
        for bytes in [&b"Gr\xc3\xb6\xc3\x9fe\nbad \xe9\n"[..], b"\xff\x80\xc3", b"plain", b"\xf4\x90\x80\x80"]
        {
            assert_eq!(encode(&decode(bytes).unwrap()), bytes);
        }
        assert_eq!(decode("\u{10ff80}\u{e9}".as_bytes()), None);
        assert_eq!(count_non_ascii_and_invalid(b"Gr\xc3\xb6\xc3\x9fe bad \xe9 "), (2, 1));
    }

    #[test]
    fn a_character_that_becomes_more_frequent_is_found() {
        let rows = [("aé", "éa", None), ("é", "éé", Some('é')), ("", "a", None), ("", "ö", Some('ö'))];
        for (before, after, expected) in rows {
            assert_eq!(
                find_surplus_char(before, after, |char| !char.is_ascii()),
                expected,
                "{before} {after}"
            );
        }
    }
}
