//! The lines of a patch text, by number.

use super::wrapper::PatchSource;

/// The lines of a text, without their line ends.
pub(super) struct SourceLines<'a> {
    text: &'a str,
    /// The start offset of each line. Four bytes per line, so that a text of newlines does not take a gigabyte.
    starts: Vec<u32>,
    first_line_number: usize,
    last_nonblank: usize,
}

impl<'a> SourceLines<'a> {
    pub(super) fn new(source: &PatchSource<'a>) -> Self {
        let text = source.text;
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(after).filter(|at| *at < text.len());
        // A text has at most `MAX_BYTES`, so every offset fits.
        let starts: Vec<u32> = starts.filter_map(|at| u32::try_from(at).ok()).collect();
        let mut lines = Self { text, starts, first_line_number: source.first_line_number, last_nonblank: 0 };
        lines.last_nonblank = (0..lines.len()).rev().find(|at| !lines.is_blank(*at)).unwrap_or(0);
        lines
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the line, without its newline and one carriage return before it.
    pub(super) fn get(&self, at: usize) -> Option<&'a str> {
        self.line_with_cr(at).map(|line| line.strip_suffix('\r').unwrap_or(line))
    }

    /// Returns the text of a range of lines.
    pub(super) fn span(&self, from: usize, until: usize) -> &'a str {
        let start = |at: usize| self.starts.get(at).map_or(self.text.len(), |start| *start as usize);
        self.text.get(start(from)..start(until)).unwrap_or_default()
    }

    /// Returns true if the line ends with a carriage return.
    pub(super) fn ends_with_cr(&self, at: usize) -> bool {
        self.line_with_cr(at).is_some_and(|line| line.ends_with('\r'))
    }

    /// Returns the line's number in the patch text, counted from 1.
    pub(super) fn number(&self, at: usize) -> usize {
        self.first_line_number + at
    }

    /// Returns the last line that is not blank, or the first.
    pub(super) fn last(&self) -> usize {
        self.last_nonblank
    }

    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.line_with_cr(at).is_none_or(|line| line.trim().is_empty())
    }

    fn line_with_cr(&self, at: usize) -> Option<&'a str> {
        let start = *self.starts.get(at)? as usize;
        let end = self.starts.get(at + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end)?;
        Some(line.strip_suffix('\n').unwrap_or(line))
    }
}
