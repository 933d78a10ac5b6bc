//! Detects an applied patch whose new lines match inexactly: reverting and reapplying it restores the same file.

use std::collections::HashSet;
use std::ops::Range;

use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::matching::{HunkPlacement, LineEdits, has_alphanumeric, has_rival_outside, place_hunks};
use crate::rewrite::{LineEndPolicy, rewrite_text};

/// This many lines with alphanumeric characters do not stand together by chance.
const MIN_SPECIFIC_LINES: usize = 2;

/// Returns true if `text` is the result of `hunks`, and no other place remains where they may be meant.
pub(crate) fn was_applied_before(text: &DecodedText<'_>, hunks: &[Hunk], endings: LineEndPolicy) -> bool {
    if !hunks.iter().all(|hunk| hunk.unsigned_lines.is_empty()) || !are_specific(hunks) {
        return false;
    }
    // This search has its own share of the budget: a refused patch is told the reason, not that the search took long.
    text.budget().with_share(|part| reapplies_after_revert(&text.clone().with_budget(part), hunks, endings))
        && EnginePart::AppliedReverted.is_on()
}

fn reapplies_after_revert(text: &DecodedText<'_>, hunks: &[Hunk], endings: LineEndPolicy) -> bool {
    let reverse_hunks: Vec<Hunk> = hunks.iter().map(reverse_hunk).collect();
    let Some(revert_edits) = edits_of_all_hunks(text, &reverse_hunks) else { return false };
    if hunks
        .iter()
        .zip(&revert_edits)
        .any(|(hunk, line_edits)| has_rival_outside(text, hunk, changed_line_range(hunk, line_edits)))
    {
        return false;
    }
    let before = text.with_content(rewrite_text(text, &revert_edits.iter().collect::<Vec<_>>(), endings));
    let Some(reapply_edits) = self::edits_of_all_hunks(&before, hunks) else { return false };
    let after = rewrite_text(&before, &reapply_edits.iter().collect::<Vec<_>>(), endings);
    after == text.as_str() && !text.budget().is_exhausted()
}

/// Returns the landings of `hunks`, if each of them changes something.
fn edits_of_all_hunks(text: &DecodedText<'_>, hunks: &[Hunk]) -> Option<Vec<LineEdits>> {
    let placed_edits = |placed: HunkPlacement| match placed {
        HunkPlacement::Placed(_, line_edits) => Some(line_edits),
        HunkPlacement::AlreadyApplied(_) => None,
    };
    place_hunks(text, hunks).ok()?.into_iter().map(placed_edits).collect()
}

/// Returns the approximate line range of a hunk, given the lines that `line_edits` change.
fn changed_line_range(hunk: &Hunk, line_edits: &LineEdits) -> Range<usize> {
    let keeps = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
    let above = hunk.lines.iter().take_while(keeps).count();
    let below = hunk.lines.iter().rev().take_while(keeps).count();
    let changed = || line_edits.drops.iter().copied().chain(line_edits.adds.iter().map(|(at, _)| *at));
    let (first, last) = (changed().min().unwrap_or(0), changed().max().unwrap_or(0));
    first.saturating_sub(above)..last + 1 + below
}

/// Returns the hunk that reverts this one.
fn reverse_hunk(hunk: &Hunk) -> Hunk {
    let (mut lines, mut adds) = (Vec::new(), Vec::new());
    for line in &hunk.lines {
        match line {
            HunkLine::Keep(text) => {
                lines.append(&mut adds);
                lines.push(HunkLine::Keep(text.clone()));
            }
            // Added lines are written after removed ones.
            HunkLine::Drop(text) => adds.push(HunkLine::Add(text.clone())),
            HunkLine::Add(text) => lines.push(HunkLine::Drop(text.clone())),
        }
    }
    lines.append(&mut adds);
    Hunk {
        old_start: hunk.new_start,
        new_start: hunk.old_start,
        lines,
        old_without_newline: hunk.new_without_newline,
        new_without_newline: hunk.old_without_newline,
        crlf: Vec::new(),
        ..hunk.clone()
    }
}

/// Returns true if the new lines are specific enough to recognise the hunks. Other hunks vouch for one that adds
/// nothing.
fn are_specific(hunks: &[Hunk]) -> bool {
    let has_specific_header = |hunk: &Hunk| hunk.headers.iter().any(|header| has_alphanumeric(header));
    let has_enough_lines =
        |hunk: &Hunk| hunk.new_lines().filter(|line| has_alphanumeric(line)).count() >= MIN_SPECIFIC_LINES;
    let adds_new_line = |hunk: &Hunk| {
        let old: HashSet<&str> = hunk.old_lines().collect();
        // Another copy of an existing line may be meant.
        let is_new = |text: &str| has_alphanumeric(text) && !old.contains(text);
        hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if is_new(text)))
    };
    hunks.iter().any(adds_new_line)
        && hunks.iter().all(|hunk| has_enough_lines(hunk) || has_specific_header(hunk) && adds_new_line(hunk))
}
