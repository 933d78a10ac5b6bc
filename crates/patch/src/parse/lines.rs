//! The lines of a patch text, by number.

use super::wrapper::Source;

/// The lines of a text, without their ends.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where each begins. Four bytes a line: a text of newlines only must not take a gigabyte.
    starts: Vec<u32>,
    first: usize,
    last: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn of(source: &Source<'a>) -> Self {
        let text = source.text;
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(after).filter(|at| *at < text.len());
        // A text has at most `MAX_BYTES`, so every place fits.
        let starts: Vec<u32> = starts.filter_map(|at| u32::try_from(at).ok()).collect();
        let mut lines = Self { text, starts, first: source.first, last: 0 };
        lines.last = (0..lines.len()).rev().find(|at| !lines.is_blank(*at)).unwrap_or(0);
        lines
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The line, without its newline and without one carriage return before that.
    pub(super) fn get(&self, at: usize) -> Option<&'a str> {
        self.raw(at).map(|line| line.strip_suffix('\r').unwrap_or(line))
    }

    /// The text of the lines from one up to another.
    pub(super) fn span(&self, from: usize, until: usize) -> &'a str {
        let start = |at: usize| self.starts.get(at).map_or(self.text.len(), |start| *start as usize);
        self.text.get(start(from)..start(until)).unwrap_or_default()
    }

    /// Whether the line ends with a carriage return.
    pub(super) fn has_return(&self, at: usize) -> bool {
        self.raw(at).is_some_and(|line| line.ends_with('\r'))
    }

    /// Which line of the patch text this is, from 1.
    pub(super) fn number(&self, at: usize) -> usize {
        self.first + at
    }

    /// The last line that is not blank, or the first.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.raw(at).is_none_or(|line| line.trim().is_empty())
    }

    fn raw(&self, at: usize) -> Option<&'a str> {
        let start = *self.starts.get(at)? as usize;
        let end = self.starts.get(at + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end)?;
        Some(line.strip_suffix('\n').unwrap_or(line))
    }
}
