//! Secrets that are known by their form alone: tokens of services, key ids, private keys.

use std::ops::Range;

/// A line of a private key, or more.
const KEY_RUN: usize = 32;
/// Bytes of a private key; longer ones are none.
const MAX_KEY: usize = 16 << 10;
const MAX_HEADER: usize = 80;
/// How far after its id a key of AWS is looked for.
const AWS_REACH: usize = 256;

/// Tokens that begin with a word.
pub(super) struct Shape {
    pub(super) label: &'static str,
    /// What they are made of.
    letters: fn(u8) -> bool,
    /// How many letters follow the word, at least.
    least: usize,
    /// Whether those could be of a token, and not of a name.
    is_token: fn(&[u8]) -> bool,
}

pub(super) const OPENAI: Shape = Shape { label: "API key", letters: is_word, least: 20, is_token: is_random };
pub(super) const GITHUB: Shape =
    Shape { label: "GitHub token", letters: is_alphanumeric, least: 30, is_token: has_digit };
pub(super) const GITHUB_FINE: Shape =
    Shape { label: "GitHub token", letters: is_word, least: 40, is_token: has_digit };
pub(super) const GITLAB: Shape =
    Shape { label: "GitLab token", letters: is_word, least: 20, is_token: has_digit };
pub(super) const GOOGLE: Shape = Shape { label: "API key", letters: is_word, least: 35, is_token: has_digit };
pub(super) const SLACK: Shape =
    Shape { label: "Slack token", letters: is_word, least: 10, is_token: has_digit };

impl Shape {
    /// The token that begins with the word at `word`.
    pub(super) fn at(&self, text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        if !begins(text, word.start) {
            return None;
        }
        let rest = &text[word.end..];
        let length = rest.iter().take_while(|byte| (self.letters)(**byte)).count();
        (length >= self.least && (self.is_token)(&rest[..length])).then(|| word.start..word.end + length)
    }
}

/// The id of a key of AWS: twenty capitals and digits.
pub(super) fn aws_id(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    const LENGTH: usize = 16;
    let rest = &text[word.end..];
    let length = rest
        .iter()
        .take(LENGTH)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        .count();
    let ends = rest.get(length).is_none_or(|byte| !is_word(*byte));
    (begins(text, word.start) && ends && length == LENGTH).then(|| word.start..word.end + length)
}

/// The key that stands after its id: forty letters of base64, which are no hash.
pub(super) fn aws_secret(text: &[u8], after: usize) -> Option<Range<usize>> {
    let window = &text[after..text.len().min(after + AWS_REACH)];
    let mut at = 0;
    // ends: `at` only climbs
    while at < window.len() {
        let length = window[at..].iter().take_while(|byte| is_base64(**byte)).count();
        let run = &window[at..at + length];
        let is_hash = run.iter().all(u8::is_ascii_hexdigit);
        // At the end of the window there may be more of it.
        if length == 40 && !is_hash && text.get(after + at + length).is_none_or(|byte| !is_base64(*byte)) {
            return Some(after + at..after + at + length);
        }
        at += length + 1;
    }
    None
}

/// A JSON Web Token: three parts, of which two begin with `{"`.
pub(super) fn jwt(text: &[u8], start: usize) -> Option<Range<usize>> {
    const LEAST: usize = 8;
    if !begins(text, start) {
        return None;
    }
    let part = |at: usize| text[at..].iter().take_while(|byte| is_word(**byte)).count();
    let head = part(start);
    let claims_at = start + head + 1;
    let is_dotted = text.get(claims_at - 1) == Some(&b'.') && text[claims_at..].starts_with(b"eyJ");
    if head < LEAST || !is_dotted {
        return None;
    }
    let claims = part(claims_at);
    let proof_at = claims_at + claims + 1;
    if claims < LEAST || text.get(proof_at - 1) != Some(&b'.') {
        return None;
    }
    Some(start..proof_at + part(proof_at))
}

/// A private key with its armour, from its first line to its last; or as far as it goes, if it has no last line. Line
/// numbers, marks of diffs and quotes may stand between.
pub(super) fn private_key(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let header = &text[word.end..text.len().min(word.end + MAX_HEADER)];
    let label = &header[..position(header, b"-----")?];
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let body_at = word.end + label.len() + b"-----".len();
    let body = &text[body_at..text.len().min(body_at + MAX_KEY)];
    let body = &body[..position(body, b"-----BEGIN ").unwrap_or(body.len())];
    let (length, end) = match position(body, b"-----END ") {
        Some(at) => (at, footer(body, at)),
        None => {
            let is_key =
                |byte: &&u8| is_base64(**byte) || byte.is_ascii_whitespace() || b"|:,-".contains(byte);
            let length = body.iter().take_while(is_key).count();
            (length, length)
        }
    };
    let mut lines = body[..length].split(|byte| !is_base64(*byte));
    lines.any(|line| line.len() >= KEY_RUN).then(|| word.start..body_at + end)
}

/// Where the line `-----END … KEY-----` ends, which begins at `at`.
fn footer(body: &[u8], at: usize) -> usize {
    let label_at = at + b"-----END ".len();
    let rest = &body[label_at..body.len().min(label_at + MAX_HEADER)];
    position(rest, b"-----").map_or(label_at, |dashes| label_at + dashes + b"-----".len())
}

fn position(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// Whether nothing stands before that would make it a part of a longer word.
fn begins(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| text.get(before)).is_none_or(|byte| !is_word(*byte))
}

fn is_word(byte: u8) -> bool {
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

/// Whether it has a part that is no word of a language: long, with digits among its letters.
fn is_random(letters: &[u8]) -> bool {
    let is_mixed = |part: &[u8]| has_digit(part) && part.iter().any(u8::is_ascii_alphabetic);
    let has_both_cases =
        letters.iter().any(u8::is_ascii_uppercase) && letters.iter().any(u8::is_ascii_lowercase);
    let mut parts = letters.split(|byte| *byte == b'-' || *byte == b'_');
    parts.any(|part| part.len() >= 16 && is_mixed(part)) || (is_mixed(letters) && has_both_cases)
}
