//! Decides whether a fuzzy match is safe: changed lines must match exactly, and nothing may point to another place.

use std::borrow::Cow;

use super::align::{HunkAligner, OldLine};
use super::candidate::HunkCandidate;
use super::line_compare::{fold_line, indentation, line_similarity};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};

/// The minimum weight of a line that is specific.
pub(super) const TELLING: f64 = 1.0;
/// The minimum weight of a removed line that alone identifies a place, if it occurs once.
const ENOUGH_ALONE: f64 = 3.0;
/// Lines of at least this similarity may be two versions of one line.
const ALIKE: f64 = 0.6;
/// This share of a hunk in another place is most of it.
const MOST: f64 = 0.75;
/// The maximum number of lines inserted between two lines of a hunk.
const PASSED: usize = 4;

/// Returns true if `hunk` certainly belongs to the partial match `fit`.
pub(super) fn is_safe_fuzzy_match(sought: &HunkAligner<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let place = FuzzyMatchCheck { text: sought.text, olds: &sought.olds, fit, adds: adds(hunk) };
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

/// Returns for each old line, and for the end of the hunk, whether lines are added before it.
fn adds(hunk: &Hunk) -> Vec<bool> {
    let mut adds = vec![false];
    for line in &hunk.lines {
        match line {
            HunkLine::Add(_) => *adds.last_mut().unwrap_or(&mut false) = true,
            HunkLine::Keep(_) | HunkLine::Drop(_) => adds.push(false),
        }
    }
    adds
}

/// Returns true if a line only says that other lines are left out.
fn stands_for_others(line: &str) -> bool {
    line.trim_start_matches(['/', '#', '*', '-', '<', '!', '(', '{', ' ']).starts_with("...")
}

fn is_added(line: &HunkLine) -> bool {
    matches!(line, HunkLine::Add(_))
}

/// Returns true if a line is a comment or an attribute.
pub(super) fn is_comment(line: &str) -> bool {
    ["#", "//", "/*", "*/", "* ", "@", "--", "<!--", ";", "%"].iter().any(|sign| line.starts_with(sign))
}

struct FuzzyMatchCheck<'a> {
    text: &'a DecodedText<'a>,
    olds: &'a [OldLine<'a>],
    fit: &'a HunkCandidate,
    adds: Vec<bool>,
}

impl FuzzyMatchCheck<'_> {
    fn folded(&self, at: usize) -> Cow<'_, str> {
        fold_line(self.text.line(at))
    }

    fn is_same(&self, row: usize) -> bool {
        self.fit.at[row].is_some_and(|at| self.olds[row].folded == self.folded(at))
    }

    fn is_telling(&self, row: usize) -> bool {
        self.olds[row].weight >= TELLING
    }

    /// Returns true if two specific lines match exactly and one of them occurs only once. Also true if a removed line
    /// is specific enough alone and only context is reworded.
    fn is_known(&self) -> bool {
        let rows = 0..self.olds.len();
        let same: Vec<usize> =
            rows.clone().filter(|row| self.is_telling(*row) && self.is_same(*row)).collect();
        let once = |row: &usize| self.olds[*row].there == 1;
        let alone = |row: &usize| once(row) && self.olds[*row].goes && self.olds[*row].weight >= ENOUGH_ALONE;
        let reworded = || rows.clone().all(|row| !self.is_telling(row) || self.fit.at[row].is_some());
        same.len() > 1 && same.iter().any(once) || same.iter().any(alone) && reworded()
    }

    /// Returns true if a specific line that is missing here occurs elsewhere.
    fn is_astray(&self) -> bool {
        (0..self.olds.len())
            .any(|row| self.is_telling(row) && self.fit.at[row].is_none() && self.olds[row].there == 1)
    }

    /// Returns true if an unspecific line is removed apart from its neighbours in the hunk.
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

    /// Returns true if the match stretches over foreign lines. One of them equals a removed line (or an old line, if
    /// none is removed), or more than `PASSED` stand between two adjacent lines.
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
        self.strangers(self.fit.first_line(), self.fit.end_line()).any(said)
            || self.fit.at.windows(2).any(far)
    }

    /// Returns the lines of the file in a range that do not match the hunk.
    fn strangers(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        (from..to).filter(|at| !self.fit.at.contains(&Some(*at)))
    }

    /// Returns true if foreign lines stand beside a change: more than one, or one that belongs to a removed line.
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
                let depth = |at: usize| indentation(self.text.line(at)).len();
                self.olds[pair[0]].goes && depth(*at) > depth(this)
            };
            // A comment belongs to the line below it.
            let remarks = self.olds[pair[1]].goes && next > this + 1 && is_comment(&self.folded(next - 1));
            let belongs = remarks || passed.iter().any(deeper);
            changes && (passed.len() > missing + 1 || passed.len() > missing && belongs)
        })
    }

    /// Returns true if lines are added between an elision line and an empty line that is apart from its next line.
    /// Their position is unclear.
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

    /// Returns true if a line that is reworded here stands exactly in another place, together with most of the hunk.
    fn is_rather_elsewhere(&self, sought: &HunkAligner<'_>) -> bool {
        let other = |row: &usize| self.is_telling(*row) && self.olds[*row].there > 0 && !self.is_same(*row);
        let rows: Vec<usize> =
            (0..self.olds.len()).filter(|row| self.fit.at[*row].is_some()).filter(other).collect();
        let there = |fit: &HunkCandidate| {
            let same = |row: &usize| fit.at[*row].is_some_and(|at| self.olds[*row].folded == self.folded(at));
            rows.iter().any(same)
        };
        !rows.is_empty()
            && sought
                .alignments(false, std::slice::from_ref(self.fit))
                .any(|(share, fit)| share >= MOST && there(&fit))
    }

    /// Returns true if a foreign line here resembles an added line: the hunk is partly applied, or the line is to be
    /// removed.
    fn is_half_done(&self, hunk: &Hunk) -> bool {
        let comes = |at: usize| {
            hunk.lines.iter().any(|line| {
                matches!(line, HunkLine::Add(text) if text.chars().any(char::is_alphanumeric)
                    && line_similarity(text, &self.folded(at)) >= ALIKE)
            })
        };
        self.strangers(self.fit.first_line(), self.fit.end_line()).any(comes)
    }

    /// Returns true if added lines end or begin with a neighbouring context line that is reworded here. They could as
    /// well stand on its other side, so the line may belong to the old or to the new text.
    fn is_slid(&self, hunk: &Hunk) -> bool {
        let mut row = 0;
        hunk.lines.chunk_by(|one, next| is_added(one) == is_added(next)).any(|run| {
            if !is_added(&run[0]) {
                row += run.len();
                return false;
            }
            let same = |(line, row): &(&HunkLine, usize)| {
                matches!(line, HunkLine::Add(text) if fold_line(text) == self.olds[*row].folded)
            };
            let says = |row: usize| !self.olds[row].goes && !self.olds[row].folded.is_empty();
            let other = |(_, row): (&HunkLine, usize)| says(row) && !self.is_same(row);
            let above = run.iter().rev().zip((0..row).rev()).take_while(same).any(other);
            above || run.iter().zip(row..self.olds.len()).take_while(same).any(other)
        })
    }

    /// Returns true if a bracket or another unspecific context line among the changes is missing or reworded.
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
