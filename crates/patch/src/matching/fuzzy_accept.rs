//! Decides whether a fuzzy match is safe: changed lines must match exactly, and nothing may point to another place.

use std::borrow::Cow;

use super::align::{HunkAligner, OldLine};
use super::candidate::HunkCandidate;
use super::line_compare::{fold_line, indentation, line_similarity};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// The minimum weight of a line that is specific.
pub(super) const MIN_SPECIFIC_WEIGHT: f64 = 1.0;
/// The minimum weight of a removed line that alone identifies a place, if it occurs once.
const MIN_SOLE_LINE_WEIGHT: f64 = 3.0;
/// Lines of at least this similarity may be two versions of one line.
const MIN_VERSION_SIMILARITY: f64 = 0.6;
/// This share of a hunk in another place is most of it.
const MIN_RIVAL_SHARE: f64 = 0.75;
/// The maximum number of lines inserted between two lines of a hunk.
const MAX_INSERTED_LINES: usize = 4;

/// Returns true if `hunk` certainly belongs to the partial match `fit`.
pub(super) fn is_safe_fuzzy_match(aligner: &HunkAligner<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let check = FuzzyMatchCheck {
        text: aligner.text,
        olds: &aligner.olds,
        fit,
        adds_before: additions_before_lines(hunk),
    };
    !(!check.is_identified() && EnginePart::FuzzyIdentified.is_on()
        || check.misses_line_found_elsewhere() && EnginePart::FuzzyLineElsewhere.is_on()
        || check.spans_foreign_lines() && EnginePart::FuzzySpan.is_on()
        || check.has_foreign_lines_beside_change() && EnginePart::FuzzyBeside.is_on()
        || check.lacks_unspecific_line() && EnginePart::FuzzyUnspecific.is_on()
        || check.adds_beside_elision() && EnginePart::FuzzyElision.is_on()
        || check.fits_better_elsewhere(aligner) && EnginePart::FuzzyBetter.is_on()
        || check.seems_partly_applied(hunk) && EnginePart::FuzzyPartly.is_on()
        || check.adds_reworded_neighbour(hunk) && EnginePart::FuzzyNeighbour.is_on())
}

/// Returns for each old line, and for the end of the hunk, whether lines are added before it.
fn additions_before_lines(hunk: &Hunk) -> Vec<bool> {
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
fn is_elision(line: &str) -> bool {
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
    adds_before: Vec<bool>,
}

impl FuzzyMatchCheck<'_> {
    fn folded_line(&self, at: usize) -> Cow<'_, str> {
        fold_line(self.text.line(at))
    }

    fn matches_folded(&self, row: usize) -> bool {
        self.fit.positions[row].is_some_and(|at| self.olds[row].folded == self.folded_line(at))
    }

    fn is_specific(&self, row: usize) -> bool {
        self.olds[row].weight >= MIN_SPECIFIC_WEIGHT
    }

    /// Returns true if two specific lines match exactly and one of them occurs only once. Also true if a removed line
    /// is specific enough alone and only context is reworded.
    fn is_identified(&self) -> bool {
        let rows = 0..self.olds.len();
        let same: Vec<usize> =
            rows.clone().filter(|row| self.is_specific(*row) && self.matches_folded(*row)).collect();
        let once = |row: &usize| self.olds[*row].occurrences == 1;
        let alone = |row: &usize| {
            once(row) && self.olds[*row].is_removed && self.olds[*row].weight >= MIN_SOLE_LINE_WEIGHT
        };
        let reworded = || rows.clone().all(|row| !self.is_specific(row) || self.fit.positions[row].is_some());
        same.len() > 1 && same.iter().any(once) || same.iter().any(alone) && reworded()
    }

    /// Returns true if a specific line that is missing here occurs elsewhere.
    fn misses_line_found_elsewhere(&self) -> bool {
        (0..self.olds.len()).any(|row| {
            self.is_specific(row) && self.fit.positions[row].is_none() && self.olds[row].occurrences == 1
        })
    }

    /// Returns true if the match stretches over foreign lines. One of them equals a removed line (or an old line, if
    /// none is removed), or more than `MAX_INSERTED_LINES` stand between two adjacent lines.
    fn spans_foreign_lines(&self) -> bool {
        let goes = self.olds.iter().any(|old| old.is_removed);
        let is_in_hunk = |at: usize| {
            self.olds.iter().any(|old| {
                old.weight >= MIN_SPECIFIC_WEIGHT
                    && old.is_removed == goes
                    && old.folded == self.folded_line(at)
            })
        };
        let far = |pair: &[Option<usize>]| {
            pair[0]
                .zip(pair[1])
                .is_some_and(|(this, next)| self.unmatched_lines(this, next).count() > MAX_INSERTED_LINES)
        };
        self.unmatched_lines(self.fit.first_line(), self.fit.end_line()).any(is_in_hunk)
            || self.fit.positions.windows(2).any(far)
    }

    /// Returns the lines of the file in a range that do not match the hunk.
    fn unmatched_lines(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        (from..to).filter(|at| !self.fit.positions.contains(&Some(*at)))
    }

    /// Returns true if foreign lines stand beside a change: more than one, or one that belongs to a removed line.
    fn has_foreign_lines_beside_change(&self) -> bool {
        let there: Vec<usize> =
            (0..self.olds.len()).filter(|row| self.fit.positions[*row].is_some()).collect();
        there.windows(2).any(|pair| {
            let (Some(this), Some(next)) = (self.fit.positions[pair[0]], self.fit.positions[pair[1]]) else {
                return false;
            };
            let passed: Vec<usize> =
                (this + 1..next).filter(|at| !self.folded_line(*at).is_empty()).collect();
            let missing = (pair[0] + 1..pair[1]).filter(|row| !self.olds[*row].folded.is_empty()).count();
            if (pair[0] + 1..pair[1]).any(|row| is_elision(&self.olds[row].folded)) {
                return false;
            }
            let goes = self.olds[pair[0]].is_removed || self.olds[pair[1]].is_removed;
            let changes = goes || (pair[0] + 1..=pair[1]).any(|row| self.adds_before[row]);
            let deeper = |at: &usize| {
                let depth = |at: usize| indentation(self.text.line(at)).len();
                self.olds[pair[0]].is_removed && depth(*at) > depth(this)
            };
            // A comment belongs to the line below it.
            let has_comment =
                self.olds[pair[1]].is_removed && next > this + 1 && is_comment(&self.folded_line(next - 1));
            let belongs = has_comment || passed.iter().any(deeper);
            changes && (passed.len() > missing + 1 || passed.len() > missing && belongs)
        })
    }

    /// Returns true if lines are added between an elision line and an empty line that is apart from its next line.
    /// Their position is unclear.
    fn adds_beside_elision(&self) -> bool {
        let dots = |row: &usize| self.fit.positions[*row].is_none() && is_elision(&self.olds[*row].folded);
        let blank = |row: usize| self.olds.get(row).is_some_and(|old| old.folded.is_empty());
        let beside = |one: usize, next: usize| {
            let at = |row: usize| self.fit.positions.get(row).copied().flatten();
            at(one).map(|at| at + 1) == at(next)
        };
        (0..self.olds.len()).filter(dots).any(|row| {
            let above = row > 1 && self.adds_before[row] && blank(row - 1) && !beside(row - 2, row - 1);
            above || self.adds_before[row + 1] && blank(row + 1) && !beside(row + 1, row + 2)
        })
    }

    /// Returns true if a line that is reworded here stands exactly in another place, together with most of the hunk.
    fn fits_better_elsewhere(&self, aligner: &HunkAligner<'_>) -> bool {
        let other = |row: &usize| {
            self.is_specific(*row) && self.olds[*row].occurrences > 0 && !self.matches_folded(*row)
        };
        let rows: Vec<usize> =
            (0..self.olds.len()).filter(|row| self.fit.positions[*row].is_some()).filter(other).collect();
        let there = |fit: &HunkCandidate| {
            let same = |row: &usize| {
                fit.positions[*row].is_some_and(|at| self.olds[*row].folded == self.folded_line(at))
            };
            rows.iter().any(same)
        };
        !rows.is_empty()
            && aligner
                .alignments(false, std::slice::from_ref(self.fit))
                .any(|(share, fit)| share >= MIN_RIVAL_SHARE && there(&fit))
    }

    /// Returns true if a foreign line here resembles an added line: the hunk is partly applied, or the line is to be
    /// removed.
    fn seems_partly_applied(&self, hunk: &Hunk) -> bool {
        let resembles_added = |at: usize| {
            hunk.lines.iter().any(|line| {
                matches!(line, HunkLine::Add(text) if text.chars().any(char::is_alphanumeric)
                    && line_similarity(text, &self.folded_line(at)) >= MIN_VERSION_SIMILARITY)
            })
        };
        self.unmatched_lines(self.fit.first_line(), self.fit.end_line()).any(resembles_added)
    }

    /// Returns true if added lines end or begin with a neighbouring context line that is reworded here. They could as
    /// well stand on its other side, so the line may belong to the old or to the new text.
    fn adds_reworded_neighbour(&self, hunk: &Hunk) -> bool {
        let mut row = 0;
        hunk.lines.chunk_by(|one, next| is_added(one) == is_added(next)).any(|run| {
            if !is_added(&run[0]) {
                row += run.len();
                return false;
            }
            let same = |(line, row): &(&HunkLine, usize)| {
                matches!(line, HunkLine::Add(text) if fold_line(text) == self.olds[*row].folded)
            };
            let says = |row: usize| !self.olds[row].is_removed && !self.olds[row].folded.is_empty();
            let other = |(_, row): (&HunkLine, usize)| says(row) && !self.matches_folded(row);
            let above = run.iter().rev().zip((0..row).rev()).take_while(same).any(other);
            above || run.iter().zip(row..self.olds.len()).take_while(same).any(other)
        })
    }

    /// Returns true if a bracket or another unspecific context line among the changes is missing or reworded.
    fn lacks_unspecific_line(&self) -> bool {
        let changes =
            |row: usize| self.adds_before[row] || self.olds.get(row).is_some_and(|old| old.is_removed);
        let rows = || (0..self.adds_before.len()).filter(|row| changes(*row));
        let (Some(first), Some(last)) = (rows().next(), rows().next_back()) else { return false };
        let says = |row: &usize| !self.olds[*row].folded.is_empty();
        let torn = |row: usize| {
            let says_nothing = !self.is_specific(row) && !is_elision(&self.olds[row].folded);
            says_nothing && !self.matches_folded(row)
        };
        (first..last.min(self.olds.len())).filter(says).any(torn)
    }
}
