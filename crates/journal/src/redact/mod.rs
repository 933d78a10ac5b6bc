//! Redacts secrets from journal entries: known values, and text that looks like a secret.

mod assignments;
mod known_values;
mod non_secrets;
mod patterns;
mod token_formats;
mod unescape;

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use serde_json::{Map, Value};

use self::known_values::KnownSecrets;
pub use self::known_values::SHORTEST_SECRET;
use crate::entry::JournalEntry;
use crate::fault::JournalFault;
use crate::visitor::{EntryVisitor, visit_entry};

/// Maximum nesting depth of JSON; parsers reject a line with deeper JSON.
const MAX_DEPTH: usize = 64;
/// Number of redaction rounds: a replacement can form another secret with the text around it.
const MAX_REDACTION_ROUNDS: usize = 4;

/// Redacts secrets from text and entries.
#[derive(Debug)]
pub struct Redactor {
    known: KnownSecrets,
    /// Distinguishes redacted ids without revealing them.
    salt: RandomState,
}

/// Names of id members in model items.
const ID_MEMBERS: &[&str] = &["call_id", "tool_call_id", "tool_use_id", "id"];

/// A range of a text that is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretMatch {
    range: Range<usize>,
    label: SecretLabel,
}

/// The label that replaces a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretLabel {
    /// The name of a known value, by its index.
    Known(usize),
    Pattern(&'static str),
}

impl Redactor {
    /// Creates a redactor for these names and values and for the general patterns. Values shorter than
    /// [`SHORTEST_SECRET`] are ignored, because they would match everywhere.
    ///
    /// # Errors
    ///
    /// If the values amount to gigabytes.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Result<Self, JournalFault> {
        Ok(Self { known: KnownSecrets::new(values)?, salt: RandomState::new() })
    }

    /// Returns the text with each secret replaced by its label, such as `[redacted: GITHUB_TOKEN]`.
    ///
    /// Known values are found in plain text, in base64, and behind nested JSON and URL escapes.
    #[must_use]
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..MAX_REDACTION_ROUNDS {
            let found = self.find_matches(&text);
            if found.is_empty() {
                return text;
            }
            text = Cow::Owned(self.replace_secrets(&text, found));
        }
        // A value such as `redacted` occurs in every replacement.
        let is_clean =
            unescape::find_through_escapes(text.as_bytes(), &|bytes| self.known.find_all(bytes)).is_empty();
        if is_clean { text } else { Cow::Borrowed("") }
    }

    /// Returns the entry with secrets redacted, and with JSON removed that is too deep to parse.
    pub(crate) fn redact_entry(&self, entry: &JournalEntry) -> JournalEntry {
        let mut entry = entry.clone();
        visit_entry(&mut entry, &mut RedactingVisitor(self));
        entry
    }

    fn find_matches(&self, text: &str) -> Vec<SecretMatch> {
        unescape::find_through_escapes(text.as_bytes(), &|bytes| {
            let mut found = self.known.find_all(bytes);
            found.extend(patterns::find_secrets(bytes));
            found
        })
    }

    fn replace_secrets(&self, text: &str, mut found: Vec<SecretMatch>) -> String {
        // A name is more informative than a pattern label.
        found.sort_by_key(|found| (found.range.start, matches!(found.label, SecretLabel::Pattern(_))));
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for SecretMatch { range, label } in merge_overlapping(found) {
            let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
            clean.push_str(text.get(done..start).unwrap_or_default());
            clean.push_str("[redacted: ");
            clean.push_str(match label {
                SecretLabel::Known(index) => self.known.name(index),
                SecretLabel::Pattern(kind) => kind,
            });
            clean.push(']');
            done = end;
        }
        clean.push_str(text.get(done..).unwrap_or_default());
        clean
    }

    fn redact_value(&self, value: &mut Value, depth: usize) {
        match value {
            Value::Array(_) | Value::Object(_) if depth == MAX_DEPTH => {
                *value = Value::String("[left out: JSON that is too deep]".to_owned());
            }
            Value::String(text) => self.redact_in_place(text),
            Value::Number(number) => {
                let text = number.to_string();
                if let Some(SecretMatch { label: SecretLabel::Known(index), .. }) =
                    self.known.find_all(text.as_bytes()).first()
                {
                    *value = Value::String(format!("[redacted: {}]", self.known.name(*index)));
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_value(value, depth + 1)),
            Value::Object(members) => self.redact_members(members, depth + 1),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn redact_members(&self, members: &mut Map<String, Value>, depth: usize) {
        for (name, value) in members.iter_mut() {
            match value {
                Value::String(text) if assignments::is_secret_member(name, text) => {
                    "[redacted: secret]".clone_into(text);
                    self.redact_in_place(text);
                }
                Value::String(text) if ID_MEMBERS.contains(&name.as_str()) => self.redact_id(text),
                value => self.redact_value(value, depth),
            }
        }
        let secret: Vec<String> =
            members.keys().filter(|name| self.redact_text(name) != name.as_str()).cloned().collect();
        for name in secret {
            let value = members.remove(&name).unwrap_or_default();
            let clean = self.redact_text(&name).into_owned();
            // ends: there are fewer members than numbers
            let free =
                (1..).map(|count| if count == 1 { clean.clone() } else { format!("{clean} ({count})") });
            let free = free.take(members.len() + 1).find(|name| !members.contains_key(name));
            members.insert(free.unwrap_or(clean), value);
        }
    }

    /// Redacts an id. Different ids stay different, because they pair calls with answers.
    fn redact_id(&self, id: &mut String) {
        let clean = self.redact_text(id);
        if *clean != **id {
            let mark = self.salt.hash_one(&*id) & 0xff_ffff;
            *id = format!("{clean} {mark:06x}");
        }
    }

    fn redact_in_place(&self, text: &mut String) {
        let clean = self.redact_text(text);
        if *clean != **text {
            *text = clean.into_owned();
        }
    }
}

/// Merges overlapping matches, which are sorted by start.
fn merge_overlapping(sorted: Vec<SecretMatch>) -> Vec<SecretMatch> {
    let mut merged: Vec<SecretMatch> = Vec::with_capacity(sorted.len());
    for found in sorted {
        match merged.last_mut() {
            Some(last) if found.range.start < last.range.end => {
                last.range.end = last.range.end.max(found.range.end);
                if let (SecretLabel::Pattern(_), SecretLabel::Known(_)) = (last.label, found.label) {
                    last.label = found.label;
                }
            }
            _ => merged.push(found),
        }
    }
    merged
}

/// Redacts every text of an entry.
struct RedactingVisitor<'a>(&'a Redactor);

impl EntryVisitor for RedactingVisitor<'_> {
    fn visit_text(&mut self, text: &mut String) {
        self.0.redact_in_place(text);
    }

    fn visit_id(&mut self, id: &mut String) {
        self.0.redact_id(id);
    }

    fn visit_value(&mut self, value: &mut Value) {
        self.0.redact_value(value, 0);
    }

    fn visit_list<T>(&mut self, _list: &mut Vec<T>) {}
}

#[cfg(test)]
mod tests;
