//! What speaks for another place than the one that a hunk seems to fit, or for its being done already.

use std::ops::Range;

use super::align::{ALIKE, Old, Sought, weight};
use super::fit::{Fit, Pass};
use super::line::{Likeness, fold, indent, is_blank, similarity};
use super::near::ENOUGH;
use super::sure::TELLING;
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// How much of it elsewhere makes another place as likely.
const RIVAL: f64 = 0.97;
/// How much of it must be there to do it again where it seems to be done.
const AGAIN: f64 = 0.85;
/// How much of it must be there for its number or its header to say more than a place where all of it is.
const NEARER: f64 = 0.8;
/// How many times nearer to its number that must be, if the other is just so.
const TIMES: usize = 4;

/// Whether a place so much resembles `hunk` that it may have to be done there, although `done` is what it makes.
pub(crate) fn is_elsewhere(text: &Text<'_>, hunk: &Hunk, done: Range<usize>) -> bool {
    apart(text, hunk, &[taken(done)]).is_some()
}

/// A place that so much resembles `hunk` that it may have to be done there, although its new lines stand at `done`.
pub(crate) fn again(text: &Text<'_>, hunk: &Hunk, done: &[usize]) -> Option<Fit> {
    let length = hunk.new_lines().count();
    apart(text, hunk, &done.iter().map(|at| taken(*at..at + length)).collect::<Vec<_>>())
}

/// These lines as a place where nothing else can be.
fn taken(lines: Range<usize>) -> Fit {
    Fit { pass: Pass::Exact, at: lines.map(Some).collect(), doubt: None }
}

fn apart(text: &Text<'_>, hunk: &Hunk, taken: &[Fit]) -> Option<Fit> {
    let sought = Sought::of(text, hunk);
    let (share, fit) = sought.best(false, taken)?;
    let mut goes =
        sought.olds.iter().zip(&fit.at).filter(|(old, _)| old.goes && old.weight >= TELLING).peekable();
    let all_there =
        goes.peek().is_some() && goes.all(|(old, at)| at.is_some_and(|at| old.folded == fold(text.line(at))));
    let doubt = Some("lines of it differ there, and what it makes stands elsewhere");
    (share >= AGAIN || share >= ENOUGH && all_there).then_some(Fit { doubt, ..fit })
}

/// The place that the number of `hunk` says, if it is nowhere near `taken` and most of the hunk is there, line by line.
pub(crate) fn numbered(text: &Text<'_>, hunk: &Hunk, taken: &[usize]) -> Option<usize> {
    let number = hunk.at?.checked_sub(1)?;
    let end = number.saturating_add(hunk.old().count());
    if end > text.len() || taken.iter().any(|at| number <= *at && *at < end) {
        return None;
    }
    let lines = || hunk.old().zip(number..).map(|(ours, at)| (weight(ours), similarity(ours, text.line(at))));
    let there: f64 = lines().map(|(weight, alike)| if alike >= ALIKE { weight * alike } else { 0.0 }).sum();
    let all: f64 = lines().map(|(weight, _)| weight).sum();
    (there >= ENOUGH * all).then_some(number)
}

/// A place that is much nearer to the number of `hunk` than `fit`, and where all that changes stands too, in much the same lines.
pub(crate) fn nearer(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<usize> {
    // Who does not know the number writes 1.
    let number = hunk.at?.checked_sub(1).filter(|number| *number > 0 && *number != fit.first())?;
    let sought = Sought::of(text, hunk);
    // What stands once does not stand in another place.
    let once = |old: &Old<'_>| old.goes && old.weight >= TELLING && old.there == 1;
    if sought.olds.iter().any(once) {
        return None;
    }
    let far = |at: usize| at.abs_diff(number);
    let times = if fit.pass > Pass::Trailing { 1 } else { TIMES };
    let mut near = likely(&sought, std::slice::from_ref(fit));
    // Lines that overlap are the same place, laid otherwise.
    let apart = |place: &Fit| place.end() <= fit.first() || fit.end() <= place.first();
    let nearer = |place: &Fit| far(place.first()).saturating_mul(times) < far(fit.first());
    near.find(|place| apart(place) && nearer(place)).map(|place| place.first())
}

/// Places apart from `taken` where all that goes stands, in much the same lines.
pub(crate) fn likely<'a>(sought: &'a Sought<'_>, taken: &'a [Fit]) -> impl Iterator<Item = Fit> + use<'a> {
    let same = |(old, at): (&Old<'_>, &Option<usize>)| {
        !old.goes || old.weight < TELLING || at.is_some_and(|at| old.folded == fold(sought.text.line(at)))
    };
    let places = sought.places(false, taken).filter(|(share, _)| *share >= NEARER);
    places.map(|(_, fit)| fit).filter(move |fit| sought.olds.iter().zip(&fit.at).all(same))
}

/// Another place than `fit` that is indented as `hunk` is, and reads almost as it does.
pub(crate) fn sibling(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<Fit> {
    let sought = Sought::of(text, hunk);
    let taken = std::slice::from_ref(fit);
    let level = |fit: &Fit| {
        let mut rows = sought.olds.iter().zip(&fit.at).filter(|(old, _)| old.weight >= TELLING);
        rows.all(|(old, at)| at.is_some_and(|at| indent(old.text) == indent(text.line(at))))
    };
    sought
        .places(false, taken)
        .filter(|(share, fit)| *share >= AGAIN && level(fit))
        .map(|(_, fit)| fit)
        .next()
}

/// Whether a hunk from which lines only go is still there, more or less: what would be left of it may stand anywhere.
pub(crate) fn stands(text: &Text<'_>, hunk: &Hunk) -> bool {
    if hunk.lines.iter().any(|line| matches!(line, Line::Add(text) if weight(text) >= TELLING)) {
        return false;
    }
    let sought = Sought::of(text, hunk);
    let goes = |fit: Option<&Fit>| -> f64 {
        let there = |row: usize| fit.is_none_or(|fit| fit.at[row].is_some());
        sought
            .olds
            .iter()
            .enumerate()
            .filter(|(row, old)| old.goes && there(*row))
            .map(|(_, old)| old.weight)
            .sum()
    };
    sought.places(false, &[]).any(|(share, fit)| share >= ENOUGH && goes(Some(&fit)) > 0.5 * goes(None))
}

/// Where what `hunk` makes stands, at least as surely as what it takes stands at `fit`: there it may have been done.
pub(crate) fn made(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<usize> {
    if !hunk.lines.iter().any(|line| matches!(line, Line::Add(text) if weight(text) >= TELLING)) {
        return None;
    }
    // What came is sought as strictly as what goes.
    let lines = hunk.lines.iter().filter_map(|line| match line {
        Line::Keep(_) => Some(line.clone()),
        Line::Add(text) => Some(Line::Drop(text.clone())),
        Line::Drop(_) => None,
    });
    let new = Hunk { lines: lines.collect(), ..Hunk::default() };
    let (before, after) = (Sought::of(text, hunk), Sought::of(text, &new));
    let weigh = |sought: &Sought<'_>, fit: &Fit| -> f64 {
        let olds = &sought.olds;
        let there = olds
            .iter()
            .zip(&fit.at)
            .filter(|(old, at)| at.is_some_and(|at| old.folded == fold(text.line(at))));
        there.map(|(old, _)| old.weight).sum::<f64>() / olds.iter().map(|old| old.weight).sum::<f64>()
    };
    let (_, place) = after.best(true, &[])?;
    let rows: Vec<usize> = (0..after.olds.len()).filter(|row| place.at[*row].is_some()).collect();
    let beside = |pair: &[usize]| {
        let changes = pair.iter().any(|row| after.olds[*row].goes);
        let blank = |(this, next): (usize, usize)| (this + 1..next).all(|at| is_blank(text.line(at)));
        !changes || place.at[pair[0]].zip(place.at[pair[1]]).is_some_and(blank)
    };
    let together = rows.len() > 1 && rows.windows(2).all(beside);
    let here = place.first() < fit.end() && fit.first() < place.end();
    let made = together && weigh(&after, &place) >= weigh(&before, fit);
    let undone = || is_undone(text, hunk, fit) || is_still_spaced(text, hunk, fit);
    (made && !(here && undone())).then(|| place.first())
}

/// Whether all that goes stands at `fit` but for blanks at the ends of lines, and of what comes not all stands around it: a
/// hunk that changes blanks alone is not done because what it makes looks the same.
fn is_undone(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, Line::Add(_))).zip(&fit.at);
    let mut goes = olds.filter(|(line, _)| matches!(line, Line::Drop(_))).peekable();
    let same = |line: &str, at: usize| Likeness::Trailing.holds(line, text.line(at));
    let stands = goes.peek().is_some()
        && goes.all(|(line, at)| matches!((line, at), (Line::Drop(line), Some(at)) if same(line, *at)));
    let there = |line: &str| (fit.first()..fit.end()).any(|at| same(line, at));
    let comes = |line: &Line| matches!(line, Line::Add(line) if !there(line));
    stands && text.effort().spend(hunk.lines.len() * fit.at.len()) && hunk.lines.iter().any(comes)
}

/// Whether `hunk` changes blanks at the beginnings and ends of lines alone, and those at `fit` are as before it.
fn is_still_spaced(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, Line::Add(_))).zip(&fit.at);
    let goes: Vec<(&str, Option<usize>)> = olds
        .filter_map(|(line, at)| if let Line::Drop(line) = line { Some((line.as_str(), *at)) } else { None })
        .collect();
    let comes: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| if let Line::Add(line) = line { Some(line.as_str()) } else { None })
        .collect();
    let same = |one: &str, other: &str| {
        let ends = |line: &str| line.ends_with([' ', '\t']);
        fold(one) == fold(other) && indent(one) == indent(other) && ends(one) == ends(other)
    };
    let is = |line: &str, at: Option<usize>| at.is_some_and(|at| same(line, text.line(at)));
    let pairs = || goes.iter().zip(&comes);
    goes.len() == comes.len()
        && pairs().all(|((gone, at), come)| fold(gone) == fold(come) && is(gone, *at))
        && pairs().any(|((_, at), come)| !is(come, *at))
}

/// Another place than `fit` where nearly all of `hunk` is.
pub(crate) fn rival(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<Fit> {
    let sought = Sought::of(text, hunk);
    let found = sought.best(true, std::slice::from_ref(fit))?;
    (found.0 >= RIVAL).then_some(found.1)
}
