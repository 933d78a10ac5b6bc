//! Values that are known to be secrets, in every form that programs give them.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::{Found, Label};
use crate::fault::JournalFault;

/// A secret has at least so many bytes.
pub const SHORTEST_SECRET: usize = 8;
/// Words that every session is written with: without them nobody could read it, and they keep nothing secret.
const WORDS: &[&str] = &[
    "anthropic",
    "apply_patch",
    "arguments",
    "assistant",
    "completed",
    "custom_tool_call",
    "custom_tool_call_output",
    "danger-full-access",
    "developer",
    "encrypted_content",
    "exec_command",
    "function",
    "function_call",
    "function_call_output",
    "in_progress",
    "input_text",
    "local_shell_call",
    "local_shell_call_output",
    "on-failure",
    "on-request",
    "output_text",
    "read-only",
    "read_file",
    "reasoning",
    "redacted_thinking",
    "responses",
    "signature",
    "summary_text",
    "thinking",
    "tool_call_id",
    "tool_calls",
    "tool_result",
    "tool_use",
    "tool_use_id",
    "untrusted",
    "web_search_call",
    "workspace-write",
];
/// Letters of a name.
const MAX_NAME: usize = 64;

/// The values, and the names they go by.
#[derive(Debug)]
pub(super) struct Known {
    names: Vec<String>,
    /// What each needle stands for.
    forms: Vec<Form>,
    needles: Option<AhoCorasick>,
}

/// A form of a value.
#[derive(Debug, Clone, Copy)]
struct Form {
    name: usize,
    /// Letters at either end that are made of the value in part.
    before: usize,
    after: usize,
}

impl Known {
    pub(super) fn new(values: impl IntoIterator<Item = (String, String)>) -> Result<Self, JournalFault> {
        let mut names = Vec::new();
        let mut needles: BTreeMap<Vec<u8>, Form> = BTreeMap::new();
        for (name, value) in values {
            let value = value.trim();
            if value.len() < SHORTEST_SECRET || WORDS.contains(&value) {
                continue;
            }
            for (needle, before, after) in forms(value) {
                needles.entry(needle).or_insert(Form { name: names.len(), before, after });
            }
            names.push(plain(&name));
        }
        let (needles, forms): (Vec<Vec<u8>>, Vec<Form>) = needles.into_iter().unzip();
        let built = if needles.is_empty() { None } else { Some(AhoCorasick::new(needles)) };
        let needles =
            built.transpose().map_err(|error| JournalFault::TooManySecrets { reason: error.to_string() })?;
        Ok(Self { names, forms, needles })
    }

    pub(super) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("secret", String::as_str)
    }

    /// Every place where one of them is.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let Some(needles) = &self.needles else { return found };
        for hit in needles.find_overlapping_iter(text) {
            let Form { name, before, after } = self.forms[hit.pattern().as_usize()];
            let start = hit.start() - reach(text[..hit.start()].iter().rev(), before);
            let end = hit.end() + reach(text[hit.end()..].iter(), after);
            let mut range = start..end;
            // They come by their ends, so those that overlap are the last ones.
            // ends: `found` only shrinks
            while let Some(last) = found.pop_if(|last| last.range.end > range.start) {
                range = range.start.min(last.range.start)..range.end.max(last.range.end);
            }
            found.push(Found { range, label: Label::Known(name) });
        }
        found
    }
}

/// How many letters of base64 there are, up to so many.
fn reach<'a>(letters: impl Iterator<Item = &'a u8>, most: usize) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    letters.take(most).take_while(is_letter).count()
}

/// A value as it is and as programs write it, each with how many letters before and after belong to it in part. Escapes
/// are no forms: they are taken off the text instead, because everybody may escape as much as they like.
fn forms(value: &str) -> Vec<(Vec<u8>, usize, usize)> {
    let mut plain = vec![value.to_owned(), value.replace(' ', "+")];
    // Keys come with `\n` in the environment, and are used with line ends.
    plain.extend(serde_json::from_str::<String>(&format!("\"{}\"", value.replace('"', "\\\""))));
    plain.retain(|form| form.len() >= SHORTEST_SECRET);
    let mut forms: Vec<(Vec<u8>, usize, usize)> = Vec::new();
    for form in plain {
        for offset in 0..3 {
            let mut bytes = vec![0; offset];
            bytes.extend_from_slice(form.as_bytes());
            // Letters that hold bits of nothing but the value.
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

/// A name without what might mean something where it is put.
fn plain(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-.".contains(*letter);
    name.chars().filter(is_plain).take(MAX_NAME).collect()
}
