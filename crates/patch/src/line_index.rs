//! Indexes the lines of a file by their folded text, and limits the total search effort of a patch.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use crate::matching::fold_line;

/// The search budget of a patch: a few seconds. A step is about one line comparison.
const MAX_SEARCH_STEPS: u64 = 250_000_000;
/// An optional search gets at most this fraction (one n-th) of the remaining budget.
const SHARE_DIVISOR: u64 = 4;

/// Line numbers by folded line text.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineIndex {
    /// The lines whose folded text has this hash, in the file's order.
    lines_by_hash: HashMap<u64, Vec<usize>>,
    /// The lines that are not empty.
    nonblank: Vec<usize>,
    state: RandomState,
}

impl LineIndex {
    pub(crate) fn build<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (at, line) in lines.enumerate() {
            if !line.trim().is_empty() {
                index.nonblank.push(at);
            }
            index.lines_by_hash.entry(index.state.hash_one(&*fold_line(line))).or_default().push(at);
        }
        index
    }

    /// Returns the lines that equal `line` when whitespace and typography are folded.
    pub(crate) fn lines_like(&self, line: &str) -> &[usize] {
        self.lines_with_fold(&fold_line(line))
    }

    /// Returns the lines whose folded text equals `line`, which is already folded.
    pub(crate) fn lines_with_fold(&self, line: &str) -> &[usize] {
        self.lines_by_hash.get(&self.state.hash_one(line)).map_or(&[], Vec::as_slice)
    }

    /// Returns the lines that are not empty.
    pub(crate) fn nonblank_lines(&self) -> &[usize] {
        &self.nonblank
    }
}

/// The search steps of a whole patch. Clones share the counter.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchBudget(Rc<Cell<u64>>);

impl SearchBudget {
    /// Runs an optional search with a share of the remaining budget. Running out there is no error.
    pub(crate) fn with_share<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        let from = self.0.get();
        let start =
            from.saturating_add(MAX_SEARCH_STEPS.saturating_sub(from) / SHARE_DIVISOR * (SHARE_DIVISOR - 1));
        let share = Self(Rc::new(Cell::new(start)));
        let done = work(&share);
        let used = share.0.get().min(MAX_SEARCH_STEPS).saturating_sub(start);
        self.0.set(from.saturating_add(used));
        done
    }

    /// Charges `steps` and returns true if the budget allows them. Otherwise the search result must not be used.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_add(steps as u64));
        !self.is_exhausted()
    }

    /// Returns true if the budget is exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.0.get() > MAX_SEARCH_STEPS
    }
}

#[cfg(test)]
mod tests {
    use crate::decoded_text::DecodedText;
    use crate::edit::{Hunk, HunkLine};
    use crate::matching::{PlacementMiss, place_hunks};

    #[test]
    fn an_exhausted_budget_finds_nothing() {
        let text = DecodedText::from_bytes(b"one\ntwo\n").unwrap();
        let hunk = Hunk { lines: vec![HunkLine::Drop("two".to_owned())], ..Hunk::default() };
        let hunks = std::slice::from_ref(&hunk);
        assert!(place_hunks(&text, hunks).is_ok());
        assert!(!text.budget().spend(usize::MAX));
        assert_eq!(place_hunks(&text, hunks), Err(vec![(0, PlacementMiss::BudgetExhausted)]));
    }
}
