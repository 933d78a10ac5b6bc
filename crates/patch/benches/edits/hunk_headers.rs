//! Generates hunk headers: enclosing lines, or the nearest definition above a hunk as git and models write it.

use crate::case_draft::{CaseDraft, DraftFormat, DraftHunk};
use crate::patch_text::enclosing_lines;
use crate::seeded_random::CaseRandom;

/// The number of bytes of a line that git writes.
const GIT_WIDTH: usize = 80;
/// The minimum length of a name that is cut off before its parameters.
const SHORTEST: usize = 6;

/// Words that begin a definition, in various languages.
const WORDS: &[&str] = &[
    "def", "class", "fn", "func", "function", "impl", "struct", "enum", "trait", "mod", "module",
    "interface", "type", "namespace", "describe", "it", "test", "macro_rules!", "union", "sub",
];
/// Words that may precede these.
const BEFORE: &[&str] = &[
    "pub", "pub(crate)", "pub(super)", "export", "default", "async", "static", "public", "private",
    "protected", "final", "abstract", "unsafe", "const", "virtual", "inline", "override",
];

/// Gives about half of the hunks a header.
pub(crate) fn add_headers(draft: &mut CaseDraft, chance: &mut CaseRandom) {
    for at in 0..draft.parts.len() {
        let part = &draft.parts[at];
        let headers = match (draft.manner.format, chance.below(8)) {
            (DraftFormat::Replace, _) | (_, 0..4) => continue,
            (DraftFormat::Unified, _) | (DraftFormat::Envelope, 4) => {
                header_as_git(draft, part).into_iter().collect()
            }
            (DraftFormat::Envelope, 5) => header_as_model(draft, part, chance).into_iter().collect(),
            (DraftFormat::Envelope, _) => around(draft, part, chance),
        };
        draft.parts[at].headers = headers;
    }
}

/// Returns one or two lines that enclose a hunk.
fn around(draft: &CaseDraft, part: &DraftHunk, chance: &mut CaseRandom) -> Vec<String> {
    let mut headers = enclosing_lines(draft, part);
    headers.truncate(if chance.once_in(4) { 2 } else { 1 });
    headers.reverse();
    let trimmed = chance.once_in(2);
    let spell = |header: String| if trimmed { header.trim().to_owned() } else { header };
    headers.into_iter().map(spell).collect()
}

/// Returns the last line above a hunk that begins with a letter, `_` or `$`. Git writes it unless it knows the
/// language.
pub(crate) fn header_as_git(draft: &CaseDraft, part: &DraftHunk) -> Option<String> {
    let named = |line: &str| line.starts_with(|char: char| char.is_ascii_alphabetic() || "_$".contains(char));
    let header = nearest(draft, part, named)?;
    Some(header[..header.floor_char_boundary(GIT_WIDTH)].trim_end().to_owned())
}

/// Returns the last definition above a hunk as models write it: unchanged, without indentation, or without parameters.
pub(crate) fn header_as_model(
    draft: &CaseDraft,
    part: &DraftHunk,
    chance: &mut CaseRandom,
) -> Option<String> {
    let header = nearest(draft, part, is_definition)?;
    let name = header.trim().split('(').next().unwrap_or_default().trim_end();
    Some(match chance.below(4) {
        0 => header,
        1 if name.len() >= SHORTEST => name.to_owned(),
        _ => header.trim().to_owned(),
    })
}

/// Returns the last row above a hunk that satisfies `is`.
fn nearest(draft: &CaseDraft, part: &DraftHunk, is: impl Fn(&str) -> bool) -> Option<String> {
    let first = part.old_lines().find_map(|said| draft.row(said.cell?))?;
    draft.rows()[..first].iter().rev().map(|cell| &cell.text).find(|text| is(text)).cloned()
}

/// Returns true if a line begins a definition, a section or a table.
fn is_definition(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| BEFORE.contains(word));
    let first = words.next().unwrap_or_default();
    let word = first.split(['(', '<']).next().unwrap_or_default();
    let heading = line.starts_with("# ") || line.starts_with("## ") || line.starts_with("### ");
    let table = line.starts_with('[') && line.trim_end().ends_with(']');
    let function = line.starts_with(|char: char| char.is_ascii_alphabetic())
        && line.contains('(')
        && !line.trim_end().ends_with([';', ',']);
    WORDS.contains(&word) || heading || table || function
}
