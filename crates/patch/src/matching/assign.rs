//! Assigns one place to each hunk of a file. Headers and neighbouring hunks decide what one hunk leaves open.

use std::collections::HashMap;

use super::candidate::{HunkCandidate, MatchPass};
use super::file_style::FileStyle;
use super::find_hunk::{HunkSearchResult, PlacementMiss, find_hunk};
use super::header_choice::{choose_file_start, choose_nearest};
use super::line_edits::LineEdits;
use crate::decoded_text::DecodedText;
use crate::edit::Hunk;
use crate::engine_part::EnginePart;

/// The maximum number of unplaced hunks to report.
const MAX_REPORTED_MISSES: usize = 20;
/// From this number of hunks on, the file is indexed once instead of scanned for each.
const MIN_HUNKS_TO_INDEX: usize = 16;

/// The result for one hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkPlacement {
    /// It makes these changes.
    Placed(MatchPass, LineEdits),
    /// It is already applied, from this line on.
    AlreadyApplied(usize),
}

/// Assigns a place in `text` to each of `hunks`, or returns the reason for each one without a place.
pub(crate) fn place_hunks(
    text: &DecodedText<'_>,
    hunks: &[Hunk],
) -> Result<Vec<HunkPlacement>, Vec<(usize, PlacementMiss)>> {
    tracing::debug!(hunks = hunks.len(), "looks for the place of each hunk");
    let mut misses = Vec::new();
    let mut results = Vec::new();
    if hunks.len() >= MIN_HUNKS_TO_INDEX {
        text.index();
    }
    for (index, hunk) in hunks.iter().enumerate() {
        match find_hunk(text, hunk, hunks.len() == 1) {
            // A search that was cut short proves nothing.
            _ if text.budget().is_exhausted() => return Err(vec![(index, PlacementMiss::BudgetExhausted)]),
            Ok(found) => results.push(found),
            Err(miss) => misses.push((index, miss)),
        }
        if misses.len() >= MAX_REPORTED_MISSES {
            break;
        }
    }
    if !misses.is_empty() {
        return Err(misses);
    }
    narrow_by_order(hunks, &mut results);
    choose_by_header(text, hunks, &mut results);
    text.budget().spend(text.len());
    let mut style = FileStyle::from_text(text, hunks);
    for (hunk, found) in hunks.iter().zip(&results) {
        if let HunkSearchResult::Candidates(fits) = found
            && let [fit] = fits.as_slice()
        {
            style.learn_from_hunk(text, hunk, fit);
        }
    }
    misses.extend(contradictions(hunks, &results));
    let mut placed = Vec::new();
    let mut cores: Vec<(usize, usize)> = Vec::new();
    for (index, (hunk, found)) in hunks.iter().zip(results).enumerate() {
        match settle_placement(text, hunk, found, &style) {
            Ok((placement, core)) => {
                let collides = |other: &(usize, usize)| {
                    core.is_some_and(|(start, end)| start < other.1 && other.0 < end)
                };
                let twice = core.is_some_and(|core| cores.contains(&core))
                    && hunks[..index].iter().any(|other| other.lines == hunk.lines)
                    && EnginePart::SameChange.is_on();
                if twice || cores.iter().any(collides) && EnginePart::Overlap.is_on() {
                    misses.push((index, PlacementMiss::OverlapsHunk(core.map_or(0, |core| core.0))));
                }
                cores.extend(core);
                placed.push(placement);
            }
            Err(miss) => misses.push((index, miss)),
        }
    }
    if misses.is_empty() { Ok(placed) } else { Err(misses) }
}

/// Returns hunks that are out of order and do not match exactly, or that are out of order with an applied hunk.
fn contradictions(hunks: &[Hunk], results: &[HunkSearchResult]) -> Vec<(usize, PlacementMiss)> {
    let single = |found: &HunkSearchResult| match found {
        HunkSearchResult::Candidates(fits) if fits.len() == 1 => Some(fits[0].clone()),
        _ => None,
    };
    let fits: Vec<(usize, HunkCandidate)> =
        results.iter().enumerate().filter_map(|(at, found)| Some((at, single(found)?))).collect();
    let mut misses = Vec::new();
    let (mut last, mut done) = (0, 0);
    let later = first_applied_below(results);
    let mut numbered = None;
    let mut places = fits.iter().peekable();
    for (index, found) in results.iter().enumerate() {
        if let HunkSearchResult::AlreadyApplied(at) = found {
            done = done.max(*at);
        }
        let Some((_, fit)) = places.next_if(|(at, _)| *at == index) else { continue };
        let before =
            fit.first_line() < last && fit.pass > MatchPass::Trailing && EnginePart::OrderInexact.is_on()
                || (fit.first_line() < done || fit.first_line() > later[index])
                    && EnginePart::OrderApplied.is_on()
                || numbered.is_some_and(|above| is_misnumbered(hunks, above, (index, fit)))
                    && EnginePart::OrderNumbers.is_on();
        last = last.max(fit.first_line());
        if numbered.is_none_or(|(_, above)| above.first_line() < fit.first_line()) {
            numbered = Some((index, fit));
        }
        if before {
            misses.push((index, PlacementMiss::OutOfOrder(fit.first_line())));
        }
    }
    misses
}

/// Returns true if two hunks lie in another order than their line numbers say, and one of them is not exact.
fn is_misnumbered(
    hunks: &[Hunk],
    (one, above): (usize, &HunkCandidate),
    (other, fit): (usize, &HunkCandidate),
) -> bool {
    let numbered_in_order =
        hunks[one].old_start.zip(hunks[other].old_start).is_some_and(|(one, other)| one < other);
    numbered_in_order && fit.first_line() < above.first_line() && above.pass.max(fit.pass) > MatchPass::Exact
}

/// Returns for each hunk the first line at which a later hunk is already applied.
fn first_applied_below(results: &[HunkSearchResult]) -> Vec<usize> {
    let mut first = usize::MAX;
    let below = results.iter().rev().map(|found| {
        let here = first;
        if let HunkSearchResult::AlreadyApplied(at) = found {
            first = first.min(*at);
        }
        here
    });
    let mut below: Vec<usize> = below.collect();
    below.reverse();
    below
}

type ChangedRange = (usize, usize);

fn settle_placement(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    found: HunkSearchResult,
    style: &FileStyle,
) -> Result<(HunkPlacement, Option<ChangedRange>), PlacementMiss> {
    match found {
        HunkSearchResult::AlreadyApplied(at) => Ok((HunkPlacement::AlreadyApplied(at), None)),
        HunkSearchResult::Insertion(at) => {
            let adds = hunk.new_lines().map(|line| (at, line.to_owned())).collect();
            Ok((
                HunkPlacement::Placed(MatchPass::Exact, LineEdits { adds, ..LineEdits::default() }),
                Some((at, at)),
            ))
        }
        HunkSearchResult::Candidates(fits) => match fits.as_slice() {
            [fit] => {
                let line_edits = LineEdits::from_candidate(text, hunk, fit, style);
                let line_edits =
                    line_edits.map_err(|doubt| PlacementMiss::Doubtful(fit.first_line(), doubt))?;
                Ok((HunkPlacement::Placed(fit.pass, line_edits), Some(fit.changed_range(hunk))))
            }
            fits if fits.iter().all(|fit| fit.first_line() == fits[0].first_line()) => {
                let doubt = "its lines can be taken for those there in more than one way".to_owned();
                Err(PlacementMiss::Doubtful(fits.first().map_or(0, HunkCandidate::first_line), doubt))
            }
            fits => Err(PlacementMiss::Ambiguous(fits.iter().map(HunkCandidate::first_line).collect())),
        },
    }
}

/// Reduces hunks with several remaining places to the one that the header decides for. Hunks whose old lines another
/// hunk shares are left to their order.
fn choose_by_header(text: &DecodedText<'_>, hunks: &[Hunk], results: &mut [HunkSearchResult]) {
    let mut seen: HashMap<Vec<&str>, usize> = HashMap::new();
    for hunk in hunks {
        *seen.entry(hunk.old_lines().collect()).or_default() += 1;
    }
    let (mut chose, mut from) = (false, 0);
    for (index, (hunk, found)) in hunks.iter().zip(results.iter_mut()).enumerate() {
        let HunkSearchResult::Candidates(fits) = found else { continue };
        let alone = seen.get(&hunk.old_lines().collect::<Vec<_>>()) == Some(&1);
        let top = || choose_file_start(hunk, fits).filter(|_| index == 0 && EnginePart::FileStart.is_on());
        let nearest = || choose_nearest(text, hunk, fits, from).filter(|_| EnginePart::NearestBelow.is_on());
        if let Some(fit) = top().or_else(nearest).filter(|_| alone) {
            *fits = vec![fit];
            chose = true;
        }
        if let [fit] = fits.as_slice() {
            from = fit.changed_range(hunk).1;
        }
    }
    if chose {
        narrow_by_order(hunks, results);
    }
}

/// Keeps for each hunk the places that lie between the places of its neighbours.
fn narrow_by_order(hunks: &[Hunk], results: &mut [HunkSearchResult]) {
    let core = |at: usize, fit: &HunkCandidate| fit.changed_range(&hunks[at]);
    // Computes the first possible place of each hunk from above and the last from below. If they coincide, there is no
    // other.
    let bounds = |results: &[HunkSearchResult]| -> Option<Vec<(HunkCandidate, HunkCandidate)>> {
        let mut lowest = Vec::new();
        let mut from = 0;
        for (at, found) in results.iter().enumerate() {
            let HunkSearchResult::Candidates(fits) = found else {
                lowest.push(None);
                continue;
            };
            let fit = fits.iter().filter(|fit| core(at, fit).0 >= from).min_by_key(|fit| fit.first_line())?;
            from = core(at, fit).1;
            lowest.push(Some(fit.clone()));
        }
        let mut both = Vec::new();
        let mut until = usize::MAX;
        for (at, found) in results.iter().enumerate().rev() {
            let (HunkSearchResult::Candidates(fits), Some(low)) = (found, &lowest[at]) else { continue };
            let fit =
                fits.iter().filter(|fit| core(at, fit).1 <= until).max_by_key(|fit| fit.first_line())?;
            until = core(at, fit).0;
            both.push((low.clone(), fit.clone()));
        }
        both.reverse();
        Some(both)
    };
    let Some(bounds) = bounds(results) else { return };
    let open = results
        .iter_mut()
        .filter_map(|found| if let HunkSearchResult::Candidates(fits) = found { Some(fits) } else { None });
    for (fits, (low, high)) in open.zip(bounds).filter(|(fits, _)| fits.len() > 1) {
        if !EnginePart::NarrowByOrder.is_on() {
            continue;
        }
        fits.retain(|fit| low.first_line() <= fit.first_line() && fit.first_line() <= high.first_line());
    }
}
