//! Detects a file that already is the result of all hunks of a patch, so that none is applied again elsewhere.

use super::align::HunkAligner;
use super::candidate::{HunkCandidate, MatchPass, find_contiguous};
use super::fuzzy::MIN_SHARE;
use super::line_compare::{LineLikeness, indentation, is_blank};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// This many alphanumeric lines that now stand side by side prove that the lines between them were removed.
const MIN_JOINED_LINES: usize = 2;

/// Returns true if the new lines of all `hunks` stand in `text`: at their line numbers, or in their order if `fit` is
/// false. `fit`: the hunks match at their numbers.
pub(crate) fn are_all_applied(text: &DecodedText<'_>, hunks: &[Hunk], fit: bool) -> bool {
    hunks.iter().all(is_expressed_by_lines)
        && (are_applied_by_number(text, hunks) && EnginePart::AppliedByNumber.is_on()
            || !fit && are_applied_in_order(text, hunks) && EnginePart::AppliedInOrder.is_on())
}

/// Returns true if the lines of a hunk express its whole change, so that it changes no line ends.
fn is_expressed_by_lines(hunk: &Hunk) -> bool {
    let changes_line_ends =
        hunk.crlf.iter().any(|returns| *returns) && !hunk.crlf.iter().all(|returns| *returns);
    !changes_line_ends
        && hunk.old_without_newline == hunk.new_without_newline
        && !hunk.old_lines().eq(hunk.new_lines())
}

/// Returns true if a line contains an alphanumeric character.
pub(crate) fn has_alphanumeric(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Returns true if a hunk adds a line with an alphanumeric character.
fn adds_specific_line(hunk: &Hunk) -> bool {
    hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if has_alphanumeric(text)))
}

/// Returns true if the new lines of a hunk are specific enough to recognise it.
fn is_recognizable(hunk: &Hunk) -> bool {
    adds_specific_line(hunk)
        || hunk.new_lines().filter(|line| has_alphanumeric(line)).count() >= MIN_JOINED_LINES
}

/// Returns true if each hunk's new lines stand at its line number, and not all old lines fit at theirs.
fn are_applied_by_number(text: &DecodedText<'_>, hunks: &[Hunk]) -> bool {
    [LineLikeness::Exact, LineLikeness::Trailing, LineLikeness::Folded].into_iter().any(|alike| {
        let (mut line_shift, mut fitting) = (0_isize, 0);
        let stands = hunks.iter().all(|hunk| {
            let Some(at) = hunk.old_start.and_then(|at| at.checked_sub(1)) else { return false };
            let now = at.checked_add_signed(line_shift);
            line_shift += hunk.new_lines().count().cast_signed() - hunk.old_lines().count().cast_signed();
            let appended = now.is_some_and(|now| is_appended(text, hunk, now));
            fitting += usize::from(!appended && lines_match_at(text, hunk.old_lines(), at, alike));
            let ends = |now: usize| !has_result_beforehand(hunk) || is_result_at_file_end(text, hunk, now);
            is_recognizable(hunk)
                && now.is_some_and(|now| lines_match_at(text, hunk.new_lines(), now, alike) && ends(now))
        });
        // Lines that are merely similar may be similar before and after.
        stands && if alike == LineLikeness::Exact { fitting < hunks.len() } else { fitting == 0 }
    })
}

/// Returns true if a hunk appends to the end of a file, and its new lines at line `at` end the file. Such a hunk has
/// context before its added lines and none after. Its old lines still match there, but no longer at the end.
fn is_appended(text: &DecodedText<'_>, hunk: &Hunk, at: usize) -> bool {
    let mut lines = hunk.lines.iter();
    let keeps = |line: &HunkLine| matches!(line, HunkLine::Keep(_));
    let adds = |line: &HunkLine| matches!(line, HunkLine::Add(_));
    lines.next().is_some_and(keeps)
        && lines.all(|line| keeps(line) || adds(line))
        && hunk.lines.last().is_some_and(adds)
        && at + hunk.new_lines().count() == text.len()
}

/// Returns true if a hunk's new lines also stand there before it is applied, since it removes lines at one of its ends.
fn has_result_beforehand(hunk: &Hunk) -> bool {
    let keeps = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
    let leading = hunk.lines.iter().take_while(keeps).count();
    let trailing = hunk.lines.iter().rev().take_while(keeps).count();
    let new = hunk.new_lines().count();
    leading >= new || trailing >= new
}

/// Returns true if the new lines at line `at` are at the end of the file from which the hunk removes lines.
fn is_result_at_file_end(text: &DecodedText<'_>, hunk: &Hunk, at: usize) -> bool {
    match hunk.lines.first() {
        Some(HunkLine::Keep(_)) => at + hunk.new_lines().count() == text.len(),
        Some(HunkLine::Drop(_) | HunkLine::Add(_)) | None => at == 0,
    }
}

/// Returns true if `lines` stand from line `at` on.
fn lines_match_at<'a>(
    text: &DecodedText<'_>,
    mut lines: impl Iterator<Item = &'a str>,
    mut at: usize,
    alike: LineLikeness,
) -> bool {
    // A line at its old indentation may have been meant to become deeper.
    let same = |line: &str, there: &str| {
        alike.accepts(line, there) && (is_blank(line) || indentation(line) == indentation(there))
    };
    lines.all(|line| {
        at += 1;
        text.budget().spend(1) && at <= text.len() && same(line, text.line(at - 1))
    })
}

/// The lines from the first (inclusive) to the second (exclusive) that hold a hunk's new lines.
type AppliedSpan = (usize, usize);

/// Returns true if some hunks are certainly applied, and the new lines of the others stand between them, without their
/// old lines.
fn are_applied_in_order(text: &DecodedText<'_>, hunks: &[Hunk]) -> bool {
    if hunks.len() < 2 {
        return false;
    }
    let mut applied_spans = Vec::new();
    for hunk in hunks {
        let known = is_recognizable(hunk) && !has_result_beforehand(hunk);
        let places = if known { find_exact_spans(text, hunk.new_lines()) } else { Vec::new() };
        if known && places.is_empty() {
            return false;
        }
        applied_spans.push(places);
    }
    let certain: Vec<Option<AppliedSpan>> =
        hunks.iter().zip(&applied_spans).map(|(hunk, made)| find_certain_span(text, hunk, made)).collect();
    let proven: Vec<AppliedSpan> = certain.iter().flatten().copied().collect();
    let ordered = proven.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    !proven.is_empty()
        && ordered
        && (0..hunks.len()).all(|index| {
            let above = certain[..index].iter().rev().find_map(|span| *span).map_or(0, |span| span.0);
            let below = certain[index + 1..].iter().find_map(|span| *span).map_or(text.len(), |span| span.1);
            certain[index].is_some()
                || is_nothing_left_to_do(
                    text,
                    &hunks[index],
                    (above, below),
                    (&applied_spans[index], &proven),
                )
        })
}

/// Returns every place where `lines` stand one after another exactly.
fn find_exact_spans<'a>(text: &DecodedText<'_>, lines: impl Iterator<Item = &'a str>) -> Vec<AppliedSpan> {
    let hunk = Hunk { lines: lines.map(|line| HunkLine::Keep(line.to_owned())).collect(), ..Hunk::default() };
    let fits = find_contiguous(text, &hunk, LineLikeness::Exact, MatchPass::Exact);
    fits.iter().map(|fit| (fit.first_line(), fit.end_line())).collect()
}

/// Returns the only place where a hunk was applied, if it cannot be applied anywhere else.
fn find_certain_span(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    applied_spans: &[AppliedSpan],
) -> Option<AppliedSpan> {
    let [span] = applied_spans else { return None };
    let olds = find_contiguous(text, hunk, LineLikeness::Trimmed, MatchPass::Indent);
    (adds_specific_line(hunk) && olds.iter().all(|fit| overlaps_span(fit, span))).then_some(*span)
}

fn overlaps_span(fit: &HunkCandidate, (from, until): &AppliedSpan) -> bool {
    fit.first_line() < *until && *from < fit.end_line()
}

/// Returns true if nothing is left to do for a hunk within the bounds `above` and `below`. `applied_spans` are the
/// places of its new lines.
fn is_nothing_left_to_do(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    (above, below): AppliedSpan,
    (applied_spans, proven): (&[AppliedSpan], &[AppliedSpan]),
) -> bool {
    let within = |span: &&AppliedSpan| above <= span.0 && span.1 <= below;
    let here: Vec<AppliedSpan> = applied_spans.iter().filter(within).copied().collect();
    if is_recognizable(hunk) && !has_result_beforehand(hunk) {
        let olds = find_contiguous(text, hunk, LineLikeness::Trimmed, MatchPass::Indent);
        // Old lines within the new lines of another hunk belong to that hunk.
        let is_in_other_hunk = |fit: &HunkCandidate| {
            proven.iter().any(|span| span.0 <= fit.first_line() && fit.end_line() <= span.1)
        };
        let elsewhere = |fit: &HunkCandidate| {
            let within = above <= fit.first_line() && fit.end_line() <= below;
            within && !is_in_other_hunk(fit) && !here.iter().any(|span| overlaps_span(fit, span))
        };
        return !here.is_empty() && !olds.iter().any(elsewhere);
    }
    // Removed lines that leave no trace must exist only within the new lines of other hunks.
    let goes = |line: &&HunkLine| matches!(line, HunkLine::Drop(text) if has_alphanumeric(text));
    let taken = |span: &AppliedSpan| HunkCandidate {
        pass: MatchPass::Exact,
        positions: (span.0..span.1).map(Some).collect(),
        doubt: None,
    };
    let taken: Vec<HunkCandidate> = proven.iter().map(taken).collect();
    hunk.lines.iter().filter(goes).count() >= MIN_JOINED_LINES
        && HunkAligner::new(text, hunk)
            .best_alignment(false, &taken)
            .is_none_or(|(share, _)| share < MIN_SHARE)
}
