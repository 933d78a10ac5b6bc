//! Chooses between several places of a hunk by its header: the nearest below it, as the patch format defines.

use super::align::line_weight;
use super::candidate::{HunkCandidate, MatchPass};
use super::fuzzy_accept::MIN_SPECIFIC_WEIGHT;
use super::header::{HeaderSection, find_headers};
use super::line_compare::{fold_line, is_blank};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};

/// The context lines on each side of a change that the patch format asks for. A hunk with fewer may match several
/// places because too little was written.
pub(super) const FULL_CONTEXT_LINES: usize = 3;
/// This many lines on each side of a change tell its place from others in the same block.
const MIN_DISTINGUISHING_LINES: usize = 2;
/// Old lines of less total weight may occur anywhere, for example an empty line and an attribute.
const MIN_TOTAL_WEIGHT: f64 = 5.0;

/// Chooses the place of `hunk` among `fits` by its header. Header and hunk must match exactly, and the header once.
///
/// A place that alone begins in the header's section is chosen. Otherwise the nearest below the header is, as the patch
/// format defines. Then the hunk must be specific enough and have context on both sides, or be at that end of the file.
/// One line of context does not tell the place from another in the header's block, nor from one that is as near. Lines
/// before `from` belong to the previous hunk.
pub(super) fn choose_nearest(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    fits: &[HunkCandidate],
    from: usize,
) -> Option<HunkCandidate> {
    if hunk.old_start.is_some() || fits.iter().any(|fit| fit.pass != MatchPass::Exact) {
        return None;
    }
    let headers = find_headers(text, &hunk.headers);
    let section = header_section(text, hunk, &headers, fits)?;
    let below = || fits.iter().filter(|fit| headers[0] < fit.end_line() && from <= fit.changed_range(hunk).0);
    if let Some(fit) = sole_candidate_until(below(), section.next_similar) {
        return Some(fit.clone());
    }
    let (first, next) = (below().next()?, below().nth(1)?);
    let apart = first.end_line() <= next.first_line();
    let told_apart = has_context_lines(text, hunk, first, MIN_DISTINGUISHING_LINES)
        || section.block_last_line < next.first_line()
            && sole_candidate_until(below(), section.next_sibling).is_some();
    let says_enough = hunk.old_lines().map(line_weight).sum::<f64>() >= MIN_TOTAL_WEIGHT;
    (apart && told_apart && says_enough && has_context_lines(text, hunk, first, 1))
        .then(|| HunkCandidate { pass: MatchPass::Nearest, ..first.clone() })
}

/// Chooses the place at the beginning of the file for a first hunk without a header. It must have context after its
/// change and none before it. A diff has none only there, and the patch format looks there first.
pub(super) fn choose_file_start(hunk: &Hunk, fits: &[HunkCandidate]) -> Option<HunkCandidate> {
    let keeps = |line: Option<&HunkLine>| matches!(line, Some(HunkLine::Keep(_)));
    let headed = hunk.headers.iter().any(|header| !is_blank(header));
    let open = fits.len() > 1 && hunk.old_start.is_none() && !headed;
    let top = |fit: &&HunkCandidate| fit.first_line() == 0 && fit.pass == MatchPass::Exact;
    let at_file_start = open && !keeps(hunk.lines.first()) && keeps(hunk.lines.last());
    fits.iter().find(top).filter(|_| at_file_start).cloned()
}

/// Returns the section of the hunk's header, if the hunk has several places and its header matches one line exactly.
fn header_section(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    headers: &[usize],
    fits: &[HunkCandidate],
) -> Option<HeaderSection> {
    let name = hunk.headers.iter().rfind(|header| !is_blank(header))?;
    let [header] = *headers else { return None };
    (fits.len() > 1 && fold_line(text.line(header)) == fold_line(name))
        .then(|| HeaderSection::from_header(text, header))
}

/// Returns the only one of `fits` that begins at or before the line `end`.
fn sole_candidate_until<'a>(
    fits: impl Iterator<Item = &'a HunkCandidate>,
    end: usize,
) -> Option<&'a HunkCandidate> {
    let mut inside = fits.filter(|fit| fit.first_line() <= end);
    inside.next().filter(|_| inside.next().is_none())
}

/// Returns true if `hunk` has `lines` context lines on each side of its change, or `fit` is at that end of the file. A
/// hunk with context on one side alone has the end of the file on the other.
pub(super) fn has_context_lines(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    fit: &HunkCandidate,
    lines: usize,
) -> bool {
    let keeps = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
    let before = hunk.lines.iter().take_while(keeps).count();
    let after = hunk.lines.iter().rev().take_while(keeps).count();
    (before >= lines || fit.first_line() == 0) && (after >= lines || fit.end_line() == text.len())
}

/// Returns true if `hunk` has full context at `fit` on each side of its change, except at an end of the file.
pub(super) fn has_full_context(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    has_context_lines(text, hunk, fit, FULL_CONTEXT_LINES)
        && count_specific_context(hunk) >= FULL_CONTEXT_LINES
}

/// Counts the context lines of `hunk` that are specific.
fn count_specific_context(hunk: &Hunk) -> usize {
    hunk.lines
        .iter()
        .filter(|line| matches!(line, HunkLine::Keep(text) if line_weight(text) >= MIN_SPECIFIC_WEIGHT))
        .count()
}
