//! A patch as part of an answer: in the only fence among words, or indented as a whole.

use super::lines::Lines;
use super::wrapper::Source;
use super::{json, marker, unified};

/// What is in the only fence of a text, if that holds a patch and nothing of one stands outside.
pub(super) fn fenced<'a>(source: &Source<'a>) -> Option<Source<'a>> {
    let lines = Lines::of(source);
    let line = |at: usize| lines.get(at).unwrap_or_default();
    let open = (0..lines.len()).find(|at| fence(line(*at)).is_some())?;
    let (sign, length) = fence(line(open))?;
    // A line of the patch that looks like a fence has a sign before it, and so does not begin where the fence does.
    let pad = line(open).len() - line(open).trim_start().len();
    let closes = |at: &usize| {
        let text = line(*at).trim_end();
        let inside = text.get(pad..).unwrap_or_default();
        fence(text).is_some() && inside.len() >= length && inside.chars().all(|other| other == sign)
    };
    let close = (open + 1..lines.len()).find(closes)?;
    let words = || (0..open).chain(close + 1..lines.len());
    let of_patch = |at: usize| {
        marker::is_marker(line(at)) || unified::begins(&lines, at) || line(at).trim_start().starts_with("@@")
    };
    let text = lines.span(open + 1, close);
    let holds = json::looks_like(text) || (open..close).any(of_patch);
    if words().any(|at| of_patch(at) || fence(line(at)).is_some()) || !holds {
        return None;
    }
    Some(Source { text, first: lines.number(open + 1), whole: true, closed: true })
}

/// The sign of a fence, and how many of it there are.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find_map(|sign| {
        let length = line.len() - line.trim_start_matches(sign).len();
        (length >= 3).then_some((sign, length))
    })
}

/// The text without the blanks that stand before all of its lines, if there are any.
pub(super) fn dedented(text: &str) -> Option<String> {
    let first = text.lines().next()?;
    let pad = &first[..first.len() - first.trim_start().len()];
    let padded = |line: &str| line.trim().is_empty() || line.starts_with(pad);
    if pad.is_empty() || !text.lines().all(padded) {
        return None;
    }
    let rest = |line: &str| line.strip_prefix(pad).unwrap_or(line.trim_start_matches([' ', '\t'])).to_owned();
    Some(text.split_inclusive('\n').map(rest).collect())
}
