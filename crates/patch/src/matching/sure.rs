//! Whether a place where most of a hunk is, is the place that it means: all that changes must stand as the hunk has it.

use std::borrow::Cow;

use super::align::{Old, Sought};
use super::fit::Fit;
use super::line::{fold, indent, similarity};
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// A line that weighs as much says something.
pub(super) const TELLING: f64 = 1.0;
/// A line that weighs as much says enough by itself, if it stands only once.
const ENOUGH_ALONE: f64 = 3.0;
/// Lines that resemble each other as much may be one in two versions.
const ALIKE: f64 = 0.6;
/// So much of a hunk in another place is most of it.
const MOST: f64 = 0.75;
/// So many lines may have come in between two of a hunk.
const PASSED: usize = 4;

/// Whether `hunk` can be told to belong to `fit`, which is not all of it.
pub(super) fn is_sure(sought: &Sought<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let place = Place { text: sought.text, olds: &sought.olds, fit, adds: adds(hunk) };
    place.is_known()
        && !place.is_astray()
        && !place.is_loose()
        && !place.is_stretched()
        && !place.is_touched()
        && !place.is_torn()
        && !place.is_beside_dots()
        && !place.is_rather_elsewhere(sought)
        && !place.is_half_done(hunk)
        && !place.is_slid(hunk)
}

/// For each old line of a hunk, and what is after the last: whether lines come before it.
fn adds(hunk: &Hunk) -> Vec<bool> {
    let mut adds = vec![false];
    for line in &hunk.lines {
        match line {
            Line::Add(_) => *adds.last_mut().unwrap_or(&mut false) = true,
            Line::Keep(_) | Line::Drop(_) => adds.push(false),
        }
    }
    adds
}

/// Whether a line only says that lines are left out.
fn stands_for_others(line: &str) -> bool {
    line.trim_start_matches(['/', '#', '*', '-', '<', '!', '(', '{', ' ']).starts_with("...")
}

fn is_added(line: &Line) -> bool {
    matches!(line, Line::Add(_))
}

/// Whether a line is a comment or an attribute.
pub(super) fn is_remark(line: &str) -> bool {
    ["#", "//", "/*", "*/", "* ", "@", "--", "<!--", ";", "%"].iter().any(|sign| line.starts_with(sign))
}

struct Place<'a> {
    text: &'a Text<'a>,
    olds: &'a [Old<'a>],
    fit: &'a Fit,
    adds: Vec<bool>,
}

impl Place<'_> {
    fn folded(&self, at: usize) -> Cow<'_, str> {
        fold(self.text.line(at))
    }

    fn is_same(&self, row: usize) -> bool {
        self.fit.at[row].is_some_and(|at| self.olds[row].folded == self.folded(at))
    }

    fn is_telling(&self, row: usize) -> bool {
        self.olds[row].weight >= TELLING
    }

    /// Whether two lines that say something are just the same, and one of them stands nowhere else; or whether what goes says
    /// enough, and only lines around it read otherwise.
    fn is_known(&self) -> bool {
        let rows = 0..self.olds.len();
        let same: Vec<usize> =
            rows.clone().filter(|row| self.is_telling(*row) && self.is_same(*row)).collect();
        let once = |row: &usize| self.olds[*row].there == 1;
        let alone = |row: &usize| once(row) && self.olds[*row].goes && self.olds[*row].weight >= ENOUGH_ALONE;
        let reworded = || rows.clone().all(|row| !self.is_telling(row) || self.fit.at[row].is_some());
        same.len() > 1 && same.iter().any(once) || same.iter().any(alone) && reworded()
    }

    /// Whether a line that is missing here stands elsewhere.
    fn is_astray(&self) -> bool {
        (0..self.olds.len())
            .any(|row| self.is_telling(row) && self.fit.at[row].is_none() && self.olds[row].there == 1)
    }

    /// Whether something goes that says nothing, and not together with its neighbours.
    fn is_loose(&self) -> bool {
        let at = &self.fit.at;
        let beside = |row: usize, here: usize| {
            let before = row.checked_sub(1).is_none_or(|row| at[row].is_some_and(|other| other + 1 == here));
            before && at.get(row + 1).is_none_or(|other| *other == Some(here + 1))
        };
        (0..self.olds.len()).any(|row| {
            self.olds[row].goes && !self.is_telling(row) && at[row].is_some_and(|here| !beside(row, here))
        })
    }

    /// Whether the hunk was drawn over more than its own lines: over one that goes, and was not taken for it; or over many,
    /// where it leaves none out.
    fn is_stretched(&self) -> bool {
        let goes = self.olds.iter().any(|old| old.goes);
        let said = |at: usize| {
            self.olds
                .iter()
                .any(|old| old.weight >= TELLING && old.goes == goes && old.folded == self.folded(at))
        };
        let far = |pair: &[Option<usize>]| {
            pair[0].zip(pair[1]).is_some_and(|(this, next)| self.strangers(this, next).count() > PASSED)
        };
        self.strangers(self.fit.first(), self.fit.end()).any(said) || self.fit.at.windows(2).any(far)
    }

    /// The lines of the file from one to another that are none of the hunk's.
    fn strangers(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        (from..to).filter(|at| !self.fit.at.contains(&Some(*at)))
    }

    /// Whether lines that the hunk does not know stand beside what changes: more than one, or one that belongs to what goes.
    fn is_touched(&self) -> bool {
        let there: Vec<usize> = (0..self.olds.len()).filter(|row| self.fit.at[*row].is_some()).collect();
        there.windows(2).any(|pair| {
            let (Some(this), Some(next)) = (self.fit.at[pair[0]], self.fit.at[pair[1]]) else { return false };
            let passed: Vec<usize> = (this + 1..next).filter(|at| !self.folded(*at).is_empty()).collect();
            let missing = (pair[0] + 1..pair[1]).filter(|row| !self.olds[*row].folded.is_empty()).count();
            if (pair[0] + 1..pair[1]).any(|row| stands_for_others(&self.olds[row].folded)) {
                return false;
            }
            let goes = self.olds[pair[0]].goes || self.olds[pair[1]].goes;
            let changes = goes || (pair[0] + 1..=pair[1]).any(|row| self.adds[row]);
            let deeper = |at: &usize| {
                let depth = |at: usize| indent(self.text.line(at)).len();
                self.olds[pair[0]].goes && depth(*at) > depth(this)
            };
            // A remark belongs to the line below it.
            let remarks = self.olds[pair[1]].goes && next > this + 1 && is_remark(&self.folded(next - 1));
            let belongs = remarks || passed.iter().any(deeper);
            changes && (passed.len() > missing + 1 || passed.len() > missing && belongs)
        })
    }

    /// Whether lines come between a line that only says that lines are left out and an empty one that is apart from the next:
    /// where that is, nobody knows.
    fn is_beside_dots(&self) -> bool {
        let dots = |row: &usize| self.fit.at[*row].is_none() && stands_for_others(&self.olds[*row].folded);
        let blank = |row: usize| self.olds.get(row).is_some_and(|old| old.folded.is_empty());
        let beside = |one: usize, next: usize| {
            let at = |row: usize| self.fit.at.get(row).copied().flatten();
            at(one).map(|at| at + 1) == at(next)
        };
        (0..self.olds.len()).filter(dots).any(|row| {
            let above = row > 1 && self.adds[row] && blank(row - 1) && !beside(row - 2, row - 1);
            above || self.adds[row + 1] && blank(row + 1) && !beside(row + 1, row + 2)
        })
    }

    /// Whether a line that reads otherwise here stands just so in another place, with most of the others.
    fn is_rather_elsewhere(&self, sought: &Sought<'_>) -> bool {
        let other = |row: &usize| self.is_telling(*row) && self.olds[*row].there > 0 && !self.is_same(*row);
        let rows: Vec<usize> =
            (0..self.olds.len()).filter(|row| self.fit.at[*row].is_some()).filter(other).collect();
        let there = |fit: &Fit| {
            let same = |row: &usize| fit.at[*row].is_some_and(|at| self.olds[*row].folded == self.folded(at));
            rows.iter().any(same)
        };
        !rows.is_empty()
            && sought
                .places(false, std::slice::from_ref(self.fit))
                .any(|(share, fit)| share >= MOST && there(&fit))
    }

    /// Whether something like what is to come stands there, and the hunk does not know it: it is done in part, or that is to go.
    fn is_half_done(&self, hunk: &Hunk) -> bool {
        let comes = |at: usize| {
            hunk.lines.iter().any(|line| {
                matches!(line, Line::Add(text) if text.chars().any(char::is_alphanumeric)
                    && similarity(text, &self.folded(at)) >= ALIKE)
            })
        };
        self.strangers(self.fit.first(), self.fit.end()).any(comes)
    }

    /// Whether lines that come could as well come above or below a line beside them, since they end or begin as it does, and
    /// that line reads otherwise: it is of what was there, or of what comes.
    fn is_slid(&self, hunk: &Hunk) -> bool {
        let mut row = 0;
        hunk.lines.chunk_by(|one, next| is_added(one) == is_added(next)).any(|run| {
            if !is_added(&run[0]) {
                row += run.len();
                return false;
            }
            let same = |(line, row): &(&Line, usize)| {
                matches!(line, Line::Add(text) if fold(text) == self.olds[*row].folded)
            };
            let says = |row: usize| !self.olds[row].goes && !self.olds[row].folded.is_empty();
            let other = |(_, row): (&Line, usize)| says(row) && !self.is_same(row);
            let above = run.iter().rev().zip((0..row).rev()).take_while(same).any(other);
            above || run.iter().zip(row..self.olds.len()).take_while(same).any(other)
        })
    }

    /// Whether a bracket, or what else says nothing, that stays among lines that change is missing or reads otherwise.
    fn is_torn(&self) -> bool {
        let changes = |row: usize| self.adds[row] || self.olds.get(row).is_some_and(|old| old.goes);
        let rows = || (0..self.adds.len()).filter(|row| changes(*row));
        let (Some(first), Some(last)) = (rows().next(), rows().next_back()) else { return false };
        let says = |row: &usize| !self.olds[*row].folded.is_empty();
        let torn = |row: usize| {
            let says_nothing = !self.is_telling(row) && !stands_for_others(&self.olds[row].folded);
            says_nothing && !self.is_same(row)
        };
        (first..last.min(self.olds.len())).filter(says).any(torn)
    }
}
