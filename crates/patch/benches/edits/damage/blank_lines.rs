//! Damage: blank lines that the patch lacks or has too many of.

use crate::case_draft::{CaseDraft, DraftHunk, LinePresence, LineSign, PatchLine};
use crate::seeded_random::CaseRandom;

fn is_blank(said: &PatchLine) -> bool {
    said.text.trim().is_empty()
}

/// Returns true if lines are inserted next to the one at `at` without replacing any. Then this line gives their place.
pub(crate) fn borders_insertion(part: &DraftHunk, at: usize) -> bool {
    let sign = |at: Option<usize>| at.and_then(|at| part.lines.get(at)).map(|said| said.sign);
    // Adjacent blank lines share their neighbours.
    let mut above = at;
    while above > 0 && is_blank(&part.lines[above - 1]) && part.lines[above - 1].sign == LineSign::Keep {
        above -= 1;
    }
    let mut below = at;
    while below + 1 < part.lines.len()
        && is_blank(&part.lines[below + 1])
        && part.lines[below + 1].sign == LineSign::Keep
    {
        below += 1;
    }
    let after = below + 1;
    if sign(Some(after)) == Some(LineSign::Add) {
        let end = (after..part.lines.len()).find(|at| part.lines[*at].sign != LineSign::Add);
        if sign(end) != Some(LineSign::Drop) {
            return true;
        }
    }
    let before = above.checked_sub(1);
    if sign(before) == Some(LineSign::Add) {
        let start = (0..above).rev().find(|at| part.lines[*at].sign != LineSign::Add);
        if sign(start) != Some(LineSign::Drop) {
            return true;
        }
    }
    false
}

/// Returns true if the patch means something else without the line at `at`: added lines become adjacent, replace
/// removed lines, or lose their only neighbour.
fn joins(part: &DraftHunk, at: usize) -> bool {
    let other = |said: &&PatchLine| said.sign != LineSign::Keep || !is_blank(said);
    let before = part.lines[..at].iter().rev().find(other).map(|said| said.sign);
    let after = part.lines[at + 1..].iter().find(other).map(|said| said.sign);
    let adds = |lines: &[PatchLine]| lines.iter().all(|said| said.sign == LineSign::Add || is_blank(said));
    match (before, after) {
        (Some(LineSign::Add), Some(LineSign::Drop | LineSign::Add))
        | (Some(LineSign::Drop), Some(LineSign::Add)) => true,
        (Some(LineSign::Add), _) => adds(&part.lines[..at]),
        (_, Some(LineSign::Add)) => adds(&part.lines[at..]),
        (Some(LineSign::Keep | LineSign::Drop) | None, Some(LineSign::Keep | LineSign::Drop) | None) => false,
    }
}

/// Drops the blank context lines from the patch.
pub(crate) fn drop_blank_context(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    without(draft, &[LineSign::Keep])
}

/// Drops all blank lines from the patch except added ones.
pub(crate) fn drop_all_blank(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    without(draft, &[LineSign::Keep, LineSign::Drop])
}

fn without(draft: &mut CaseDraft, signs: &[LineSign]) -> bool {
    let (mut unsaid, mut any) = (Vec::new(), false);
    for part in &mut draft.parts {
        let goes = |said: &PatchLine| is_blank(said) && signs.contains(&said.sign);
        for (at, said) in part.lines.iter().enumerate().filter(|(_, said)| goes(said)) {
            any = true;
            if joins(part, at) {
                return false;
            }
            draft.doubt |= borders_insertion(part, at);
            if said.sign == LineSign::Drop {
                unsaid.extend(said.cell);
            }
        }
        part.lines.retain(|said| !goes(said));
        draft.doubt |=
            !part.lines.iter().any(|said| said.sign != LineSign::Keep) || part.old_lines().next().is_none();
    }
    // It is unclear whether a blank line that the patch does not mention is to be removed.
    for id in unsaid {
        draft.doubt = true;
        if let Some(cell) = draft.cell_mut(id) {
            cell.there = LinePresence::Open;
        }
    }
    any
}

/// Adds blank context lines to the patch that are not in the file.
pub(crate) fn add_blank_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let keeps = part.telling_lines(LineSign::Keep);
    let Some(at) = chance.pick(&keeps) else { return false };
    let at = at + chance.below(2);
    // Next to blank lines of which one is removed, it would be unclear which of them exist.
    let goes = |said: &PatchLine| said.sign == LineSign::Drop;
    let above = part.lines[..at].iter().rev().take_while(|said| is_blank(said));
    if above.chain(part.lines[at..].iter().take_while(|said| is_blank(said))).any(goes) {
        return false;
    }
    for _ in 0..=chance.below(2) {
        part.lines.insert(at, PatchLine { sign: LineSign::Keep, text: String::new(), cell: None });
    }
    true
}
