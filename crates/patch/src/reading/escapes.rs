//! Quotes, backslashes and newlines that are escaped once too often.

use super::{added, each, old};
use crate::edit::Hunk;
use crate::replace;

/// Hunks whose lines are escaped: as JSON does, or only their quotes.
pub(super) fn reads(hunks: &[Hunk]) -> Vec<Vec<Hunk>> {
    let escaped = |line: &str| line.contains("\\\"") || line.contains("\\\\");
    if !old(hunks).any(escaped) {
        return Vec::new();
    }
    let read = |way: fn(&str) -> Option<String>| -> Option<Vec<Hunk>> {
        hunks.iter().map(|hunk| each(hunk, way)).collect()
    };
    [read(in_line), read(quotes)].into_iter().flatten().filter(|read| old(read).ne(old(hunks))).collect()
}

/// Texts that are escaped as a whole: as JSON does, or only their newlines and tabs.
pub(super) fn texts(from: &str, to: &str) -> Vec<(String, String)> {
    let ways: [fn(&str) -> Option<String>; 2] = [json, blanks];
    let read = |way: fn(&str) -> Option<String>| Some((way(from)?, way(to)?));
    let told = |(read, new): &(String, String)| {
        let hunk = [replace::hunk(read, new)];
        let mut added = added(&hunk);
        read != from && added.all(is_whole)
    };
    // A backslash that comes could be one of the code, before a newline or another sign, unless the old text has one
    // that is escaped.
    let clear = |read: &(String, String)| from.contains("\\\\") || !read.1.contains('\\');
    ways.into_iter().filter_map(read).filter(told).filter(clear).collect()
}

/// The line without the backslash before each quote.
pub(super) fn unquoted(line: &str) -> String {
    line.replace("\\\"", "\"")
}

/// The same, if each quote has one.
fn quotes(line: &str) -> Option<String> {
    let bare = |(at, _): (usize, &str)| !line[..at].ends_with('\\');
    (!line.match_indices('"').any(bare)).then(|| unquoted(line))
}

/// What a line says as a string of JSON, if that is a line.
fn in_line(line: &str) -> Option<String> {
    json(line).filter(|line| !line.contains(['\n', '\r']))
}

/// What a string of JSON says, if it is one.
fn json(text: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

/// The text with its newlines and tabs, if it has no newline yet.
fn blanks(text: &str) -> Option<String> {
    (!text.contains('\n') && !text.contains("\\\\"))
        .then(|| text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t"))
}

/// Whether a line could end and begin where it does: a string or an expression that was torn apart could not.
fn is_whole(line: &str) -> bool {
    let line = line.trim().replace("\\\"", "").replace("\\'", "").replace("\"\"\"", "");
    let even = |quote: char| line.matches(quote).count().is_multiple_of(2);
    let begins = !line.starts_with('/') || ["//", "/*", "/>"].iter().any(|start| line.starts_with(start));
    let ends = !line.ends_with(['/', '^', '\\']) || line.ends_with("*/");
    even('"') && even('\'') && even('`') && begins && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_torn_apart_is_seen() {
        for line in ["x = 1", "print(\"a\")", "// words", "/* words */", "/>", "f('a', `b`)"] {
            assert!(is_whole(line), "{line}");
        }
        for line in ["print(\"a", "b\")", "split(/", "/)", "[^", "f('"] {
            assert!(!is_whole(line), "{line}");
        }
    }
}
