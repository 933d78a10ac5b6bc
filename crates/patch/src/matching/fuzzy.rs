//! Fuzzy search: finds the place of a hunk although context lines around it have changed.

use super::align::HunkAligner;
use super::candidate::HunkCandidate;
use super::fuzzy_accept::is_safe_fuzzy_match;
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;
use crate::engine_part::EnginePart;

/// The minimum share of a hunk that must be present.
pub(super) const MIN_SHARE: f64 = 0.55;
/// The minimum lead over any other place, for hunks that remove lines and for those that do not.
const MIN_LEAD_WITH_REMOVALS: f64 = 0.2;
const MIN_LEAD_WITHOUT_REMOVALS: f64 = 0.5;
/// The maximum number of places to tell apart.
const MAX_PLACES: usize = 6;

/// Returns the places where most of `hunk` is: one if it is clear, more if it is not.
pub(crate) fn find_fuzzy(text: &DecodedText<'_>, hunk: &Hunk) -> Vec<HunkCandidate> {
    let aligner = HunkAligner::new(text, hunk);
    let min_lead = if aligner.olds.iter().any(|old| old.is_removed) {
        MIN_LEAD_WITH_REMOVALS
    } else {
        MIN_LEAD_WITHOUT_REMOVALS
    };
    let mut fits: Vec<HunkCandidate> = Vec::new();
    let mut best_share = None;
    // ends: so many places are enough
    while fits.len() < MAX_PLACES
        && let Some((share, fit)) = aligner.best_alignment(true, &fits)
    {
        let best_share = *best_share.get_or_insert(share);
        let enough = if fits.is_empty() {
            share >= MIN_SHARE && is_safe_fuzzy_match(&aligner, hunk, &fit)
        } else {
            share > best_share - min_lead && EnginePart::FuzzyLead.is_on()
        };
        if !enough {
            break;
        }
        fits.push(if fits.is_empty() || is_safe_fuzzy_match(&aligner, hunk, &fit) {
            fit
        } else {
            HunkCandidate { doubt: Some("only some of its lines are there"), ..fit }
        });
    }
    fits
}

/// Returns the range of the file's lines that resemble `hunk` most, if any do.
pub(crate) fn closest_lines(text: &DecodedText<'_>, hunk: &Hunk) -> Option<(usize, usize)> {
    let (share, fit) = HunkAligner::new(text, hunk).best_alignment(false, &[])?;
    let missing = |at: &Option<usize>| at.is_none();
    let before = fit.positions.iter().take_while(|at| missing(at)).count();
    let after = fit.positions.iter().rev().take_while(|at| missing(at)).count();
    (share > 0.2).then(|| (fit.first_line().saturating_sub(before), (fit.end_line() + after).min(text.len())))
}
