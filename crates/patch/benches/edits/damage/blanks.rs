//! Damage: blank lines that the patch lacks or has too many of.

use crate::chance::Chance;
use crate::draft::{Draft, Part, Said, Sign, There};

fn is_blank(said: &Said) -> bool {
    said.text.trim().is_empty()
}

/// Returns true if lines are inserted next to the one at `at` without replacing any. Then this line gives their place.
pub(crate) fn borders_insertion(part: &Part, at: usize) -> bool {
    let sign = |at: Option<usize>| at.and_then(|at| part.lines.get(at)).map(|said| said.sign);
    // Adjacent blank lines share their neighbours.
    let mut above = at;
    while above > 0 && is_blank(&part.lines[above - 1]) && part.lines[above - 1].sign == Sign::Keep {
        above -= 1;
    }
    let mut below = at;
    while below + 1 < part.lines.len()
        && is_blank(&part.lines[below + 1])
        && part.lines[below + 1].sign == Sign::Keep
    {
        below += 1;
    }
    let after = below + 1;
    if sign(Some(after)) == Some(Sign::Add) {
        let end = (after..part.lines.len()).find(|at| part.lines[*at].sign != Sign::Add);
        if sign(end) != Some(Sign::Drop) {
            return true;
        }
    }
    let before = above.checked_sub(1);
    if sign(before) == Some(Sign::Add) {
        let start = (0..above).rev().find(|at| part.lines[*at].sign != Sign::Add);
        if sign(start) != Some(Sign::Drop) {
            return true;
        }
    }
    false
}

/// Returns true if the patch means something else without the line at `at`: added lines become adjacent, replace
/// removed lines, or lose their only neighbour.
fn joins(part: &Part, at: usize) -> bool {
    let other = |said: &&Said| said.sign != Sign::Keep || !is_blank(said);
    let before = part.lines[..at].iter().rev().find(other).map(|said| said.sign);
    let after = part.lines[at + 1..].iter().find(other).map(|said| said.sign);
    let adds = |lines: &[Said]| lines.iter().all(|said| said.sign == Sign::Add || is_blank(said));
    match (before, after) {
        (Some(Sign::Add), Some(Sign::Drop | Sign::Add)) | (Some(Sign::Drop), Some(Sign::Add)) => true,
        (Some(Sign::Add), _) => adds(&part.lines[..at]),
        (_, Some(Sign::Add)) => adds(&part.lines[at..]),
        (Some(Sign::Keep | Sign::Drop) | None, Some(Sign::Keep | Sign::Drop) | None) => false,
    }
}

/// Drops the blank context lines from the patch.
pub(crate) fn dropped(draft: &mut Draft, _: &mut Chance) -> bool {
    without(draft, &[Sign::Keep])
}

/// Drops all blank lines from the patch except added ones.
pub(crate) fn all_dropped(draft: &mut Draft, _: &mut Chance) -> bool {
    without(draft, &[Sign::Keep, Sign::Drop])
}

fn without(draft: &mut Draft, signs: &[Sign]) -> bool {
    let (mut unsaid, mut any) = (Vec::new(), false);
    for part in &mut draft.parts {
        let goes = |said: &Said| is_blank(said) && signs.contains(&said.sign);
        for (at, said) in part.lines.iter().enumerate().filter(|(_, said)| goes(said)) {
            any = true;
            if joins(part, at) {
                return false;
            }
            draft.doubt |= borders_insertion(part, at);
            if said.sign == Sign::Drop {
                unsaid.extend(said.cell);
            }
        }
        part.lines.retain(|said| !goes(said));
        draft.doubt |= !part.lines.iter().any(|said| said.sign != Sign::Keep) || part.old().next().is_none();
    }
    // It is unclear whether a blank line that the patch does not mention is to be removed.
    for id in unsaid {
        draft.doubt = true;
        if let Some(cell) = draft.cell_mut(id) {
            cell.there = There::Open;
        }
    }
    any
}

/// Adds blank context lines to the patch that are not in the file.
pub(crate) fn added(draft: &mut Draft, chance: &mut Chance) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let keeps = part.telling(Sign::Keep);
    let Some(at) = chance.of_these(&keeps) else { return false };
    let at = at + chance.below(2);
    // Next to blank lines of which one is removed, it would be unclear which of them exist.
    let goes = |said: &Said| said.sign == Sign::Drop;
    let above = part.lines[..at].iter().rev().take_while(|said| is_blank(said));
    if above.chain(part.lines[at..].iter().take_while(|said| is_blank(said))).any(goes) {
        return false;
    }
    for _ in 0..=chance.below(2) {
        part.lines.insert(at, Said { sign: Sign::Keep, text: String::new(), cell: None });
    }
    true
}
