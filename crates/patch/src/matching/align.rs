//! Aligns a hunk's old lines with a part of the file by dynamic programming: which of them are there, and where.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::candidate::{HunkCandidate, MatchPass};
use super::line_compare::{fold_line, is_blank, line_similarity};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// The cost of a file line that is not in the hunk.
const UNMATCHED_LINE_COST: f64 = 0.25;
/// Lines with a lower similarity do not match.
pub(super) const MIN_SIMILARITY: f64 = 0.5;
/// The maximum number of offsets that are aligned.
const MAX_OFFSETS: usize = 12;
/// A line with more occurrences says nothing about the place.
const MAX_OCCURRENCES: usize = 200;
/// The number of lines by which parts of a hunk may have moved.
const MAX_DRIFT_LINES: usize = 12;

/// The cost in search steps of one cell of the alignment table, and of one character in a similarity comparison.
const CELL_COST: usize = 8;
const CHAR_COST: usize = 4;

/// An old line of the hunk.
pub(super) struct OldLine<'a> {
    pub(super) text: &'a str,
    pub(super) folded: Cow<'a, str>,
    pub(super) is_removed: bool,
    pub(super) weight: f64,
    /// The number of occurrences of its folded text in the file.
    pub(super) occurrences: usize,
}

/// Aligns the old lines of one hunk with one file.
pub(super) struct HunkAligner<'a> {
    pub(super) text: &'a DecodedText<'a>,
    pub(super) olds: Vec<OldLine<'a>>,
    /// Offsets between hunk lines and file lines at which lines match, most likely first.
    offsets: Vec<isize>,
}

impl<'a> HunkAligner<'a> {
    pub(super) fn new(text: &'a DecodedText<'_>, hunk: &'a Hunk) -> Self {
        let lines = hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) => Some((text, false)),
            HunkLine::Drop(text) => Some((text, true)),
            HunkLine::Add(_) => None,
        });
        let old = |(line, is_removed): (&'a String, bool)| {
            let folded = fold_line(line);
            let occurrences = text.index().lines_with_fold(&folded).len();
            OldLine { text: line, folded, is_removed, weight: line_weight(line), occurrences }
        };
        let olds: Vec<OldLine<'_>> = lines.map(old).collect();
        let offsets = likely_offsets(text, &olds);
        Self { text, olds, offsets }
    }

    /// Returns likely places outside `taken`, each with the share of the hunk found there. `strict`: as required to
    /// apply the hunk.
    pub(super) fn alignments(
        &self,
        strict: bool,
        taken: &[HunkCandidate],
    ) -> impl Iterator<Item = (f64, HunkCandidate)> {
        self.offsets.iter().filter_map(move |offset| self.align(*offset, (strict, taken)))
    }

    /// Returns the place with the largest share of the hunk, outside `taken`.
    pub(super) fn best_alignment(
        &self,
        strict: bool,
        taken: &[HunkCandidate],
    ) -> Option<(f64, HunkCandidate)> {
        self.alignments(strict, taken).max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// Computes the best alignment of the hunk near `offset`: the share of the hunk found there, and where its lines
    /// are.
    fn align(
        &self,
        offset: isize,
        (strict, taken): (bool, &[HunkCandidate]),
    ) -> Option<(f64, HunkCandidate)> {
        let olds = &self.olds;
        let start = usize::try_from(offset - MAX_DRIFT_LINES.cast_signed()).unwrap_or(0);
        let end = (offset + (olds.len() + MAX_DRIFT_LINES).cast_signed())
            .max(0)
            .cast_unsigned()
            .min(self.text.len());
        let taken_lines: usize = taken.iter().map(|fit| fit.positions.len()).sum();
        let cells = (olds.len() + 1).saturating_mul(end.saturating_sub(start));
        if start >= end || !self.text.budget().spend(cells.saturating_mul(CELL_COST + taken_lines / 2)) {
            return None;
        }
        let folds: Vec<Cow<'_, str>> = (start..end).map(|at| fold_line(self.text.line(at))).collect();
        let score_at = |row: usize, column: usize| self.line_score(&olds[row], &folds[column], strict);
        let steps = self.best_steps(start..end, (strict, taken), score_at)?;
        let (mut positions, matched_weight) = trace_back(&steps, end - start + 1, |row, column| {
            (start + column, score_at(row, column) * olds[row].weight)
        });
        if strict {
            match_reworded_lines(olds, &mut positions);
        }
        let total_weight: f64 = olds.iter().map(|old| old.weight).sum();
        let found = positions.iter().any(Option::is_some);
        found.then_some((
            matched_weight / total_weight,
            HunkCandidate { pass: MatchPass::Fuzzy, positions, doubt: None },
        ))
    }

    /// Fills the alignment table of the hunk and the file's `lines`. Returns the best step to each cell. `score_at`
    /// compares an old line with one of `lines`.
    fn best_steps(
        &self,
        lines: Range<usize>,
        (strict, taken): (bool, &[HunkCandidate]),
        score_at: impl Fn(usize, usize) -> f64,
    ) -> Option<Vec<AlignStep>> {
        let olds = &self.olds;
        // A removed line cannot be removed twice. A hunk that only adds must land elsewhere.
        let removes_lines = olds.iter().any(|old| old.is_removed);
        let is_taken = |row: usize, at: usize| {
            (!strict || olds[row].is_removed || !removes_lines)
                && taken.iter().any(|fit| fit.positions.contains(&Some(at)))
        };
        let (rows, width) = (olds.len() + 1, lines.len() + 1);
        let mut best = vec![0.0_f64; rows * width];
        let mut steps = vec![AlignStep::Begin; rows * width];
        for row in 1..rows {
            if self.text.budget().is_exhausted() {
                return None;
            }
            let old = &olds[row - 1];
            let must_match = strict && old.is_removed && !old.folded.is_empty();
            let missing = if must_match { f64::NEG_INFINITY } else { -0.3 * old.weight };
            for column in 0..width {
                let mut choice = (best[(row - 1) * width + column] + missing, AlignStep::SkipOld);
                if column > 0 {
                    // File lines after the last old line cost nothing.
                    let cost = if row == rows - 1 { 0.0 } else { UNMATCHED_LINE_COST };
                    let passed = best[row * width + column - 1] - cost;
                    if passed > choice.0 {
                        choice = (passed, AlignStep::SkipFile);
                    }
                    let at = lines.start + column - 1;
                    let same =
                        best[(row - 1) * width + column - 1] + score_at(row - 1, column - 1) * old.weight;
                    if same >= choice.0 && !is_taken(row - 1, at) {
                        choice = (same, AlignStep::Match);
                    }
                }
                (best[row * width + column], steps[row * width + column]) = choice;
            }
        }
        best[rows * width - 1].is_finite().then_some(steps)
    }

    /// Returns the similarity of an old line and a file line. In strict mode a removed line must be equal. An empty
    /// line matches only an empty line.
    fn line_score(&self, old: &OldLine<'_>, line: &str, strict: bool) -> f64 {
        if old.folded == line {
            return 1.0;
        }
        // In strict mode, a line that the file contains does not match a merely similar one.
        if strict && (old.is_removed || old.occurrences > 0) || old.folded.is_empty() || line.is_empty() {
            return f64::NEG_INFINITY;
        }
        self.text.budget().spend(CHAR_COST * (old.folded.len() + line.len()));
        match line_similarity(old.text, line) {
            enough if enough >= MIN_SIMILARITY => enough * 0.8,
            _ => f64::NEG_INFINITY,
        }
    }
}

/// Returns how specific a line is: lines with more alphanumeric characters weigh more.
pub(super) fn line_weight(line: &str) -> f64 {
    let alphanumerics = line.chars().filter(|char| char.is_alphanumeric()).count();
    match alphanumerics {
        0 if is_blank(line) => 0.1,
        0 | 1 => 0.3,
        some => 1.0 + f64::from(u8::try_from(some.min(40)).unwrap_or(40)) / 10.0,
    }
}

/// Returns the offsets at which hunk lines occur in the file, most likely first.
fn likely_offsets(text: &DecodedText<'_>, olds: &[OldLine<'_>]) -> Vec<isize> {
    let mut votes: HashMap<isize, f64> = HashMap::new();
    for (row, old) in olds.iter().enumerate().filter(|(_, old)| !old.folded.is_empty()) {
        let places = text.index().lines_with_fold(&old.folded);
        if !text.budget().spend(4 * places.len().min(MAX_OCCURRENCES)) {
            return Vec::new();
        }
        for place in places.iter().filter(|_| places.len() <= MAX_OCCURRENCES) {
            *votes.entry(place.cast_signed() - row.cast_signed()).or_default() += old.weight;
        }
    }
    let mut votes: Vec<(isize, f64)> = votes.into_iter().collect();
    votes.sort_by(|(at, a), (bt, b)| b.total_cmp(a).then(at.cmp(bt)));
    // With this many equally likely places, aligning only a few of them proves nothing.
    if votes.get(MAX_OFFSETS).is_some_and(|(_, vote)| *vote >= 0.7 * votes[0].1) {
        return Vec::new();
    }
    votes.truncate(MAX_OFFSETS);
    votes.into_iter().map(|(offset, _)| offset).collect()
}

/// Matches a file line with the one context line expected there, if its neighbours on both sides match and are
/// adjacent.
fn match_reworded_lines(olds: &[OldLine<'_>], positions: &mut [Option<usize>]) {
    for row in 1..olds.len().saturating_sub(1) {
        if let (Some(before), None, Some(after)) = (positions[row - 1], positions[row], positions[row + 1])
            && before + 2 == after
            && !olds[row].is_removed
            && !olds[row].folded.is_empty()
            && EnginePart::RewordedLines.is_on()
        {
            positions[row] = Some(before + 1);
        }
    }
}

/// The predecessor on the best path to a cell.
#[derive(Clone, Copy, PartialEq)]
enum AlignStep {
    Begin,
    /// The old line matches the file's line.
    Match,
    /// The old line is not in the file.
    SkipOld,
    /// The file's line is not in the hunk.
    SkipFile,
}

/// Traces the path back from the last cell. Returns the position of each old line and the matched weight. `both` gives
/// position and weight of a matched cell.
fn trace_back(
    steps: &[AlignStep],
    width: usize,
    both: impl Fn(usize, usize) -> (usize, f64),
) -> (Vec<Option<usize>>, f64) {
    let rows = steps.len() / width;
    let mut positions = vec![None; rows - 1];
    let (mut row, mut column, mut matched_weight) = (rows - 1, width - 1, 0.0);
    // ends: the row or the column goes down
    while row > 0 {
        match steps[row * width + column] {
            AlignStep::Match => {
                (row, column) = (row - 1, column - 1);
                let (place, weight) = both(row, column);
                positions[row] = Some(place);
                matched_weight += weight;
            }
            AlignStep::SkipOld => row -= 1,
            AlignStep::SkipFile => column -= 1,
            AlignStep::Begin => break,
        }
    }
    (positions, matched_weight)
}
