//! Where each line of a file stands, so that many hunks are looked for without going over it each time; and how much
//! looking there was, so that no patch takes for ever.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use crate::matching::fold;

/// So much looking is enough: a few seconds. A step is about what it takes to compare two lines.
const ENOUGH: u64 = 250_000_000;
/// What may be given up takes at most this part of what is left of it.
const PART: u64 = 4;

/// The lines of a file by what they say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Where lines stand whose folded text has this hash, in the file's order.
    places: HashMap<u64, Vec<usize>>,
    /// The lines that are not empty.
    said: Vec<usize>,
    state: RandomState,
}

impl Index {
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (at, line) in lines.enumerate() {
            if !line.trim().is_empty() {
                index.said.push(at);
            }
            index.places.entry(index.state.hash_one(&*fold(line))).or_default().push(at);
        }
        index
    }

    /// The lines that are `line`, if how they are written does not count.
    pub(crate) fn places(&self, line: &str) -> &[usize] {
        self.folded(&fold(line))
    }

    /// The same for a line that is folded.
    pub(crate) fn folded(&self, line: &str) -> &[usize] {
        self.places.get(&self.state.hash_one(line)).map_or(&[], Vec::as_slice)
    }

    /// The lines that are not empty.
    pub(crate) fn said(&self) -> &[usize] {
        &self.said
    }
}

/// How much looking there was, for a whole patch: a copy counts on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effort(Rc<Cell<u64>>);

impl Effort {
    /// Does what may be given up without a word, with a part of what is left.
    pub(crate) fn within<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        let from = self.0.get();
        let start = from.saturating_add(ENOUGH.saturating_sub(from) / PART * (PART - 1));
        let part = Self(Rc::new(Cell::new(start)));
        let done = work(&part);
        let used = part.0.get().min(ENOUGH).saturating_sub(start);
        self.0.set(from.saturating_add(used));
        done
    }

    /// Counts `steps` more, and says whether there may be as many. What is found when there may not is not to be used.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_add(steps as u64));
        !self.is_spent()
    }

    /// Whether there was too much.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() > ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use crate::edit::{Hunk, Line};
    use crate::matching::{Miss, place};
    use crate::text::Text;

    #[test]
    fn what_is_not_looked_for_to_the_end_is_not_found() {
        let text = Text::read(b"one\ntwo\n").unwrap();
        let hunk = Hunk { lines: vec![Line::Drop("two".to_owned())], ..Hunk::default() };
        let hunks = std::slice::from_ref(&hunk);
        assert!(place(&text, hunks).is_ok());
        assert!(!text.effort().spend(usize::MAX));
        assert_eq!(place(&text, hunks), Err(vec![(0, Miss::Costly)]));
    }
}
