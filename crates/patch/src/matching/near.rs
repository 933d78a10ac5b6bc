//! Where a hunk belongs although lines around it have changed: by what is still the same.

use std::borrow::Cow;
use std::collections::HashMap;

use super::fit::{Fit, Pass};
use super::line::{fold, indent, is_blank, similarity};
use super::sure::{TELLING, is_sure};
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// How much of a hunk must be there.
const ENOUGH: f64 = 0.55;
/// By how much it must be more there than anywhere else, if lines go, and if none do.
const CLEARLY: f64 = 0.2;
const MORE_CLEARLY: f64 = 0.5;
/// How much of it elsewhere makes another place as likely.
const RIVAL: f64 = 0.97;
/// How much of it must be there to do it again where it seems to be done.
const AGAIN: f64 = 0.85;
/// A line of the file that stands nowhere in the hunk costs this.
const STRANGER: f64 = 0.25;
/// Lines that resemble less are not the same line.
const ALIKE: f64 = 0.5;
/// Places that are told apart.
const NAMED: usize = 6;
/// Places that are looked at closely.
const MOST: usize = 12;
/// A line that stands in more places says nothing about where.
const COMMON: usize = 200;
/// Lines by which things may have moved within a hunk.
const SLACK: usize = 12;

/// An old line of the hunk.
pub(super) struct Old<'a> {
    pub(super) text: &'a str,
    pub(super) folded: Cow<'a, str>,
    pub(super) goes: bool,
    pub(super) weight: f64,
    /// How often it is in the file, just as it is.
    pub(super) there: usize,
}

fn olds<'a>(folds: &[Cow<'_, str>], hunk: &'a Hunk) -> Vec<Old<'a>> {
    let lines = hunk.lines.iter().filter_map(|line| match line {
        Line::Keep(text) => Some((text, false)),
        Line::Drop(text) => Some((text, true)),
        Line::Add(_) => None,
    });
    let mut olds: Vec<Old<'_>> = lines
        .map(|(text, goes)| Old { text, folded: fold(text), goes, weight: weight(text), there: 0 })
        .collect();
    for line in folds {
        for old in olds.iter_mut().filter(|old| old.folded == *line) {
            old.there += 1;
        }
    }
    olds
}

/// How much a line says.
fn weight(line: &str) -> f64 {
    let telling = line.chars().filter(|char| char.is_alphanumeric()).count();
    match telling {
        0 if is_blank(line) => 0.1,
        0 | 1 => 0.3,
        some => 1.0 + f64::from(u8::try_from(some.min(40)).unwrap_or(40)) / 10.0,
    }
}

/// The places where most of `hunk` is: one if it is clear, more if it is not.
pub(crate) fn near(text: &Text<'_>, hunk: &Hunk) -> Vec<Fit> {
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let offsets = offsets(&folds, &olds);
    let clearly = if olds.iter().any(|old| old.goes) { CLEARLY } else { MORE_CLEARLY };
    let mut fits: Vec<Fit> = Vec::new();
    let mut most = None;
    // ends: so many places are enough
    while fits.len() < NAMED
        && let Some((share, fit)) = best(&folds, &olds, &offsets, &fits)
    {
        let most = *most.get_or_insert(share);
        let enough = if fits.is_empty() {
            share >= ENOUGH && is_sure(text, &folds, &olds, hunk, &fit)
        } else {
            share > most - clearly
        };
        if !enough {
            break;
        }
        fits.push(if fits.is_empty() || is_sure(text, &folds, &olds, hunk, &fit) {
            fit
        } else {
            Fit { doubt: Some("only some of its lines are there"), ..fit }
        });
    }
    fits
}

/// Takes a line of the file for the one line of the hunk that should stand there, if all around them is as it should be.
fn reworded(olds: &[Old<'_>], at: &mut [Option<usize>]) {
    for row in 1..olds.len().saturating_sub(1) {
        if let (Some(before), None, Some(after)) = (at[row - 1], at[row], at[row + 1])
            && before + 2 == after
            && !olds[row].goes
            && !olds[row].folded.is_empty()
        {
            at[row] = Some(before + 1);
        }
    }
}

/// A place that so much resembles `hunk` that it may have to be done there, although its new lines stand at `done`.
pub(crate) fn again(text: &Text<'_>, hunk: &Hunk, done: &[usize]) -> Option<Fit> {
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let length = hunk.new_lines().count();
    let taken = |at: usize| Fit { pass: Pass::Exact, at: (at..at + length).map(Some).collect(), doubt: None };
    let taken: Vec<Fit> = done.iter().copied().map(taken).collect();
    let places =
        offsets(&folds, &olds).into_iter().filter_map(|offset| align(&folds, &olds, offset, (false, &taken)));
    let (share, fit) = places.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let mut goes = olds.iter().zip(&fit.at).filter(|(old, _)| old.goes && old.weight >= TELLING).peekable();
    let all_there =
        goes.peek().is_some() && goes.all(|(old, at)| at.is_some_and(|at| old.folded == folds[at]));
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

/// Another place than `fit` that is indented as `hunk` is, and reads almost as it does.
pub(crate) fn sibling(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<Fit> {
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let taken = std::slice::from_ref(fit);
    let places =
        offsets(&folds, &olds).into_iter().filter_map(|offset| align(&folds, &olds, offset, (false, taken)));
    let level = |fit: &Fit| {
        let mut rows = olds.iter().zip(&fit.at).filter(|(old, _)| old.weight >= TELLING);
        rows.all(|(old, at)| at.is_some_and(|at| indent(old.text) == indent(text.line(at))))
    };
    places.filter(|(share, fit)| *share >= AGAIN && level(fit)).map(|(_, fit)| fit).next()
}

/// Whether a hunk from which lines only go is still there, more or less: what would be left of it may stand anywhere.
pub(crate) fn stands(text: &Text<'_>, hunk: &Hunk) -> bool {
    if hunk.lines.iter().any(|line| matches!(line, Line::Add(text) if weight(text) >= TELLING)) {
        return false;
    }
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let goes = |fit: Option<&Fit>| -> f64 {
        let there = |row: usize| fit.is_none_or(|fit| fit.at[row].is_some());
        olds.iter().enumerate().filter(|(row, old)| old.goes && there(*row)).map(|(_, old)| old.weight).sum()
    };
    let places =
        offsets(&folds, &olds).into_iter().filter_map(|offset| align(&folds, &olds, offset, (false, &[])));
    places.into_iter().any(|(share, fit)| share >= ENOUGH && goes(Some(&fit)) > 0.5 * goes(None))
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
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let (before, after) = (olds(&folds, hunk), olds(&folds, &new));
    let weigh = |olds: &[Old<'_>], fit: &Fit| -> f64 {
        let there = olds.iter().zip(&fit.at).filter(|(old, at)| at.is_some_and(|at| old.folded == folds[at]));
        there.map(|(old, _)| old.weight).sum::<f64>() / olds.iter().map(|old| old.weight).sum::<f64>()
    };
    let (_, place) = best(&folds, &after, &offsets(&folds, &after), &[])?;
    let rows: Vec<usize> = (0..after.len()).filter(|row| place.at[*row].is_some()).collect();
    let beside = |pair: &[usize]| {
        let changes = pair.iter().any(|row| after[*row].goes);
        !changes || place.at[pair[0]].zip(place.at[pair[1]]).is_some_and(|(this, next)| this + 1 == next)
    };
    let together = rows.len() > 1 && rows.windows(2).all(beside);
    (together && weigh(&after, &place) >= weigh(&before, fit)).then(|| place.first())
}

/// Another place than `fit` where nearly all of `hunk` is.
pub(crate) fn rival(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> Option<Fit> {
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let found = best(&folds, &olds, &offsets(&folds, &olds), std::slice::from_ref(fit))?;
    (found.0 >= RIVAL).then_some(found.1)
}

/// The place where most of the hunk is, apart from `taken`.
fn best(folds: &[Cow<'_, str>], olds: &[Old<'_>], offsets: &[isize], taken: &[Fit]) -> Option<(f64, Fit)> {
    let places = offsets.iter().filter_map(|offset| align(folds, olds, *offset, (true, taken)));
    places.max_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// The lines of the file that resemble `hunk` most, if any do.
pub(crate) fn closest(text: &Text<'_>, hunk: &Hunk) -> Option<(usize, usize)> {
    let folds: Vec<Cow<'_, str>> = text.iter().map(fold).collect();
    let olds = olds(&folds, hunk);
    let places =
        offsets(&folds, &olds).into_iter().filter_map(|offset| align(&folds, &olds, offset, (false, &[])));
    let (share, fit) = places.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let missing = |at: &Option<usize>| at.is_none();
    let before = fit.at.iter().take_while(|at| missing(at)).count();
    let after = fit.at.iter().rev().take_while(|at| missing(at)).count();
    (share > 0.2).then(|| (fit.first().saturating_sub(before), (fit.end() + after).min(folds.len())))
}

/// How far the hunk would have to be moved down for what is the same, the likeliest first.
fn offsets(folds: &[Cow<'_, str>], olds: &[Old<'_>]) -> Vec<isize> {
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, old) in olds.iter().enumerate().filter(|(_, old)| !old.folded.is_empty()) {
        wanted.entry(&old.folded).or_default().push(at);
    }
    let mut there: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, line) in folds.iter().enumerate() {
        for old in wanted.get(&**line).into_iter().flatten() {
            there.entry(*old).or_default().push(at);
        }
    }
    let mut votes: HashMap<isize, f64> = HashMap::new();
    for (old, places) in there.iter().filter(|(_, places)| places.len() <= COMMON) {
        for place in places {
            *votes.entry(place.cast_signed() - old.cast_signed()).or_default() += olds[*old].weight;
        }
    }
    let mut votes: Vec<(isize, f64)> = votes.into_iter().collect();
    votes.sort_by(|(at, a), (bt, b)| b.total_cmp(a).then(at.cmp(bt)));
    // So many places that are as likely that looking at a few of them says nothing.
    if votes.get(MOST).is_some_and(|(_, vote)| *vote >= 0.7 * votes[0].1) {
        return Vec::new();
    }
    votes.truncate(MOST);
    votes.into_iter().map(|(offset, _)| offset).collect()
}

/// What came before the best way to a cell.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Begin,
    /// The old line is the file's line.
    Both,
    /// The old line is not in the file.
    Old,
    /// The file's line is not in the hunk.
    File,
}

/// The best way to lay the hunk over the file about `offset`: how much of it is there, and where.
fn align(
    folds: &[Cow<'_, str>],
    olds: &[Old<'_>],
    offset: isize,
    (strict, taken): (bool, &[Fit]),
) -> Option<(f64, Fit)> {
    // What goes cannot go twice; and what only comes has to come elsewhere.
    let goes = olds.iter().any(|old| old.goes);
    let is_taken = |row: usize, at: usize| {
        (!strict || olds[row].goes || !goes) && taken.iter().any(|fit| fit.at.contains(&Some(at)))
    };
    let start = usize::try_from(offset - SLACK.cast_signed()).unwrap_or(0);
    let end = (offset + (olds.len() + SLACK).cast_signed()).max(0).cast_unsigned().min(folds.len());
    if start >= end {
        return None;
    }
    let (rows, width) = (olds.len() + 1, end - start + 1);
    let mut best = vec![0.0_f64; rows * width];
    let mut ways = vec![Way::Begin; rows * width];
    for row in 1..rows {
        let old = &olds[row - 1];
        let missing = match (strict && old.goes && !old.folded.is_empty(), old.goes) {
            (true, _) => f64::NEG_INFINITY,
            (false, _) => -0.3 * old.weight,
        };
        for column in 0..width {
            let mut choice = (best[(row - 1) * width + column] + missing, Way::Old);
            if column > 0 {
                // What stands after the last old line costs nothing.
                let stranger = if row == rows - 1 { 0.0 } else { STRANGER };
                let passed = best[row * width + column - 1] - stranger;
                if passed > choice.0 {
                    choice = (passed, Way::File);
                }
                let at = start + column - 1;
                let same = best[(row - 1) * width + column - 1] + alike(old, &folds[at], strict) * old.weight;
                if same >= choice.0 && !is_taken(row - 1, at) {
                    choice = (same, Way::Both);
                }
            }
            (best[row * width + column], ways[row * width + column]) = choice;
        }
    }
    let score = best[rows * width - 1];
    if !score.is_finite() {
        return None;
    }
    let (mut at, there) = back(&ways, width, |row, column| {
        (start + column, alike(&olds[row], &folds[start + column], strict) * olds[row].weight)
    });
    if strict {
        reworded(olds, &mut at);
    }
    let all: f64 = olds.iter().map(|old| old.weight).sum();
    at.iter().any(Option::is_some).then_some((there / all, Fit { pass: Pass::Near, at, doubt: None }))
}

/// The way back from the last cell: where each old line is, and how much is there. `both` tells that of a row and a column.
fn back(
    ways: &[Way],
    width: usize,
    both: impl Fn(usize, usize) -> (usize, f64),
) -> (Vec<Option<usize>>, f64) {
    let rows = ways.len() / width;
    let mut at = vec![None; rows - 1];
    let (mut row, mut column, mut there) = (rows - 1, width - 1, 0.0);
    // ends: the row or the column goes down
    while row > 0 {
        match ways[row * width + column] {
            Way::Both => {
                (row, column) = (row - 1, column - 1);
                let (place, weight) = both(row, column);
                at[row] = Some(place);
                there += weight;
            }
            Way::Old => row -= 1,
            Way::File => column -= 1,
            Way::Begin => break,
        }
    }
    (at, there)
}

/// How much of the old line the file's line is. What goes must be the same; not even nothing is like something.
fn alike(old: &Old<'_>, line: &str, strict: bool) -> f64 {
    if old.folded == line {
        return 1.0;
    }
    // What is in the file as it is, is not that which resembles it.
    if strict && (old.goes || old.there > 0) || old.folded.is_empty() || line.is_empty() {
        return f64::NEG_INFINITY;
    }
    match similarity(old.text, line) {
        enough if enough >= ALIKE => enough * 0.8,
        _ => f64::NEG_INFINITY,
    }
}
