//! Whether a file is as all the hunks of a patch leave it together: then none is to be done again, whatever else one of them
//! would fit.

use super::align::Sought;
use super::fit::{Fit, Pass, contiguous};
use super::line::{Likeness, indent, is_blank};
use super::near::ENOUGH;
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// So many lines that say something, and now stand side by side, show that what was between them is gone.
const JOINED: usize = 2;

/// Whether what `hunks` make stands in `text`, all of it, where their numbers or, unless they fit there, their order say.
pub(crate) fn is_done(text: &Text<'_>, hunks: &[Hunk], fit: bool) -> bool {
    hunks.iter().all(is_told_by_lines) && (is_by_number(text, hunks) || !fit && is_in_order(text, hunks))
}

/// Whether the lines of a hunk say all that it changes: nothing about how they end.
fn is_told_by_lines(hunk: &Hunk) -> bool {
    let ends = hunk.returns.iter().any(|returns| *returns) && !hunk.returns.iter().all(|returns| *returns);
    !ends && hunk.old_bare == hunk.new_bare && !hunk.old().eq(hunk.new_lines())
}

/// Whether a line says something.
pub(crate) fn is_telling(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Whether a hunk brings a line that says something.
fn brings(hunk: &Hunk) -> bool {
    hunk.lines.iter().any(|line| matches!(line, Line::Add(text) if is_telling(text)))
}

/// Whether what a hunk leaves says enough to know it by.
fn is_known(hunk: &Hunk) -> bool {
    brings(hunk) || hunk.new_lines().filter(|line| is_telling(line)).count() >= JOINED
}

/// Whether each hunk has left its new lines where its number says, and not all would fit where theirs do.
fn is_by_number(text: &Text<'_>, hunks: &[Hunk]) -> bool {
    [Likeness::Exact, Likeness::Trailing, Likeness::Folded].into_iter().any(|alike| {
        let (mut grown, mut fitting) = (0_isize, 0);
        let stands = hunks.iter().all(|hunk| {
            let Some(at) = hunk.at.and_then(|at| at.checked_sub(1)) else { return false };
            let now = at.checked_add_signed(grown);
            grown += hunk.new_lines().count().cast_signed() - hunk.old().count().cast_signed();
            let appended = now.is_some_and(|now| is_appended(text, hunk, now));
            fitting += usize::from(!appended && stand(text, hunk.old(), at, alike));
            let ends = |now: usize| !is_rest(hunk) || is_rest_at_end(text, hunk, now);
            is_known(hunk) && now.is_some_and(|now| stand(text, hunk.new_lines(), now, alike) && ends(now))
        });
        // What is only alike may be so before and after.
        stands && if alike == Likeness::Exact { fitting < hunks.len() } else { fitting == 0 }
    })
}

/// Whether a hunk adds to the end of a file, as one does that has lines before what comes and none after, and what it leaves
/// at the line `at` is at the end: its old lines fit there still, and are not at the end any more.
fn is_appended(text: &Text<'_>, hunk: &Hunk, at: usize) -> bool {
    let mut lines = hunk.lines.iter();
    let keeps = |line: &Line| matches!(line, Line::Keep(_));
    let adds = |line: &Line| matches!(line, Line::Add(_));
    lines.next().is_some_and(keeps)
        && lines.all(|line| keeps(line) || adds(line))
        && hunk.lines.last().is_some_and(adds)
        && at + hunk.new_lines().count() == text.len()
}

/// Whether what a hunk leaves stands before it is done too, since lines go from an end of it.
fn is_rest(hunk: &Hunk) -> bool {
    let keeps = |line: &&Line| matches!(line, Line::Keep(_));
    let leading = hunk.lines.iter().take_while(keeps).count();
    let trailing = hunk.lines.iter().rev().take_while(keeps).count();
    let new = hunk.new_lines().count();
    leading >= new || trailing >= new
}

/// Whether what a hunk leaves at the line `at` is at the end of the file that it takes lines from: nothing is left there.
fn is_rest_at_end(text: &Text<'_>, hunk: &Hunk, at: usize) -> bool {
    match hunk.lines.first() {
        Some(Line::Keep(_)) => at + hunk.new_lines().count() == text.len(),
        Some(Line::Drop(_) | Line::Add(_)) | None => at == 0,
    }
}

/// Whether `lines` stand from the line at `at` on.
fn stand<'a>(
    text: &Text<'_>,
    mut lines: impl Iterator<Item = &'a str>,
    mut at: usize,
    alike: Likeness,
) -> bool {
    // A line that is as deep as it was may have been meant to come deeper.
    let same = |line: &str, there: &str| {
        alike.holds(line, there) && (is_blank(line) || indent(line) == indent(there))
    };
    lines.all(|line| {
        at += 1;
        text.effort().spend(1) && at <= text.len() && same(line, text.line(at - 1))
    })
}

/// Where what a hunk makes stands: from this line until before that.
type Span = (usize, usize);

/// Whether some hunks are done beyond doubt, and what the others make stands between these, where their old lines do not.
fn is_in_order(text: &Text<'_>, hunks: &[Hunk]) -> bool {
    if hunks.len() < 2 {
        return false;
    }
    let mut made = Vec::new();
    for hunk in hunks {
        let known = is_known(hunk) && !is_rest(hunk);
        let places = if known { places(text, hunk.new_lines()) } else { Vec::new() };
        if known && places.is_empty() {
            return false;
        }
        made.push(places);
    }
    let sure: Vec<Option<Span>> =
        hunks.iter().zip(&made).map(|(hunk, made)| sure(text, hunk, made)).collect();
    let proven: Vec<Span> = sure.iter().flatten().copied().collect();
    let ordered = proven.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    !proven.is_empty()
        && ordered
        && (0..hunks.len()).all(|index| {
            let above = sure[..index].iter().rev().find_map(|span| *span).map_or(0, |span| span.0);
            let below = sure[index + 1..].iter().find_map(|span| *span).map_or(text.len(), |span| span.1);
            sure[index].is_some() || is_left(text, &hunks[index], (above, below), (&made[index], &proven))
        })
}

/// Every place where `lines` stand one after another, just so.
fn places<'a>(text: &Text<'_>, lines: impl Iterator<Item = &'a str>) -> Vec<Span> {
    let hunk = Hunk { lines: lines.map(|line| Line::Keep(line.to_owned())).collect(), ..Hunk::default() };
    let fits = contiguous(text, &hunk, Likeness::Exact, Pass::Exact);
    fits.iter().map(|fit| (fit.first(), fit.end())).collect()
}

/// The one place where a hunk was done, if it cannot be done anywhere.
fn sure(text: &Text<'_>, hunk: &Hunk, made: &[Span]) -> Option<Span> {
    let [span] = made else { return None };
    let olds = contiguous(text, hunk, Likeness::Trimmed, Pass::Indent);
    (brings(hunk) && olds.iter().all(|fit| shares(fit, span))).then_some(*span)
}

fn shares(fit: &Fit, (from, until): &Span) -> bool {
    fit.first() < *until && *from < fit.end()
}

/// Whether within `bounds` there is nothing left to do for a hunk whose new lines stand at `made`, if they say anything.
fn is_left(text: &Text<'_>, hunk: &Hunk, (above, below): Span, (made, proven): (&[Span], &[Span])) -> bool {
    let within = |span: &&Span| above <= span.0 && span.1 <= below;
    let here: Vec<Span> = made.iter().filter(within).copied().collect();
    if is_known(hunk) && !is_rest(hunk) {
        let olds = contiguous(text, hunk, Likeness::Trimmed, Pass::Indent);
        // What stands within what another hunk brings is of that.
        let brought = |fit: &Fit| proven.iter().any(|span| span.0 <= fit.first() && fit.end() <= span.1);
        let elsewhere = |fit: &Fit| {
            let within = above <= fit.first() && fit.end() <= below;
            within && !brought(fit) && !here.iter().any(|span| shares(fit, span))
        };
        return !here.is_empty() && !olds.iter().any(elsewhere);
    }
    // What goes, and leaves nothing to know it by, is nowhere but in what others bring.
    let goes = |line: &&Line| matches!(line, Line::Drop(text) if is_telling(text));
    let taken =
        |span: &Span| Fit { pass: Pass::Exact, at: (span.0..span.1).map(Some).collect(), doubt: None };
    let taken: Vec<Fit> = proven.iter().map(taken).collect();
    hunk.lines.iter().filter(goes).count() >= JOINED
        && Sought::of(text, hunk).best(false, &taken).is_none_or(|(share, _)| share < ENOUGH)
}
