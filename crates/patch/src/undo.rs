//! Whether a patch was applied, though what it makes does not stand there just so: then taking it back, and applying it
//! again, gives the same file.

use std::collections::HashSet;
use std::ops::Range;

use crate::edit::{Hunk, Line};
use crate::matching::{Landing, Placed, is_elsewhere, is_telling, place};
use crate::rewrite::{Endings, rewrite};
use crate::text::Text;

/// So many lines that say something do not stand together by chance.
const TOGETHER: usize = 2;

/// Whether `text` is what `hunks` make of some other, and there is no place where they could still be meant.
pub(crate) fn is_applied(text: &Text<'_>, hunks: &[Hunk], endings: Endings) -> bool {
    if !hunks.iter().all(|hunk| hunk.unsigned.is_empty()) || !are_telling(hunks) {
        return false;
    }
    // Whoever is refused is told why, and not that this took long.
    text.effort().within(|part| is_made(&text.clone().counted(part), hunks, endings))
}

fn is_made(text: &Text<'_>, hunks: &[Hunk], endings: Endings) -> bool {
    let back: Vec<Hunk> = hunks.iter().map(reversed).collect();
    let Some(landings) = landings(text, &back) else { return false };
    if hunks.iter().zip(&landings).any(|(hunk, landing)| is_elsewhere(text, hunk, span(hunk, landing))) {
        return false;
    }
    let before = text.rewritten(rewrite(text, &landings.iter().collect::<Vec<_>>(), endings));
    let Some(again) = self::landings(&before, hunks) else { return false };
    let after = rewrite(&before, &again.iter().collect::<Vec<_>>(), endings);
    after == text.as_str() && !text.effort().is_spent()
}

/// What `hunks` do, if there is something to do for each.
fn landings(text: &Text<'_>, hunks: &[Hunk]) -> Option<Vec<Landing>> {
    let landing = |placed: Placed| match placed {
        Placed::Here(_, landing) => Some(landing),
        Placed::Already(_) => None,
    };
    place(text, hunks).ok()?.into_iter().map(landing).collect()
}

/// The lines that a hunk covers, about, of which `landing` changes some.
fn span(hunk: &Hunk, landing: &Landing) -> Range<usize> {
    let keeps = |line: &&Line| matches!(line, Line::Keep(_));
    let above = hunk.lines.iter().take_while(keeps).count();
    let below = hunk.lines.iter().rev().take_while(keeps).count();
    let changed = || landing.drops.iter().copied().chain(landing.adds.iter().map(|(at, _)| *at));
    let (first, last) = (changed().min().unwrap_or(0), changed().max().unwrap_or(0));
    first.saturating_sub(above)..last + 1 + below
}

/// The hunk that takes back what this one does.
fn reversed(hunk: &Hunk) -> Hunk {
    let (mut lines, mut adds) = (Vec::new(), Vec::new());
    for line in &hunk.lines {
        match line {
            Line::Keep(text) => {
                lines.append(&mut adds);
                lines.push(Line::Keep(text.clone()));
            }
            // What comes is written after what goes.
            Line::Drop(text) => adds.push(Line::Add(text.clone())),
            Line::Add(text) => lines.push(Line::Drop(text.clone())),
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

/// Whether what hunks leave says enough to know them by: one that brings nothing is known by others.
fn are_telling(hunks: &[Hunk]) -> bool {
    let named = |hunk: &Hunk| hunk.headers.iter().any(|header| is_telling(header));
    let known = |hunk: &Hunk| hunk.new_lines().filter(|line| is_telling(line)).count() >= TOGETHER;
    let brings = |hunk: &Hunk| {
        let old: HashSet<&str> = hunk.old().collect();
        // One more of what is there may be meant.
        let is_new = |text: &str| is_telling(text) && !old.contains(text);
        hunk.lines.iter().any(|line| matches!(line, Line::Add(text) if is_new(text)))
    };
    hunks.iter().any(brings) && hunks.iter().all(|hunk| known(hunk) || named(hunk) && brings(hunk))
}
