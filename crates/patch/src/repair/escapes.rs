//! Repairs quotes, backslashes and newlines that are escaped once too often.

use super::{all_added_lines, all_old_lines, map_lines};
use crate::edit::Hunk;
use crate::engine_part::EnginePart;
use crate::search_replace;

/// Unescapes the lines of hunks: as JSON strings, or only their quotes.
pub(super) fn unescape_hunks(hunks: &[Hunk]) -> Vec<Vec<Hunk>> {
    let escaped = |line: &str| line.contains("\\\"") || line.contains("\\\\");
    if !all_old_lines(hunks).any(escaped) {
        return Vec::new();
    }
    let read = |way: fn(&str) -> Option<String>| -> Option<Vec<Hunk>> {
        hunks.iter().map(|hunk| map_lines(hunk, way)).collect()
    };
    [read(unescape_json_line), read(unescape_all_quotes)]
        .into_iter()
        .flatten()
        .filter(|read| all_old_lines(read).ne(all_old_lines(hunks)))
        .collect()
}

/// Unescapes whole texts: as JSON strings, or only their newlines and tabs.
pub(super) fn unescape_texts(from: &str, to: &str) -> Vec<(String, String)> {
    let ways: [fn(&str) -> Option<String>; 2] = [unescape_json, unescape_newlines];
    let read = |way: fn(&str) -> Option<String>| Some((way(from)?, way(to)?));
    let is_complete = |(read, new): &(String, String)| {
        let hunk = [search_replace::hunk_from_texts(read, new)];
        let mut added = all_added_lines(&hunk);
        read != from && (added.all(is_complete_line) || !EnginePart::TornLine.is_on())
    };
    // An added backslash could belong to the code, before a newline or another character, unless the old text has an
    // escaped one.
    let clear = |read: &(String, String)| {
        from.contains("\\\\") || !read.1.contains('\\') || !EnginePart::AddedBackslash.is_on()
    };
    ways.into_iter().filter_map(read).filter(is_complete).filter(clear).collect()
}

/// Removes the backslash before each quote.
pub(super) fn unescape_quotes(line: &str) -> String {
    line.replace("\\\"", "\"")
}

/// Removes the backslash before each quote, if every quote has one.
fn unescape_all_quotes(line: &str) -> Option<String> {
    let bare = |(at, _): (usize, &str)| !line[..at].ends_with('\\');
    (!line.match_indices('"').any(bare)).then(|| unescape_quotes(line))
}

/// Unescapes a line as a JSON string, if the result is one line.
fn unescape_json_line(line: &str) -> Option<String> {
    unescape_json(line).filter(|line| !line.contains(['\n', '\r']))
}

/// Unescapes a JSON string, if it is valid.
fn unescape_json(text: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

/// Unescapes newlines and tabs, if the text has no real newline.
fn unescape_newlines(text: &str) -> Option<String> {
    (!text.contains('\n') && !text.contains("\\\\"))
        .then(|| text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t"))
}

/// Returns true if a line is complete. A string or an expression that was split is not.
fn is_complete_line(line: &str) -> bool {
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
            assert!(is_complete_line(line), "{line}");
        }
        for line in ["print(\"a", "b\")", "split(/", "/)", "[^", "f('"] {
            assert!(!is_complete_line(line), "{line}");
        }
    }
}
