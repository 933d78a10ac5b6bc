//! A hunk's old lines, laid over a part of the file: which of them are there, and where.

use std::borrow::Cow;
use std::collections::HashMap;

use super::fit::{Fit, Pass};
use super::line::{fold, is_blank, similarity};
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// A line of the file that stands nowhere in the hunk costs this.
const STRANGER: f64 = 0.25;
/// Lines that resemble less are not the same line.
pub(super) const ALIKE: f64 = 0.5;
/// Places that are looked at closely.
const MOST: usize = 12;
/// A line that stands in more places says nothing about where.
const COMMON: usize = 200;
/// Lines by which things may have moved within a hunk.
const SLACK: usize = 12;

/// What a line of the hunk beside one of the file costs, in steps; and a letter of two lines that are compared by what they
/// have in common.
const CELL: usize = 8;
const LETTER: usize = 4;

/// An old line of the hunk.
pub(super) struct Old<'a> {
    pub(super) text: &'a str,
    pub(super) folded: Cow<'a, str>,
    pub(super) goes: bool,
    pub(super) weight: f64,
    /// How often it is in the file, just as it is.
    pub(super) there: usize,
}

/// The old lines of a hunk, and the file that they are sought in.
pub(super) struct Sought<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) olds: Vec<Old<'a>>,
    /// How far the hunk would have to be moved down for what is the same, the likeliest first.
    offsets: Vec<isize>,
}

impl<'a> Sought<'a> {
    pub(super) fn of(text: &'a Text<'_>, hunk: &'a Hunk) -> Self {
        let lines = hunk.lines.iter().filter_map(|line| match line {
            Line::Keep(text) => Some((text, false)),
            Line::Drop(text) => Some((text, true)),
            Line::Add(_) => None,
        });
        let old = |(line, goes): (&'a String, bool)| {
            let folded = fold(line);
            let there = text.index().folded(&folded).len();
            Old { text: line, folded, goes, weight: weight(line), there }
        };
        let olds: Vec<Old<'_>> = lines.map(old).collect();
        let offsets = offsets(text, &olds);
        Self { text, olds, offsets }
    }

    /// The places that are likely, each with how much of the hunk is there, apart from `taken`; `strict`: as it is done.
    pub(super) fn places(&self, strict: bool, taken: &[Fit]) -> impl Iterator<Item = (f64, Fit)> {
        self.offsets.iter().filter_map(move |offset| self.align(*offset, (strict, taken)))
    }

    /// The place where most of the hunk is, apart from `taken`.
    pub(super) fn best(&self, strict: bool, taken: &[Fit]) -> Option<(f64, Fit)> {
        self.places(strict, taken).max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The best way to lay the hunk over the file about `offset`: how much of it is there, and where.
    fn align(&self, offset: isize, (strict, taken): (bool, &[Fit])) -> Option<(f64, Fit)> {
        let olds = &self.olds;
        // What goes cannot go twice; and what only comes has to come elsewhere.
        let goes = olds.iter().any(|old| old.goes);
        let is_taken = |row: usize, at: usize| {
            (!strict || olds[row].goes || !goes) && taken.iter().any(|fit| fit.at.contains(&Some(at)))
        };
        let start = usize::try_from(offset - SLACK.cast_signed()).unwrap_or(0);
        let end = (offset + (olds.len() + SLACK).cast_signed()).max(0).cast_unsigned().min(self.text.len());
        let kept: usize = taken.iter().map(|fit| fit.at.len()).sum();
        let cells = (olds.len() + 1).saturating_mul(end.saturating_sub(start));
        if start >= end || !self.text.effort().spend(cells.saturating_mul(CELL + kept / 2)) {
            return None;
        }
        let folds: Vec<Cow<'_, str>> = (start..end).map(|at| fold(self.text.line(at))).collect();
        let alike = |row: usize, column: usize| self.alike(&olds[row], &folds[column], strict);
        let (rows, width) = (olds.len() + 1, end - start + 1);
        let mut best = vec![0.0_f64; rows * width];
        let mut ways = vec![Way::Begin; rows * width];
        for row in 1..rows {
            if self.text.effort().is_spent() {
                return None;
            }
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
                    let same = best[(row - 1) * width + column - 1] + alike(row - 1, column - 1) * old.weight;
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
        let (mut at, there) =
            back(&ways, width, |row, column| (start + column, alike(row, column) * olds[row].weight));
        if strict {
            reworded(olds, &mut at);
        }
        let all: f64 = olds.iter().map(|old| old.weight).sum();
        at.iter().any(Option::is_some).then_some((there / all, Fit { pass: Pass::Near, at, doubt: None }))
    }

    /// How much of the old line the file's line is. What goes must be the same; not even nothing is like something.
    fn alike(&self, old: &Old<'_>, line: &str, strict: bool) -> f64 {
        if old.folded == line {
            return 1.0;
        }
        // What is in the file as it is, is not that which resembles it.
        if strict && (old.goes || old.there > 0) || old.folded.is_empty() || line.is_empty() {
            return f64::NEG_INFINITY;
        }
        self.text.effort().spend(LETTER * (old.folded.len() + line.len()));
        match similarity(old.text, line) {
            enough if enough >= ALIKE => enough * 0.8,
            _ => f64::NEG_INFINITY,
        }
    }
}

/// How much a line says.
pub(super) fn weight(line: &str) -> f64 {
    let telling = line.chars().filter(|char| char.is_alphanumeric()).count();
    match telling {
        0 if is_blank(line) => 0.1,
        0 | 1 => 0.3,
        some => 1.0 + f64::from(u8::try_from(some.min(40)).unwrap_or(40)) / 10.0,
    }
}

/// How far a hunk would have to be moved down for what is the same, the likeliest first.
fn offsets(text: &Text<'_>, olds: &[Old<'_>]) -> Vec<isize> {
    let mut votes: HashMap<isize, f64> = HashMap::new();
    for (row, old) in olds.iter().enumerate().filter(|(_, old)| !old.folded.is_empty()) {
        let places = text.index().folded(&old.folded);
        if !text.effort().spend(4 * places.len().min(COMMON)) {
            return Vec::new();
        }
        for place in places.iter().filter(|_| places.len() <= COMMON) {
            *votes.entry(place.cast_signed() - row.cast_signed()).or_default() += old.weight;
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
