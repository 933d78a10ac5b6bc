//! Detects an applied patch whose new lines match inexactly: reverting and reapplying it restores the same file.

use std::collections::HashSet;
use std::ops::Range;

use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::matching::{HunkPlacement, LineEdits, has_alphanumeric, has_rival_outside, place_hunks};
use crate::rewrite::{LineEndPolicy, rewrite_text};

/// This many lines with alphanumeric characters do not stand together by chance.
const TOGETHER: usize = 2;

/// Returns true if `text` is the result of `hunks`, and no other place remains where they may be meant.
pub(crate) fn was_applied_before(text: &DecodedText<'_>, hunks: &[Hunk], endings: LineEndPolicy) -> bool {
    if !hunks.iter().all(|hunk| hunk.unsigned.is_empty()) || !are_telling(hunks) {
        return false;
    }
    // This search has its own share of the budget: a refused patch is told the reason, not that the search took long.
    text.budget().with_share(|part| is_made(&text.clone().with_budget(part), hunks, endings))
}

fn is_made(text: &DecodedText<'_>, hunks: &[Hunk], endings: LineEndPolicy) -> bool {
    let back: Vec<Hunk> = hunks.iter().map(reversed).collect();
    let Some(landings) = landings(text, &back) else { return false };
    if hunks.iter().zip(&landings).any(|(hunk, landing)| has_rival_outside(text, hunk, span(hunk, landing))) {
        return false;
    }
    let before = text.with_content(rewrite_text(text, &landings.iter().collect::<Vec<_>>(), endings));
    let Some(again) = self::landings(&before, hunks) else { return false };
    let after = rewrite_text(&before, &again.iter().collect::<Vec<_>>(), endings);
    after == text.as_str() && !text.budget().is_exhausted()
}

/// Returns the landings of `hunks`, if each of them changes something.
fn landings(text: &DecodedText<'_>, hunks: &[Hunk]) -> Option<Vec<LineEdits>> {
    let landing = |placed: HunkPlacement| match placed {
        HunkPlacement::Here(_, landing) => Some(landing),
        HunkPlacement::Already(_) => None,
    };
    place_hunks(text, hunks).ok()?.into_iter().map(landing).collect()
}

/// Returns the approximate line range of a hunk, given the lines that `landing` changes.
fn span(hunk: &Hunk, landing: &LineEdits) -> Range<usize> {
    let keeps = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
    let above = hunk.lines.iter().take_while(keeps).count();
    let below = hunk.lines.iter().rev().take_while(keeps).count();
    let changed = || landing.drops.iter().copied().chain(landing.adds.iter().map(|(at, _)| *at));
    let (first, last) = (changed().min().unwrap_or(0), changed().max().unwrap_or(0));
    first.saturating_sub(above)..last + 1 + below
}

/// Returns the hunk that reverts this one.
fn reversed(hunk: &Hunk) -> Hunk {
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
        at: hunk.new_at,
        new_at: hunk.at,
        lines,
        old_bare: hunk.new_bare,
        new_bare: hunk.old_bare,
        returns: Vec::new(),
        ..hunk.clone()
    }
}

/// Returns true if the new lines are specific enough to recognise the hunks. Other hunks vouch for one that adds
/// nothing.
fn are_telling(hunks: &[Hunk]) -> bool {
    let named = |hunk: &Hunk| hunk.headers.iter().any(|header| has_alphanumeric(header));
    let known = |hunk: &Hunk| hunk.new_lines().filter(|line| has_alphanumeric(line)).count() >= TOGETHER;
    let brings = |hunk: &Hunk| {
        let old: HashSet<&str> = hunk.old_lines().collect();
        // Another copy of an existing line may be meant.
        let is_new = |text: &str| has_alphanumeric(text) && !old.contains(text);
        hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if is_new(text)))
    };
    hunks.iter().any(brings) && hunks.iter().all(|hunk| known(hunk) || named(hunk) && brings(hunk))
}
