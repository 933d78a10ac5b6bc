//! Searches for evidence against a match: rival places for a hunk, or signs that it is already applied.

use std::ops::Range;

use super::align::{HunkAligner, OldLine, line_weight};
use super::candidate::{HunkCandidate, MatchPass};
use super::fuzzy::MIN_SHARE;
use super::fuzzy_accept::MIN_SPECIFIC_WEIGHT;
use super::line_compare::{LineLikeness, fold_line, indentation, is_blank};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};

/// The share of a hunk that makes another place equally likely.
const MIN_RIVAL_SHARE: f64 = 0.97;
/// The share of a hunk that must be present to apply it again, although it seems applied.
const MIN_REAPPLY_SHARE: f64 = 0.85;
/// The share of a hunk at which its line number or header outweighs a complete match elsewhere.
const MIN_NEARER_SHARE: f64 = 0.8;
/// If the complete match is exact, the rival must be this many times nearer to the line number.
const NEARER_FACTOR: usize = 4;

/// Returns true if a place outside `done`, the hunk's new lines, resembles `hunk` enough that it may have to be applied
/// there.
pub(crate) fn has_rival_outside(text: &DecodedText<'_>, hunk: &Hunk, done: Range<usize>) -> bool {
    best_outside(text, hunk, &[reserve_lines(done)]).is_some()
}

/// Returns a place that resembles `hunk` enough to apply it there, although its new lines already stand at `done`.
pub(crate) fn find_unapplied_rival(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    done: &[usize],
) -> Option<HunkCandidate> {
    let length = hunk.new_lines().count();
    best_outside(text, hunk, &done.iter().map(|at| reserve_lines(*at..at + length)).collect::<Vec<_>>())
}

/// Creates a placeholder match that reserves these lines.
fn reserve_lines(lines: Range<usize>) -> HunkCandidate {
    HunkCandidate { pass: MatchPass::Exact, positions: lines.map(Some).collect(), doubt: None }
}

fn best_outside(text: &DecodedText<'_>, hunk: &Hunk, taken: &[HunkCandidate]) -> Option<HunkCandidate> {
    let aligner = HunkAligner::new(text, hunk);
    let (share, fit) = aligner.best_alignment(false, taken)?;
    let mut goes = aligner
        .olds
        .iter()
        .zip(&fit.positions)
        .filter(|(old, _)| old.is_removed && old.weight >= MIN_SPECIFIC_WEIGHT)
        .peekable();
    let all_there = goes.peek().is_some()
        && goes.all(|(old, at)| at.is_some_and(|at| old.folded == fold_line(text.line(at))));
    let doubt = Some("lines of it differ there, and what it makes stands elsewhere");
    (share >= MIN_REAPPLY_SHARE || share >= MIN_SHARE && all_there).then_some(HunkCandidate { doubt, ..fit })
}

/// Returns a place much nearer to the line number of `hunk` than `fit`, where all removed lines match too, with similar
/// context.
pub(crate) fn place_nearer_number(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> Option<usize> {
    // A model that does not know the line number writes 1.
    let number =
        hunk.old_start?.checked_sub(1).filter(|number| *number > 0 && *number != fit.first_line())?;
    let aligner = HunkAligner::new(text, hunk);
    // A removed line that occurs only once cannot be at another place.
    let once =
        |old: &OldLine<'_>| old.is_removed && old.weight >= MIN_SPECIFIC_WEIGHT && old.occurrences == 1;
    if aligner.olds.iter().any(once) {
        return None;
    }
    let far = |at: usize| at.abs_diff(number);
    let times = if fit.pass > MatchPass::Trailing { 1 } else { NEARER_FACTOR };
    let mut near = likely_places(&aligner, std::slice::from_ref(fit));
    // Overlapping lines are the same place with another alignment.
    let apart =
        |place: &HunkCandidate| place.end_line() <= fit.first_line() || fit.end_line() <= place.first_line();
    let nearer =
        |place: &HunkCandidate| far(place.first_line()).saturating_mul(times) < far(fit.first_line());
    near.find(|place| apart(place) && nearer(place)).map(|place| place.first_line())
}

/// Returns places outside `taken` where all removed lines match, with similar context.
fn likely_places<'a>(
    aligner: &'a HunkAligner<'_>,
    taken: &'a [HunkCandidate],
) -> impl Iterator<Item = HunkCandidate> + use<'a> {
    let same = |(old, at): (&OldLine<'_>, &Option<usize>)| {
        !old.is_removed
            || old.weight < MIN_SPECIFIC_WEIGHT
            || at.is_some_and(|at| old.folded == fold_line(aligner.text.line(at)))
    };
    let places = aligner.alignments(false, taken).filter(|(share, _)| *share >= MIN_NEARER_SHARE);
    places.map(|(_, fit)| fit).filter(move |fit| aligner.olds.iter().zip(&fit.positions).all(same))
}

/// Returns true if a hunk that only removes lines is still present, more or less. Its new lines may occur anywhere.
pub(crate) fn is_still_present(text: &DecodedText<'_>, hunk: &Hunk) -> bool {
    if hunk
        .lines
        .iter()
        .any(|line| matches!(line, HunkLine::Add(text) if line_weight(text) >= MIN_SPECIFIC_WEIGHT))
    {
        return false;
    }
    let aligner = HunkAligner::new(text, hunk);
    let goes = |fit: Option<&HunkCandidate>| -> f64 {
        let there = |row: usize| fit.is_none_or(|fit| fit.positions[row].is_some());
        aligner
            .olds
            .iter()
            .enumerate()
            .filter(|(row, old)| old.is_removed && there(*row))
            .map(|(_, old)| old.weight)
            .sum()
    };
    aligner
        .alignments(false, &[])
        .any(|(share, fit)| share >= MIN_SHARE && goes(Some(&fit)) > 0.5 * goes(None))
}

/// Returns where the new lines of `hunk` stand, if they match at least as well as its old lines at `fit`. The hunk may
/// be applied there.
pub(crate) fn find_applied(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> Option<usize> {
    if !hunk
        .lines
        .iter()
        .any(|line| matches!(line, HunkLine::Add(text) if line_weight(text) >= MIN_SPECIFIC_WEIGHT))
    {
        return None;
    }
    // Added lines must match as strictly as removed lines.
    let lines = hunk.lines.iter().filter_map(|line| match line {
        HunkLine::Keep(_) => Some(line.clone()),
        HunkLine::Add(text) => Some(HunkLine::Drop(text.clone())),
        HunkLine::Drop(_) => None,
    });
    let new = Hunk { lines: lines.collect(), ..Hunk::default() };
    let (before, after) = (HunkAligner::new(text, hunk), HunkAligner::new(text, &new));
    let weigh = |aligner: &HunkAligner<'_>, fit: &HunkCandidate| -> f64 {
        let olds = &aligner.olds;
        let there = olds
            .iter()
            .zip(&fit.positions)
            .filter(|(old, at)| at.is_some_and(|at| old.folded == fold_line(text.line(at))));
        there.map(|(old, _)| old.weight).sum::<f64>() / olds.iter().map(|old| old.weight).sum::<f64>()
    };
    let (_, place) = after.best_alignment(true, &[])?;
    let rows: Vec<usize> = (0..after.olds.len()).filter(|row| place.positions[*row].is_some()).collect();
    let beside = |pair: &[usize]| {
        let changes = pair.iter().any(|row| after.olds[*row].is_removed);
        let blank = |(this, next): (usize, usize)| (this + 1..next).all(|at| is_blank(text.line(at)));
        !changes || place.positions[pair[0]].zip(place.positions[pair[1]]).is_some_and(blank)
    };
    let together = rows.len() > 1 && rows.windows(2).all(beside);
    let here = place.first_line() < fit.end_line() && fit.first_line() < place.end_line();
    let made = together && weigh(&after, &place) >= weigh(&before, fit);
    let undone = || is_not_applied(text, hunk, fit) || has_old_whitespace(text, hunk, fit);
    (made && !(here && undone())).then(|| place.first_line())
}

/// Returns true if all removed lines match at `fit`, ignoring trailing whitespace, and not all added lines stand around
/// it. A hunk that only changes whitespace is not applied merely because its result looks the same.
fn is_not_applied(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).zip(&fit.positions);
    let mut goes = olds.filter(|(line, _)| matches!(line, HunkLine::Drop(_))).peekable();
    let same = |line: &str, at: usize| LineLikeness::Trailing.accepts(line, text.line(at));
    let stands = goes.peek().is_some()
        && goes.all(|(line, at)| matches!((line, at), (HunkLine::Drop(line), Some(at)) if same(line, *at)));
    let there = |line: &str| (fit.first_line()..fit.end_line()).any(|at| same(line, at));
    let comes = |line: &HunkLine| matches!(line, HunkLine::Add(line) if !there(line));
    stands && text.budget().spend(hunk.lines.len() * fit.positions.len()) && hunk.lines.iter().any(comes)
}

/// Returns true if `hunk` changes only leading and trailing whitespace, and the whitespace at `fit` is as before the
/// hunk.
fn has_old_whitespace(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let olds = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).zip(&fit.positions);
    let goes: Vec<(&str, Option<usize>)> = olds
        .filter_map(
            |(line, at)| if let HunkLine::Drop(line) = line { Some((line.as_str(), *at)) } else { None },
        )
        .collect();
    let comes: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| if let HunkLine::Add(line) = line { Some(line.as_str()) } else { None })
        .collect();
    let same = |one: &str, other: &str| {
        let ends = |line: &str| line.ends_with([' ', '\t']);
        fold_line(one) == fold_line(other)
            && indentation(one) == indentation(other)
            && ends(one) == ends(other)
    };
    let is = |line: &str, at: Option<usize>| at.is_some_and(|at| same(line, text.line(at)));
    let pairs = || goes.iter().zip(&comes);
    goes.len() == comes.len()
        && pairs().all(|((gone, at), come)| fold_line(gone) == fold_line(come) && is(gone, *at))
        && pairs().any(|((_, at), come)| !is(come, *at))
}

/// Returns another place than `fit` where nearly all of `hunk` matches.
pub(crate) fn near_exact_rival(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    fit: &HunkCandidate,
) -> Option<HunkCandidate> {
    let aligner = HunkAligner::new(text, hunk);
    let found = aligner.best_alignment(true, std::slice::from_ref(fit))?;
    (found.0 >= MIN_RIVAL_SHARE).then_some(found.1)
}
