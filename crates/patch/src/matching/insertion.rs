//! Finds the insertion point of a hunk without old lines: below its header, at the end of the file, or at its number.

use super::find_hunk::{HunkSearchResult, PlacementMiss};
use super::header::{find_headers, header_reach, is_attribute};
use super::line_compare::{indentation, is_blank};
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;

/// Prefixes of a line that continues the line before it.
const CONTINUATION_PREFIXES: &[&str] = &["where", "->", "=>", "throws", ")", "]"];

/// Finds the insertion point of a hunk without old lines. `alone`: it is the only hunk of its file.
pub(super) fn find_insertion(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    alone: bool,
) -> Result<HunkSearchResult, PlacementMiss> {
    let headers = find_headers(text, &hunk.headers);
    let first = hunk.new_lines().find(|line| !is_blank(line)).unwrap_or_default();
    let at = match (headers.as_slice(), hunk.headers.iter().rfind(|header| !is_blank(header)), hunk.old_start)
    {
        ([header], _, None) if hunk.at_end => end_after_last_block(text, *header)?,
        ([header], _, None) => line_below_header(text, *header, first)?,
        ([], Some(header), None) => return Err(PlacementMiss::HeaderNotFound(header.clone())),
        ([_, _, ..], _, None) => return Err(PlacementMiss::Ambiguous(headers)),
        ([], None, None) if alone && indentation(first).is_empty() => text.len(),
        ([], None, None) => return Err(PlacementMiss::NoPlaceGiven),
        (_, _, Some(0 | 1)) => 0,
        (_, _, Some(at)) if at == text.len() + 1 => text.len(),
        (_, _, Some(_)) => return Err(PlacementMiss::NoPlaceGiven),
    };
    let new: Vec<&str> = hunk.new_lines().collect();
    let before = at.checked_sub(new.len()).filter(|_| at == text.len());
    let stands = |at: usize| new.iter().zip(at..).all(|(line, at)| at < text.len() && *line == text.line(at));
    match [Some(at), before].into_iter().flatten().find(|at| stands(*at)) {
        Some(done) if new.iter().any(|line| line.chars().any(char::is_alphanumeric)) => {
            Ok(HunkSearchResult::AlreadyApplied(done))
        }
        Some(done) => Err(PlacementMiss::RepeatsNeighbour(done)),
        None => Ok(HunkSearchResult::Insertion(at)),
    }
}

/// Returns the end of the file, if the block of the line at `header` is the last one.
fn end_after_last_block(text: &DecodedText<'_>, header: usize) -> Result<usize, PlacementMiss> {
    let ends = (header_reach(text, header)..text.len()).all(|at| is_blank(text.line(at)));
    if ends { Ok(text.len()) } else { Err(PlacementMiss::HeaderNotAtEnd(header)) }
}

/// Returns the line after the opening of the block at `header`, where `first` is inserted.
fn line_below_header(text: &DecodedText<'_>, header: usize, first: &str) -> Result<usize, PlacementMiss> {
    let (line, next) = (text.line(header).trim(), text.line(header + 1).trim());
    let deeper = indentation(first).len() > indentation(text.line(header)).len();
    let braced = next == "{" && indentation(text.line(header + 1)) == indentation(text.line(header));
    let goes_on = CONTINUATION_PREFIXES.iter().any(|word| next.starts_with(word));
    if is_attribute(line) || is_unfinished(line) || goes_on || next.starts_with('{') && !braced {
        return Err(PlacementMiss::HeaderContinues(header));
    }
    // Lines of a block are indented deeper than the line that opens it.
    match (braced || line.ends_with([':', '{']), deeper) {
        (true, false) => Err(PlacementMiss::NoPlaceGiven),
        (true, true) | (false, _) => Ok(header + 1 + usize::from(braced)),
    }
}

/// Returns true if a line ends within parentheses or with a continuation backslash.
fn is_unfinished(line: &str) -> bool {
    let count = |sign: char| line.matches(sign).count();
    let unclosed = count('(') > count(')') || count('[') > count(']');
    unclosed && !line.ends_with(['[', '{']) || line.ends_with('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_after_what_a_header_begins_with() {
        let rows = [
            ("def f():\n    x\n", "    y", Ok(1)),
            ("def f():\n    x\n", "y", Err(PlacementMiss::NoPlaceGiven)),
            ("f()\n{\n  x\n}\n", "  y", Ok(2)),
            ("f()\n{\n  x\n}\n", "y", Err(PlacementMiss::NoPlaceGiven)),
            ("f()\n  {\n  x\n}\n", "  y", Err(PlacementMiss::HeaderContinues(0))),
            ("def f(a,\n      b):\n    x\n", "    y", Err(PlacementMiss::HeaderContinues(0))),
            ("def f(\n    a\n):\n    x\n", "    y", Err(PlacementMiss::HeaderContinues(0))),
            ("fn f() -> A\nwhere\n    A: B,\n{\n", "    y", Err(PlacementMiss::HeaderContinues(0))),
            ("@dec\ndef f():\n", "    y", Err(PlacementMiss::HeaderContinues(0))),
            ("#[test]\nfn f() {\n", "    y", Err(PlacementMiss::HeaderContinues(0))),
            ("x = 1 + \\\n  2\n", "y", Err(PlacementMiss::HeaderContinues(0))),
            ("A = [\n  1,\n]\n", "  0,", Ok(1)),
            ("app.get('/', () => {\n  x\n})\n", "  y", Ok(1)),
            ("# section\na: 1\n", "b: 2", Ok(1)),
        ];
        for (file, first, expected) in rows {
            assert_eq!(
                line_below_header(&DecodedText::from_bytes(file.as_bytes()).unwrap(), 0, first),
                expected,
                "{file}"
            );
        }
    }
}
