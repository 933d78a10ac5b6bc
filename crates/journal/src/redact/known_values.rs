//! Finds known secret values in the encodings that programs use.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::{SecretLabel, SecretMatch};
use crate::fault::JournalFault;

/// Minimum bytes of a secret.
pub const SHORTEST_SECRET: usize = 8;
/// Words of the journal format and the model APIs. Redacting them would make every session unreadable, and they are not
/// secret.
const NON_SECRET_WORDS: &[&str] = &[
    "anthropic", "apply_patch", "arguments", "assistant", "completed", "custom_tool_call",
    "custom_tool_call_output", "danger-full-access", "developer", "encrypted_content", "exec_command",
    "function", "function_call", "function_call_output", "in_progress", "input_text", "local_shell_call",
    "local_shell_call_output", "on-failure", "on-request", "output_text", "read-only", "read_file",
    "reasoning", "redacted_thinking", "responses", "signature", "summary_text", "thinking", "tool_call_id",
    "tool_calls", "tool_result", "tool_use", "tool_use_id", "untrusted", "web_search_call",
    "workspace-write",
];
/// Maximum characters of a secret's name.
const MAX_NAME_CHARS: usize = 64;

/// The known values with their names.
#[derive(Debug)]
pub(super) struct KnownSecrets {
    names: Vec<String>,
    /// The form that each needle stands for.
    encodings: Vec<SecretEncoding>,
    needles: Option<AhoCorasick>,
}

/// One encoding of a value.
#[derive(Debug, Clone, Copy)]
struct SecretEncoding {
    name_index: usize,
    /// Number of base64 characters at either end that encode the value only in part.
    before: usize,
    after: usize,
}

impl KnownSecrets {
    /// Builds the search automaton. Values that are too short, or words of the journal format, are skipped.
    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Result<Self, JournalFault> {
        let mut names = Vec::new();
        let mut needles: BTreeMap<Vec<u8>, SecretEncoding> = BTreeMap::new();
        for (name, value) in values {
            let value = value.trim();
            if value.len() < SHORTEST_SECRET || NON_SECRET_WORDS.contains(&value) {
                continue;
            }
            for (needle, before, after) in encodings_of(value) {
                needles.entry(needle).or_insert(SecretEncoding { name_index: names.len(), before, after });
            }
            names.push(sanitize_name(&name));
        }
        let (needles, encodings): (Vec<Vec<u8>>, Vec<SecretEncoding>) = needles.into_iter().unzip();
        let built = if needles.is_empty() { None } else { Some(AhoCorasick::new(needles)) };
        let needles =
            built.transpose().map_err(|error| JournalFault::TooManySecrets { reason: error.to_string() })?;
        Ok(Self { names, encodings, needles })
    }

    /// Returns the name of the value at `index`.
    pub(super) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("secret", String::as_str)
    }

    /// Finds all occurrences of known values.
    pub(super) fn find_all(&self, text: &[u8]) -> Vec<SecretMatch> {
        let mut found: Vec<SecretMatch> = Vec::new();
        let Some(needles) = &self.needles else { return found };
        for hit in needles.find_overlapping_iter(text) {
            let SecretEncoding { name_index: name, before, after } = self.encodings[hit.pattern().as_usize()];
            let start = hit.start() - count_base64_chars(text[..hit.start()].iter().rev(), before);
            let end = hit.end() + count_base64_chars(text[hit.end()..].iter(), after);
            let mut range = start..end;
            // Matches are ordered by their ends, so overlapping ones are the last.
            // ends: `found` only shrinks
            while let Some(last) = found.pop_if(|last| last.range.end > range.start) {
                range = range.start.min(last.range.start)..range.end.max(last.range.end);
            }
            found.push(SecretMatch { range, label: SecretLabel::Known(name) });
        }
        found
    }
}

/// Counts consecutive base64 characters, up to `most`.
fn count_base64_chars<'a>(letters: impl Iterator<Item = &'a u8>, most: usize) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    letters.take(most).take_while(is_letter).count()
}

/// Returns the encodings of a value, each with the number of partly covered characters before and after it. Escapes are
/// not encoded here: the text is unescaped instead, because escapes can be nested to any depth.
fn encodings_of(value: &str) -> Vec<(Vec<u8>, usize, usize)> {
    let mut plain = vec![value.to_owned(), value.replace(' ', "+")];
    // Keys are stored with `\n` in the environment, and used with line ends.
    plain.extend(serde_json::from_str::<String>(&format!("\"{}\"", value.replace('"', "\\\""))));
    plain.retain(|form| form.len() >= SHORTEST_SECRET);
    let mut forms: Vec<(Vec<u8>, usize, usize)> = Vec::new();
    for form in plain {
        for offset in 0..3 {
            let mut bytes = vec![0; offset];
            bytes.extend_from_slice(form.as_bytes());
            // The characters that encode bits of the value alone.
            let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
            let (before, after) = (usize::from(offset > 0), usize::from(bytes.len() * 8 % 6 > 0));
            for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
                forms.push((encoded.as_bytes()[first..last].to_vec(), before, after));
            }
        }
        forms.push((form.into_bytes(), 0, 0));
    }
    forms
}

/// Removes characters from a name that could have a meaning in the surrounding text.
fn sanitize_name(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-.".contains(*letter);
    name.chars().filter(is_plain).take(MAX_NAME_CHARS).collect()
}
