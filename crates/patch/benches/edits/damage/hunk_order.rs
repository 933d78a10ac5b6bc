//! Damage: hunks out of order or dependent on each other, and patches that are already applied, partly or fully.

use crate::case_draft::{
    CaseDraft, CaseGoal, DraftFormat, DraftHunk, HunkNumbers, LinePresence, LineSign, PatchLine,
};
use crate::seeded_random::CaseRandom;

/// The number of context lines of the second of two hunks.
const AROUND: usize = 3;

/// Changes the order of the hunks.
pub(crate) fn shuffle_hunks(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let count = draft.parts.len();
    if count < 2 {
        return false;
    }
    let first = chance.below(count);
    draft.parts.swap(first, (first + 1 + chance.below(count - 1)) % count);
    draft.shuffled = true;
    true
}

/// Gives a second hunk the new lines of the first as context.
pub(crate) fn second_after_first(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    split(draft, LineSign::Drop)
}

/// Gives a second hunk the removed lines of the first as context.
pub(crate) fn second_before_first(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    split(draft, LineSign::Add)
}

/// Splits a hunk in two. The second has those lines of the first as context whose sign is not `without`.
fn split(draft: &mut CaseDraft, without: LineSign) -> bool {
    let Some((at, start)) =
        (0..draft.parts.len()).find_map(|at| Some((at, seam(&draft.parts[at], without)?)))
    else {
        return false;
    };
    let part = draft.parts[at].clone();
    let run = part.lines[..start].iter().rev().take_while(|said| said.sign == LineSign::Keep).count();
    let first = part.lines[..start].to_vec();
    let before: Vec<PatchLine> = part.lines[..start]
        .iter()
        .filter(|said| said.sign != without)
        .map(|said| PatchLine { sign: LineSign::Keep, ..said.clone() })
        .collect();
    let shared = before.len().saturating_sub(AROUND.max(run + 1));
    let second: Vec<PatchLine> =
        before[shared..].iter().cloned().chain(part.lines[start..].iter().cloned()).collect();
    let numbers =
        if draft.manner.format == DraftFormat::Unified { HunkNumbers::Missing } else { HunkNumbers::Right };
    draft.parts[at] = DraftHunk { lines: first, ..part.clone() };
    draft.parts.insert(at + 1, DraftHunk { lines: second, numbers, ..part });
    true
}

/// Returns the start of a hunk's second change, if the first is near and has lines whose sign is not `without`.
fn seam(part: &DraftHunk, without: LineSign) -> Option<usize> {
    let is_keep = |at: &usize| part.lines[*at].sign == LineSign::Keep;
    let first = (0..part.lines.len()).find(|at| !is_keep(at))?;
    let run = (first..part.lines.len()).find(is_keep)?;
    let second = (run..part.lines.len()).find(|at| !is_keep(at))?;
    let shows = part.lines[first..run].iter().any(|said| said.sign != without);
    (second - run < AROUND && shows).then_some(second)
}

/// Applies a hunk to the file.
fn apply(draft: &mut CaseDraft, part: usize) {
    let lines = draft.parts[part].lines.clone();
    for said in lines {
        match (said.sign, said.cell) {
            (LineSign::Drop, Some(id)) => draft.cells.retain(|cell| cell.id != id),
            (LineSign::Add, Some(id)) => {
                if let Some(cell) = draft.cell_mut(id) {
                    cell.there = LinePresence::Both;
                }
            }
            (LineSign::Keep, _) | (_, None) => {}
        }
    }
    draft.parts[part].done = true;
}

/// Applies the first of several hunks beforehand.
pub(crate) fn apply_first_hunk(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    if draft.parts.len() < 2 {
        return false;
    }
    apply(draft, 0);
    true
}

/// Applies the whole patch beforehand.
pub(crate) fn apply_all_hunks(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    for part in 0..draft.parts.len() {
        apply(draft, part);
    }
    draft.goal = CaseGoal::Already;
    true
}
