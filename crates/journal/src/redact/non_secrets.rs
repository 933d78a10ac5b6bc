//! Recognises values that are not secrets: placeholders, identifiers in code, type names.

/// The notation of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueNotation {
    /// `name = "value"`.
    Quoted,
    /// `NAME=value`.
    UpperCase,
    /// `name=value`.
    Unspaced,
    /// `name = value`, `name: value`, with nothing after the value.
    Spaced,
}

/// Placeholder words, and words that describe a secret.
const PLACEHOLDER_WORDS: &[&str] = &[
    "string", "str", "text", "number", "integer", "boolean", "object", "null", "none", "nil", "true",
    "false", "undefined", "required", "optional", "missing", "invalid", "unknown", "hidden", "default",
    "password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "bearer", "basic",
    "input", "changeme", "placeholder", "redacted", "empty", "value", "pass", "user",
];
/// Words that identifiers about secrets contain.
const SECRET_WORDS: &[&str] =
    &["password", "passwd", "secret", "token", "key", "hash", "auth", "cred", "config", "env"];
/// Prefixes of type names that end with digits.
const TYPE_NAME_PREFIXES: &[&str] =
    &["u", "i", "f", "int", "uint", "float", "bytes", "utf", "sha", "md", "base", "vec", "mat"];

/// Returns whether a value is a placeholder: `$TOKEN`, `{password}`, `<your key>`, `%s`, `****`, `required`.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let Some(first) = value.first() else { return true };
    let is_template = b"$<{[%".contains(first) && !is_percent_code(value);
    let holds_template = value.windows(2).any(|pair| matches!(pair, b"${" | b"{{" | b"$(" | b"{}"));
    let is_masked = value.iter().filter(|byte| b"*.xX_-#".contains(byte)).count() * 2 > value.len();
    let lower = value.to_ascii_lowercase();
    let is_named = lower.starts_with(b"your") || lower.starts_with(b"my_") || lower.starts_with(b"my-");
    let is_word = PLACEHOLDER_WORDS.iter().any(|filler| lower == filler.as_bytes());
    is_template || holds_template || is_masked || is_named || is_word
}

/// Returns whether a value begins with a percent-encoded byte.
fn is_percent_code(value: &[u8]) -> bool {
    value.first() == Some(&b'%') && value.get(1..3).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether a value is a typical right-hand side in code: an identifier, a path, a file, an address, an
/// expression.
pub(super) fn is_code(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let lower = value.to_ascii_lowercase();
    let names_one =
        SECRET_WORDS.iter().any(|word| lower.windows(word.len()).any(|part| part == word.as_bytes()));
    let parts: Vec<&[u8]> =
        value.split(|byte| b".:>-/".contains(byte)).filter(|part| !part.is_empty()).collect();
    // Keys contain slashes too, with upper-case letters between them.
    let is_plain = !value.contains(&b'/') || !value.iter().any(u8::is_ascii_uppercase);
    let is_path = parts.len() > 1
        && is_plain
        && parts.iter().all(|part| is_name(part) && count_digit_transitions(part) <= 2);
    let is_snake = is_name(value)
        && value.contains(&b'_')
        && value.split(|byte| *byte == b'_').all(|part| count_digit_transitions(part) <= 1);
    let is_address = value.windows(3).any(|part| part == b"://") || b"/&*@.~".contains(&value[0]);
    let is_sum =
        value.windows(2).any(|pair| matches!(pair, b"==" | b"+=" | b"->" | b"::")) && !value.ends_with(b"=");
    (is_name(value) && names_one) || is_path || is_snake || is_address || is_sum
}

/// Returns whether a value is a type name: `Uint8Array`, `float32`.
pub(super) fn is_type_name(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_numbered = lower[stem..].iter().all(u8::is_ascii_digit)
        && TYPE_NAME_PREFIXES.iter().any(|name| lower[..stem] == *name.as_bytes());
    let is_camel = matches!(value, [first, second, ..] if first.is_ascii_uppercase() && second.is_ascii_lowercase())
        && value.iter().all(u8::is_ascii_alphanumeric)
        && count_digit_transitions(value) <= 2;
    is_numbered || is_camel
}

/// Counts the transitions between digits and other characters: few in words, many in random text.
fn count_digit_transitions(value: &[u8]) -> usize {
    value.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count()
}
