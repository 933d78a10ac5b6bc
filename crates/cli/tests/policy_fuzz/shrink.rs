//! Shrinks a case to the smallest one that shows the same finding.

use std::path::Path;

use crate::round::{FuzzCase, FuzzCounts, FuzzFinding, OperationSource, run_round};
use crate::tree;

/// Replays of a case at most.
const MOST: usize = 200;

/// Runs the case in a directory of its own.
pub(crate) fn replay_case(case: &FuzzCase, place: &Path) -> Result<(), FuzzFinding> {
    crate::with_place(place, |place| {
        run_round(&mut case.clone(), OperationSource::Given, place, &mut FuzzCounts::default())
    })
}

/// Removes everything that is not needed for `finding`.
pub(crate) fn shrink(case: FuzzCase, finding: FuzzFinding, place: &Path) -> (FuzzCase, FuzzFinding) {
    let mut best = (case, finding);
    let mut left = MOST;
    // ends: each turn makes the case smaller
    while left > 0 && smaller(&mut best, place, &mut left) {}
    best
}

/// Tries every reduction of the case, and reports whether one worked.
fn smaller(best: &mut (FuzzCase, FuzzFinding), place: &Path, left: &mut usize) -> bool {
    let before = *left;
    let mut found = false;
    let mut length = best.0.ops.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < best.0.ops.len() {
            let mut case = best.0.clone();
            let end = (at + length).min(case.ops.len());
            case.ops.drain(at..end);
            if keeps(best, case, place, left) {
                found = true;
            } else {
                at += length;
            }
        }
        length /= 2;
    }
    for policy in best.0.policy.simplifications() {
        let case = FuzzCase { policy, ..best.0.clone() };
        found |= keeps(best, case, place, left);
    }
    for entry in best.0.tree.clone().iter().rev().filter(|entry| !tree::is_top(&entry.path)) {
        let smaller = tree::without(&best.0.tree, &entry.path);
        if smaller.len() < best.0.tree.len() {
            let case = FuzzCase { tree: smaller, ..best.0.clone() };
            found |= keeps(best, case, place, left);
        }
    }
    found && *left < before
}

/// Accepts `case` if it shows the same finding.
fn keeps(best: &mut (FuzzCase, FuzzFinding), case: FuzzCase, place: &Path, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match replay_case(&case, place) {
        Err(finding) if finding.kind == best.1.kind => {
            *best = (case, finding);
            true
        }
        _ => false,
    }
}
