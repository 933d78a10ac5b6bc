//! Finds secrets by the name they are assigned to: `password = …`, `Authorization: …`, `://user:…@`.
//!
//! Source code contains `token: &str` and `password = input()`, which must stay unchanged. A value therefore counts as
//! a secret only if it looks like one. The weaker the evidence of its notation, the stricter the check of the value.

use std::ops::Range;

use super::non_secrets::{ValueNotation, is_code, is_placeholder, is_type_name};

/// Bytes of a value that are checked; the rest of a longer value is redacted with them.
const MAX_VALUE_BYTES: usize = 512;
const MAX_QUOTED_BYTES: usize = 1024;
/// Bytes of the name after the keyword that are checked.
const MAX_NAME_SUFFIX_BYTES: usize = 64;

/// The kind of name that a value is assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretNameKind {
    /// A name that only secrets have.
    Password,
    /// A name that other values have too, e.g. the tokens of a parser.
    Token,
}

impl SecretNameKind {
    /// Returns the label that replaces a secret of this kind.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Token => "secret",
        }
    }
}

/// Returns the range of the value that is assigned to the name around `word`.
pub(super) fn assigned_value(text: &[u8], word: Range<usize>, key: SecretNameKind) -> Option<Range<usize>> {
    let name_end = word.end + secret_suffix_len(&text[word.end..])?;
    let operator = AssignmentOperator::parse_after(text, name_end)?;
    match text.get(operator.end) {
        Some(quote @ (b'"' | b'\'' | b'`')) => quoted_secret(text, operator.end + 1, *quote, key),
        _ => unquoted_secret(text, word, key, &operator),
    }
}

/// Returns whether a JSON member is a secret, judged by its name and its text.
pub(super) fn is_secret_member(name: &str, text: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = [
        ("password", SecretNameKind::Password),
        ("passwd", SecretNameKind::Password),
        ("secret", SecretNameKind::Token),
    ];
    let words = words
        .into_iter()
        .chain(["token", "api_key", "api-key", "apikey"].map(|word| (word, SecretNameKind::Token)));
    let mut named = words.filter_map(|(word, key)| Some((lower.rfind(word)? + word.len(), key)));
    named.any(|(end, key)| {
        let is_name = secret_suffix_len(&lower.as_bytes()[end..]) == Some(lower.len() - end);
        is_name && is_secret(text.as_bytes(), ValueNotation::Quoted, key)
    })
}

/// Returns the range of the credentials after `Authorization`, without the scheme.
pub(super) fn authorization_credentials(text: &[u8], after: usize) -> Option<Range<usize>> {
    const SCHEMES: [&[u8]; 3] = [b"bearer", b"basic", b"token"];
    let operator = AssignmentOperator::parse_after(text, after)?;
    let at = operator.end
        + text.get(operator.end..)?.iter().take_while(|byte| b"\"'`".contains(byte)).take(1).count();
    let fits =
        |scheme: &&[u8]| text[at..].get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme));
    let scheme = SCHEMES.iter().find(|scheme| fits(scheme))?;
    let blanks = count_blanks(text, at + scheme.len());
    let start = at + scheme.len() + blanks;
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    let length = text[start..].iter().take_while(is_letter).count();
    (blanks > 0 && length >= 8).then(|| start..start + length)
}

/// Returns the range of the password of a URL; `after` is the position behind `://`.
pub(super) fn url_password(text: &[u8], after: usize) -> Option<Range<usize>> {
    const MAX_CREDENTIAL_BYTES: usize = 256;
    let is_letter = |byte: &&u8| !byte.is_ascii_whitespace() && !b"/\"'`<>\\?#".contains(byte);
    let user = text[after..]
        .iter()
        .take(MAX_CREDENTIAL_BYTES)
        .take_while(is_letter)
        .take_while(|byte| !b":@".contains(byte))
        .count();
    let start = after + user + 1;
    if text.get(start - 1) != Some(&b':') {
        return None;
    }
    let length = text[start..].iter().take(MAX_CREDENTIAL_BYTES).take_while(is_letter).count();
    let password = &text[start..start + length];
    // A password may contain `@`, so it extends to the last one.
    let password = &password[..password.iter().rposition(|byte| *byte == b'@')?];
    (!password.is_empty() && !is_placeholder(password)).then(|| start..start + password.len())
}

/// The assignment operator between a name and its value.
struct AssignmentOperator {
    end: usize,
    /// Set if the value directly follows an `=`, as in a shell or a URL.
    is_unspaced: bool,
}

impl AssignmentOperator {
    fn parse_after(text: &[u8], name_end: usize) -> Option<Self> {
        let mut at = name_end;
        at += usize::from(matches!(text.get(at), Some(b'"' | b'\'' | b'`')));
        let before = count_blanks(text, at);
        at += before;
        let length = match (text.get(at)?, text.get(at + 1)) {
            (b'=', Some(b'=' | b'~')) | (b':', Some(b':')) => return None,
            (b'=', Some(b'>')) | (b':', Some(b'=')) => 2,
            (b'=' | b':', _) => 1,
            _ => return None,
        };
        let after = count_blanks(text, at + length);
        let is_unspaced = text[at] == b'=' && length == 1 && before + after == 0 && at == name_end;
        Some(Self { end: at + length + after, is_unspaced })
    }
}

fn count_blanks(text: &[u8], at: usize) -> usize {
    const MAX_BLANKS: usize = 64;
    text.iter().skip(at).take(MAX_BLANKS).take_while(|byte| **byte == b' ' || **byte == b'\t').count()
}

/// Returns the length of a suffix that still makes the name a secret's name: not `tokens`, not `password_hash`.
fn secret_suffix_len(rest: &[u8]) -> Option<usize> {
    const SECRET_SUFFIXES: [&[u8]; 8] =
        [b"_key", b"key", b"_access_key", b"accesskey", b"_key_base", b"_value", b"-key", b"-access-key"];
    let length = rest
        .iter()
        .take(MAX_NAME_SUFFIX_BYTES)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
        .count();
    let end = &rest[..length];
    let is_number = end.iter().all(|byte| byte.is_ascii_digit() || *byte == b'_');
    (is_number || SECRET_SUFFIXES.iter().any(|known| end.eq_ignore_ascii_case(known))).then_some(length)
}

fn quoted_secret(text: &[u8], start: usize, quote: u8, key: SecretNameKind) -> Option<Range<usize>> {
    let rest = &text[start..text.len().min(start + MAX_QUOTED_BYTES)];
    let length = rest.iter().position(|byte| *byte == quote || *byte == b'\n')?;
    let is_closed = rest[length] == quote;
    (is_closed && is_secret(&rest[..length], ValueNotation::Quoted, key)).then(|| start..start + length)
}

fn unquoted_secret(
    text: &[u8],
    word: Range<usize>,
    key: SecretNameKind,
    operator: &AssignmentOperator,
) -> Option<Range<usize>> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>(){}[],;|&\\".contains(byte);
    let rest = &text[operator.end..];
    let length = rest.iter().take(MAX_VALUE_BYTES).take_while(|byte| !is_end(byte)).count();
    let (value, next) = (&rest[..length], rest.get(length).copied().unwrap_or(b'\n'));
    let is_upper_case = !text[word].iter().any(u8::is_ascii_lowercase);
    let notation = match (operator.is_unspaced, is_upper_case) {
        (true, true) => ValueNotation::UpperCase,
        (true, false) => ValueNotation::Unspaced,
        (false, _) => ValueNotation::Spaced,
    };
    // The value continues as a call, an index or a generic type.
    let goes_on = b"([{<\\".contains(&next);
    let ends_line = matches!(next, b'\n' | b'\r') || rest[length..].starts_with(b" #");
    let is_place = notation != ValueNotation::Spaced || ends_line;
    if goes_on || !is_place || !is_secret(value, notation, key) {
        return None;
    }
    let more = rest[length..].iter().take_while(|byte| !is_end(byte)).count();
    Some(operator.end..operator.end + length + more)
}

/// Returns whether a value is a secret rather than a word, an identifier or a piece of code.
fn is_secret(value: &[u8], notation: ValueNotation, key: SecretNameKind) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let has_sign = has(|byte| byte.is_ascii_punctuation() && !b"_-./".contains(byte));
    let is_long = value.len() >= 8;
    // A value with whitespace is a sentence.
    if is_placeholder(value) || has(u8::is_ascii_whitespace) {
        return false;
    }
    match (notation, key) {
        (ValueNotation::Quoted, SecretNameKind::Password) => value.len() >= 4,
        (ValueNotation::Quoted, SecretNameKind::Token) => is_long && is_mixed && !is_code(value),
        (ValueNotation::UpperCase, SecretNameKind::Password) => value.len() >= 4,
        (ValueNotation::UpperCase, SecretNameKind::Token) => {
            is_long && (is_mixed || has_sign || value.len() >= 16) && !is_code(value)
        }
        (ValueNotation::Unspaced, SecretNameKind::Password) => {
            value.len() >= 4 && (is_mixed || has_sign) && !is_code(value)
        }
        (ValueNotation::Unspaced, SecretNameKind::Token) => is_long && is_mixed && !is_code(value),
        (ValueNotation::Spaced, SecretNameKind::Password) => {
            value.len() >= 6 && (is_mixed || has_sign) && !is_code(value) && !is_type_name(value)
        }
        (ValueNotation::Spaced, SecretNameKind::Token) => {
            is_long && is_mixed && !is_code(value) && !is_type_name(value)
        }
    }
}
