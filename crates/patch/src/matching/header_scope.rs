//! Weighs a hunk's header against the places where its lines stand. The header decides between several places.

use super::align::{HunkAligner, line_weight};
use super::candidate::{HunkCandidate, MatchPass};
use super::find_hunk::PlacementMiss;
use super::header::{
    block_end, continues_block, find_headers, find_known_headers, header_reach, header_spans,
    starts_next_block,
};
use super::header_choice::{has_context_lines, has_full_context};
use super::line_compare::is_blank;
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;
use crate::engine_part::EnginePart;

/// Old lines of this total weight say more than a header: two or three lines of code.
const DECISIVE_WEIGHT: f64 = 6.0;
/// A line of this weight is more than the end of a block.
const MIN_DISTINCT_WEIGHT: f64 = 1.6;
/// The share of a hunk below its header that overrules a lightweight match elsewhere.
const MIN_RESEMBLING_SHARE: f64 = 0.3;

/// Keeps those of `fits` that lie below a header of `hunk`; `innermost` are the lines of the innermost header. A single
/// place is accepted wherever its header stands, unless the hunk is lightweight and text below the header resembles it.
pub(super) fn keep_below_headers(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    innermost: &[usize],
    mut fits: Vec<HunkCandidate>,
) -> Result<Vec<HunkCandidate>, PlacementMiss> {
    let headers = innermost_header_lines(text, hunk, innermost);
    let (Some(header), Some(first)) = (headers.first(), fits.first()) else { return Ok(fits) };
    let spans = header_spans(text, &headers, header_reach);
    if !text.budget().spend(spans.len().saturating_mul(fits.len())) {
        return Err(PlacementMiss::BudgetExhausted);
    }
    // Brackets, `end` and empty lines occur anywhere. A definition that has ended does not tell them apart.
    let says_nothing = fits.len() > 1
        && !hunk.old_lines().any(|line| line_weight(line) >= MIN_DISTINCT_WEIGHT)
        && EnginePart::BlockEnds.is_on();
    let ends = |fit: &HunkCandidate| {
        let within = spans.iter().any(|(header, end)| *header < fit.end_line() && fit.first_line() < *end);
        within && is_placed_by_block(text, hunk, fit)
    };
    let below =
        |fit: &HunkCandidate| if says_nothing { ends(fit) } else { is_below_header(text, hunk, &spans, fit) };
    if fits.iter().any(below) && (fits.len() == 1 || EnginePart::ScopeOfHeader.is_on()) {
        fits.retain(below);
        // There may have been many places, for each of many hunks.
        fits.shrink_to_fit();
        return Ok(fits);
    }
    match fits.as_slice() {
        _ if first.pass == MatchPass::Fuzzy && EnginePart::FuzzyOutside.is_on() => Err(PlacementMiss::Absent),
        [fit] if resembles_below_header(text, hunk, &spans, &fits) => {
            Err(PlacementMiss::OutsideHeader(*header, fit.first_line()))
        }
        [_] => Ok(fits),
        _ => Ok(further_below(text, hunk, *header, fits)),
    }
}

/// Returns true if the block that `fit` begins in can identify the place of `hunk`. A hunk of empty lines occurs
/// anywhere. So does one that begins with the end of the block and has no context after its change.
fn is_placed_by_block(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let ends = continues_block(text.line(fit.first_line()));
    !hunk.old_lines().all(is_blank) && (!ends || has_context_lines(text, hunk, fit, 1))
}

/// Keeps those of `fits` that stand below the first header, with anything in between, if the hunk has full context.
/// Otherwise keeps all, since the order of the hunks may decide.
fn further_below(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    header: usize,
    mut fits: Vec<HunkCandidate>,
) -> Vec<HunkCandidate> {
    let first = fits.iter().find(|fit| header < fit.end_line());
    if first.is_some_and(|first| first.pass == MatchPass::Exact && has_full_context(text, hunk, first))
        && EnginePart::FurtherBelow.is_on()
    {
        fits.retain(|fit| header < fit.end_line());
    }
    fits
}

/// Returns true if `hunk` has a header and `fit` does not lie below it.
pub(super) fn is_outside_header(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    if hunk.headers.iter().all(|header| is_blank(header)) {
        return false;
    }
    let headers = innermost_header_lines(text, hunk, &find_headers(text, &hunk.headers));
    !is_below_header(text, hunk, &header_spans(text, &headers, header_reach), fit)
}

/// Returns the lines of the innermost header of `hunk`: `innermost`, or else those of the last header that the file
/// contains.
fn innermost_header_lines(text: &DecodedText<'_>, hunk: &Hunk, innermost: &[usize]) -> Vec<usize> {
    let outer = innermost.is_empty() && hunk.headers.len() > 1 && EnginePart::OuterHeader.is_on();
    if outer { find_known_headers(text, &hunk.headers) } else { innermost.to_vec() }
}

/// Returns true if `fit` lies in the section of a header at `spans`, or covers the header's line. Also true if that
/// header is the nearest definition above: git and models name it even after its block has ended.
fn is_below_header(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    spans: &[(usize, usize)],
    fit: &HunkCandidate,
) -> bool {
    let above = || spans.iter().filter(|(header, _)| *header < fit.end_line());
    if above().any(|(_, end)| fit.first_line() < *end) {
        return true;
    }
    let Some((header, _)) = above().next_back() else { return false };
    text.budget().spend(4 * fit.first_line().saturating_sub(*header));
    fit.pass <= MatchPass::Trailing && hunk.old_start == Some(fit.first_line() + 1)
        || !(block_end(text, *header)..fit.first_line()).any(|at| starts_next_block(text, *header, at))
}

/// Returns true if enough of `hunk` stands below a header at `spans`, though not exactly.
fn resembles_below_header(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    spans: &[(usize, usize)],
    fits: &[HunkCandidate],
) -> bool {
    let below = |fit: &HunkCandidate| {
        spans.iter().any(|(header, end)| *header < fit.end_line() && fit.first_line() < *end)
    };
    let aligner = HunkAligner::new(text, hunk);
    hunk.old_lines().map(line_weight).sum::<f64>() < DECISIVE_WEIGHT
        && aligner.alignments(false, fits).any(|(share, fit)| share >= MIN_RESEMBLING_SHARE && below(&fit))
        && EnginePart::ResemblesBelow.is_on()
}
