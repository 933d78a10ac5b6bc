//! Extracts a patch from a model's answer: from the only code fence in prose, or from a fully indented text.

use super::source_lines::SourceLines;
use super::wrapper::PatchSource;
use super::{json, marker, unified};
use crate::engine_part::EnginePart;

/// Returns the content of the only fence of a text, if it holds a patch and no patch line stands outside.
pub(super) fn extract_fenced<'a>(source: &PatchSource<'a>) -> Option<PatchSource<'a>> {
    let lines = SourceLines::new(source);
    let line = |at: usize| lines.get(at).unwrap_or_default();
    let open = (0..lines.len()).find(|at| parse_fence(line(*at)).is_some())?;
    let (sign, length) = parse_fence(line(open))?;
    // A patch line that looks like a fence has a sign before it, so it does not begin at the fence's column.
    let pad = line(open).len() - line(open).trim_start().len();
    let closes = |at: &usize| {
        let text = line(*at).trim_end();
        let inside = text.get(pad..).unwrap_or_default();
        parse_fence(text).is_some() && inside.len() >= length && inside.chars().all(|other| other == sign)
    };
    let close = (open + 1..lines.len()).find(closes)?;
    let words = || (0..open).chain(close + 1..lines.len());
    let of_patch = |at: usize| {
        marker::is_marker(line(at))
            || unified::begins_file(&lines, at)
            || line(at).trim_start().starts_with("@@")
    };
    let text = lines.span(open + 1, close);
    let holds = json::looks_like_json(text) || (open..close).any(of_patch);
    if words().any(|at| of_patch(at) || parse_fence(line(at)).is_some())
        || !holds
        || !EnginePart::FencedInProse.is_on()
    {
        return None;
    }
    Some(PatchSource {
        text,
        first_line_number: lines.number(open + 1),
        complete: true,
        wrapper_closed: true,
    })
}

/// Returns the character of a fence and its length.
fn parse_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find_map(|sign| {
        let length = line.len() - line.trim_start_matches(sign).len();
        (length >= 3).then_some((sign, length))
    })
}

/// Strips the whitespace that all lines of a text begin with. `None` if there is none.
pub(super) fn dedent(text: &str) -> Option<String> {
    let first = text.lines().next()?;
    let pad = &first[..first.len() - first.trim_start().len()];
    let padded = |line: &str| line.trim().is_empty() || line.starts_with(pad);
    if pad.is_empty() || !text.lines().all(padded) {
        return None;
    }
    let rest = |line: &str| line.strip_prefix(pad).unwrap_or(line.trim_start_matches([' ', '\t'])).to_owned();
    Some(text.split_inclusive('\n').map(rest).collect())
}
