//! Finds secrets by their format alone: service tokens, key ids, private keys.

use std::ops::Range;

/// Minimum length of a base64 run in a private key.
const MIN_KEY_RUN_BYTES: usize = 32;
/// Maximum bytes of a private key.
const MAX_PRIVATE_KEY_BYTES: usize = 16 << 10;
const MAX_PEM_HEADER_BYTES: usize = 80;
/// Distance after its id within which an AWS secret key is searched.
const AWS_SECRET_SEARCH_BYTES: usize = 256;

/// The format of tokens with a fixed prefix.
pub(super) struct TokenFormat {
    pub(super) label: &'static str,
    /// The characters of the token.
    accepts_byte: fn(u8) -> bool,
    /// Minimum number of characters after the prefix.
    min_length: usize,
    /// Returns whether these characters are a token rather than a name.
    is_token: fn(&[u8]) -> bool,
}

pub(super) const OPENAI: TokenFormat =
    TokenFormat { label: "API key", accepts_byte: is_word_byte, min_length: 20, is_token: is_random };
pub(super) const GITHUB: TokenFormat =
    TokenFormat { label: "GitHub token", accepts_byte: is_alphanumeric, min_length: 30, is_token: has_digit };
pub(super) const GITHUB_FINE: TokenFormat =
    TokenFormat { label: "GitHub token", accepts_byte: is_word_byte, min_length: 40, is_token: has_digit };
pub(super) const GITLAB: TokenFormat =
    TokenFormat { label: "GitLab token", accepts_byte: is_word_byte, min_length: 20, is_token: has_digit };
pub(super) const GOOGLE: TokenFormat =
    TokenFormat { label: "API key", accepts_byte: is_word_byte, min_length: 35, is_token: has_digit };
pub(super) const SLACK: TokenFormat =
    TokenFormat { label: "Slack token", accepts_byte: is_word_byte, min_length: 10, is_token: has_digit };

impl TokenFormat {
    /// Returns the range of the token whose prefix is at `word`.
    pub(super) fn match_at(&self, text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        if !is_word_start(text, word.start) {
            return None;
        }
        let rest = &text[word.end..];
        let length = rest.iter().take_while(|byte| (self.accepts_byte)(**byte)).count();
        (length >= self.min_length && (self.is_token)(&rest[..length])).then(|| word.start..word.end + length)
    }
}

/// Returns the range of an AWS key id: twenty capitals and digits.
pub(super) fn aws_key_id(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    const KEY_ID_SUFFIX_LENGTH: usize = 16;
    let rest = &text[word.end..];
    let length = rest
        .iter()
        .take(KEY_ID_SUFFIX_LENGTH)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        .count();
    let ends = rest.get(length).is_none_or(|byte| !is_word_byte(*byte));
    (is_word_start(text, word.start) && ends && length == KEY_ID_SUFFIX_LENGTH)
        .then(|| word.start..word.end + length)
}

/// Returns the range of the AWS secret key after its id: forty base64 characters that are not a hash.
pub(super) fn aws_secret_key(text: &[u8], after: usize) -> Option<Range<usize>> {
    let window = &text[after..text.len().min(after + AWS_SECRET_SEARCH_BYTES)];
    let mut at = 0;
    // ends: `at` only climbs
    while at < window.len() {
        let length = window[at..].iter().take_while(|byte| is_base64(**byte)).count();
        let run = &window[at..at + length];
        let is_hash = run.iter().all(u8::is_ascii_hexdigit);
        // The run may continue behind the window.
        if length == 40 && !is_hash && text.get(after + at + length).is_none_or(|byte| !is_base64(*byte)) {
            return Some(after + at..after + at + length);
        }
        at += length + 1;
    }
    None
}

/// Returns the range of a JSON Web Token: three parts, of which two begin with `{"`.
pub(super) fn jwt(text: &[u8], start: usize) -> Option<Range<usize>> {
    const MIN_PART_LENGTH: usize = 8;
    if !is_word_start(text, start) {
        return None;
    }
    let part = |at: usize| text[at..].iter().take_while(|byte| is_word_byte(**byte)).count();
    let head = part(start);
    let claims_at = start + head + 1;
    let is_dotted = text.get(claims_at - 1) == Some(&b'.') && text[claims_at..].starts_with(b"eyJ");
    if head < MIN_PART_LENGTH || !is_dotted {
        return None;
    }
    let claims = part(claims_at);
    let proof_at = claims_at + claims + 1;
    if claims < MIN_PART_LENGTH || text.get(proof_at - 1) != Some(&b'.') {
        return None;
    }
    Some(start..proof_at + part(proof_at))
}

/// Returns the range of an armoured private key, from its first line to its last. Without a last line, the range ends
/// with the key data. Line numbers, diff marks and quotes may stand between.
pub(super) fn private_key(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let header = &text[word.end..text.len().min(word.end + MAX_PEM_HEADER_BYTES)];
    let label = &header[..find_bytes(header, b"-----")?];
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let body_at = word.end + label.len() + b"-----".len();
    let body = &text[body_at..text.len().min(body_at + MAX_PRIVATE_KEY_BYTES)];
    let body = &body[..find_bytes(body, b"-----BEGIN ").unwrap_or(body.len())];
    let (length, end) = match find_bytes(body, b"-----END ") {
        Some(at) => (at, footer_end(body, at)),
        None => {
            let is_key =
                |byte: &&u8| is_base64(**byte) || byte.is_ascii_whitespace() || b"|:,-".contains(byte);
            let length = body.iter().take_while(is_key).count();
            (length, length)
        }
    };
    let mut lines = body[..length].split(|byte| !is_base64(*byte));
    lines.any(|line| line.len() >= MIN_KEY_RUN_BYTES).then(|| word.start..body_at + end)
}

/// Returns the end of the line `-----END … KEY-----` that begins at `at`.
fn footer_end(body: &[u8], at: usize) -> usize {
    let label_at = at + b"-----END ".len();
    let rest = &body[label_at..body.len().min(label_at + MAX_PEM_HEADER_BYTES)];
    find_bytes(rest, b"-----").map_or(label_at, |dashes| label_at + dashes + b"-----".len())
}

fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// Returns whether a word begins at `at`.
fn is_word_start(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| text.get(before)).is_none_or(|byte| !is_word_byte(*byte))
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn has_digit(letters: &[u8]) -> bool {
    letters.iter().any(u8::is_ascii_digit)
}

/// Returns whether the characters look random: a long part with digits among its letters, or mixed case with digits.
fn is_random(letters: &[u8]) -> bool {
    let is_mixed = |part: &[u8]| has_digit(part) && part.iter().any(u8::is_ascii_alphabetic);
    let has_both_cases =
        letters.iter().any(u8::is_ascii_uppercase) && letters.iter().any(u8::is_ascii_lowercase);
    let mut parts = letters.split(|byte| *byte == b'-' || *byte == b'_');
    parts.any(|part| part.len() >= 16 && is_mixed(part)) || (is_mixed(letters) && has_both_cases)
}
