//! Expands shell parameters: their values and the operations inside `${…}`.

use super::UnknownExpansion;
use super::script_variables::{ScriptVariables, VariableValue};
use super::shell_glob;
use super::word_expander::{WordExpander, parameter_name_length};

/// The value of an expansion.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExpandedValue {
    Text(String),
    List(Vec<String>),
}

/// Returns the possible values of `${inside}`; none if they are unknown.
pub(super) fn expand_parameter(
    inside: &str,
    values: &ScriptVariables,
    missing: UnknownExpansion,
) -> Vec<ExpandedValue> {
    let end = parameter_name_length(inside);
    let end = if inside[..end].starts_with(|c: char| c.is_ascii_digit()) {
        inside.find(|c: char| !c.is_ascii_digit()).unwrap_or(inside.len())
    } else {
        end
    };
    let (name, mut rest) = inside.split_at(end);
    let mut found: Vec<ExpandedValue> = values.values_of(name).map(expanded_value).collect();
    if let Some(subscript) = rest.strip_prefix('[') {
        let (index, after) = subscript.split_once(']').unwrap_or((subscript, ""));
        found = found.iter().filter_map(|value| select_elements(value, index)).collect();
        rest = after;
    }
    if rest.is_empty() {
        return found;
    }
    let texts = |word: &str| -> Vec<ExpandedValue> {
        let Some(values) = values.one_level_deeper(4) else { return Vec::new() };
        WordExpander::new(word, &values, missing)
            .expand_to_texts()
            .into_iter()
            .map(ExpandedValue::Text)
            .collect()
    };
    let plain = rest.strip_prefix(':').unwrap_or(rest);
    match plain.chars().next() {
        Some('-' | '=') => {
            found.extend(texts(&plain[1..]));
            found
        }
        Some('+') => texts(&plain[1..]),
        Some('?') => found,
        _ => found.iter().map(|value| apply_operation(value, rest)).collect(),
    }
}

fn expanded_value(value: &VariableValue) -> ExpandedValue {
    match value {
        VariableValue::Text(text) => ExpandedValue::Text(text.clone()),
        VariableValue::List(items) => ExpandedValue::List(items.clone()),
    }
}

/// Returns the elements of `value` that a subscript selects.
fn select_elements(value: &ExpandedValue, index: &str) -> Option<ExpandedValue> {
    let items = match value {
        ExpandedValue::Text(text) => std::slice::from_ref(text),
        ExpandedValue::List(items) => items.as_slice(),
    };
    if matches!(index, "@" | "*") {
        return Some(ExpandedValue::List(items.to_vec()));
    }
    items.get(index.parse::<usize>().ok()?).cloned().map(ExpandedValue::Text)
}

/// Applies `operation` to `value`.
fn apply_operation(value: &ExpandedValue, operation: &str) -> ExpandedValue {
    match value {
        ExpandedValue::Text(text) => ExpandedValue::Text(apply_operation_to_text(text, operation)),
        ExpandedValue::List(items) => {
            ExpandedValue::List(items.iter().map(|item| apply_operation_to_text(item, operation)).collect())
        }
    }
}

fn apply_operation_to_text(text: &str, operation: &str) -> String {
    let cuts = || text.char_indices().map(|(at, _)| at).chain([text.len()]);
    if let Some(pattern) = operation.strip_prefix("##") {
        let at = cuts().rfind(|at| shell_glob::glob_matches(pattern, &text[..*at]));
        return text[at.unwrap_or(0)..].to_owned();
    }
    if let Some(pattern) = operation.strip_prefix('#') {
        let at = cuts().find(|at| shell_glob::glob_matches(pattern, &text[..*at]));
        return text[at.unwrap_or(0)..].to_owned();
    }
    if let Some(pattern) = operation.strip_prefix("%%") {
        let at = cuts().find(|at| shell_glob::glob_matches(pattern, &text[*at..]));
        return text[..at.unwrap_or(text.len())].to_owned();
    }
    if let Some(pattern) = operation.strip_prefix('%') {
        let at = cuts().rfind(|at| shell_glob::glob_matches(pattern, &text[*at..]));
        return text[..at.unwrap_or(text.len())].to_owned();
    }
    if let Some(replace) = operation.strip_prefix('/') {
        let (all, replace) = replace.strip_prefix('/').map_or((false, replace), |rest| (true, rest));
        let (from, to) = replace.split_once('/').unwrap_or((replace, ""));
        return match from.is_empty() {
            true => text.to_owned(),
            false => text.replacen(from, to, if all { usize::MAX } else { 1 }),
        };
    }
    if let Some(offset) = operation.strip_prefix(':') {
        return substring(text, offset);
    }
    match operation {
        "^^" | "@U" => text.to_uppercase(),
        ",," | "@L" => text.to_lowercase(),
        "^" | "@u" => change_first_letter(text, |first| first.to_ascii_uppercase()),
        "," => change_first_letter(text, |first| first.to_ascii_lowercase()),
        "@E" => text.to_owned(),
        _ => text.to_owned(),
    }
}

/// Returns `text` with its first letter changed.
fn change_first_letter(text: &str, change: fn(char) -> char) -> String {
    let mut letters = text.chars();
    letters.next().map(change).into_iter().chain(letters).collect()
}

/// Returns the substring of `text` that `offset:length` selects.
fn substring(text: &str, offset: &str) -> String {
    let (offset, length) = offset.split_once(':').map_or((offset, None), |(at, length)| (at, Some(length)));
    let letters: Vec<char> = text.chars().collect();
    let number = |text: &str| text.trim().parse::<i64>().unwrap_or(0);
    let from_end = |number: i64| match usize::try_from(number) {
        Ok(number) => number.min(letters.len()),
        Err(_) => letters.len().saturating_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let from = from_end(number(offset));
    let to = match length.map(number) {
        None => letters.len(),
        Some(length) if length < 0 => from_end(length),
        Some(length) => (from + usize::try_from(length).unwrap_or(0)).min(letters.len()),
    };
    letters.get(from..to.max(from)).unwrap_or_default().iter().collect()
}

/// Decodes the escape sequence `rest`, without its backslash. Returns the character and the length in bytes.
pub(super) fn decode_escape(rest: &str) -> (Option<char>, usize) {
    let digits = |from: usize, most: usize, radix: u32| {
        let text = rest.get(from..).unwrap_or_default();
        let count = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let code = u32::from_str_radix(&text[..count], radix).ok();
        (code.and_then(char::from_u32), from + count)
    };
    match rest.chars().next() {
        Some('n') => (Some('\n'), 1),
        Some('t') => (Some('\t'), 1),
        Some('r') => (Some('\r'), 1),
        Some('e' | 'E') => (Some('\u{1b}'), 1),
        Some('x') => digits(1, 2, 16),
        Some('u') => digits(1, 4, 16),
        Some('U') => digits(1, 8, 16),
        Some('0'..='7') => digits(0, if rest.starts_with('0') { 4 } else { 3 }, 8),
        Some(other) => (Some(other), other.len_utf8()),
        None => (None, 0),
    }
}
