//! Finds places where the old lines of a hunk stand one after another, ignoring empty lines.

use super::candidate::{HunkCandidate, MatchPass, charge_candidate};
use super::line_compare::{fold_line, is_blank};
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;

/// Returns every place where the non-empty old lines of `hunk` stand in sequence. Empty lines may be missing or extra
/// on either side.
pub(crate) fn find_ignoring_empty(text: &DecodedText<'_>, hunk: &Hunk) -> Vec<HunkCandidate> {
    let pattern: Vec<&str> = hunk.old_lines().collect();
    let wanted: Vec<usize> = (0..pattern.len()).filter(|at| !is_blank(pattern[*at])).collect();
    let there = text.index().nonblank_lines();
    let Some(rare) = (0..wanted.len()).max_by_key(|at| pattern[wanted[*at]].trim().len()) else {
        return Vec::new();
    };
    let mut fits = Vec::new();
    for place in text.index().lines_like(pattern[wanted[rare]]) {
        let start = there.binary_search(place).ok().and_then(|anchor| anchor.checked_sub(rare));
        let Some(window) = start.map(|start| &there[start..]).filter(|window| window.len() >= wanted.len())
        else {
            continue;
        };
        let same = |(wanted, there): &(&usize, &usize)| {
            fold_line(pattern[**wanted]) == fold_line(text.line(**there))
        };
        let count = wanted.iter().zip(window).take_while(same).count();
        if !text.budget().spend(4 * count + 1) {
            break;
        }
        if count == wanted.len() && charge_candidate(text, pattern.len()) {
            let positions = positions_with_empty_lines(text, &pattern, &wanted, window);
            fits.push(HunkCandidate { pass: MatchPass::EmptyLines, positions, doubt: None });
        }
    }
    fits
}

/// Returns the position of each line of `pattern`, given that those at `wanted` are at `there`. Empty lines match empty
/// lines between the same neighbours.
fn positions_with_empty_lines(
    text: &DecodedText<'_>,
    pattern: &[&str],
    wanted: &[usize],
    there: &[usize],
) -> Vec<Option<usize>> {
    let mut positions = vec![None; pattern.len()];
    for (wanted, there) in wanted.iter().zip(there) {
        positions[*wanted] = Some(*there);
    }
    // Empty lines before the first match are taken from the end backwards.
    let (mut line, mut place) = (wanted[0], there[0]);
    // ends: the line comes nearer to the first
    while line > 0 && place > 0 && is_blank(text.line(place - 1)) {
        (line, place) = (line - 1, place - 1);
        positions[line] = Some(place);
    }
    for line in wanted[0] + 1..pattern.len() {
        if positions[line].is_none()
            && let Some(before) = positions[line - 1]
            && before + 1 < text.len()
            && is_blank(text.line(before + 1))
        {
            positions[line] = Some(before + 1);
        }
    }
    positions
}
