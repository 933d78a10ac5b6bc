//! Repairs HTML entities in a patch for a file that does not contain them.

use super::{all_added_lines, all_old_lines, map_lines};
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;
use crate::engine_part::EnginePart;

const ENTITIES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
];

/// A no-break space, and its possible meanings.
const NBSP_ENTITY: &str = "&nbsp;";
const NBSP_MEANINGS: [&str; 2] = [" ", "\u{a0}"];

/// Returns the hunks without entities, if no evidence contradicts it.
pub(super) fn decode_hunks(text: &DecodedText<'_>, hunks: &[Hunk]) -> Vec<Vec<Hunk>> {
    let has = |line: &str| decode_line(line) != line;
    if !all_old_lines(hunks).any(has) {
        return Vec::new();
    }
    if all_added_lines(hunks).any(has) {
        // A patch or file that also has these characters unencoded may mean the entities.
        let raw = |line: &str| line.contains(['<', '>']) || has_bare_ampersand(line);
        if (all_added_lines(hunks).chain(all_old_lines(hunks)).any(raw) || text.iter().any(has))
            && EnginePart::RawEntities.is_on()
        {
            return Vec::new();
        }
    }
    let read = |blank: &str| {
        hunks.iter().map(|hunk| map_lines(hunk, |line| Some(decode_entities(line, blank)))).collect()
    };
    NBSP_MEANINGS.into_iter().filter_map(read).collect()
}

/// Decodes the entities of a line.
pub(super) fn decode_line(line: &str) -> String {
    decode_entities(line, NBSP_MEANINGS[0])
}

fn decode_entities(line: &str, blank: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    // ends: each round takes a character or more
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let all = ENTITIES.iter().copied().chain([(NBSP_ENTITY, blank)]);
        let (name, plain) = all.into_iter().find(|(name, _)| rest.starts_with(name)).unwrap_or(("&", "&"));
        out.push_str(plain);
        rest = &rest[name.len()..];
    }
    out + rest
}

/// Returns true if a line has an ampersand that begins no entity.
fn has_bare_ampersand(line: &str) -> bool {
    let known =
        |rest: &str| ENTITIES.iter().any(|(name, _)| rest.starts_with(name)) || rest.starts_with(NBSP_ENTITY);
    line.match_indices('&').any(|(at, _)| !known(&line[at..]))
}
