//! Detects a truncated diff: one that ends before its last hunk does.

use super::hunk_reader::ParsedHunk;
use crate::edit::HunkLine;
use crate::parse::PatchSyntaxError;
use crate::parse::source_lines::SourceLines;
use crate::parse::wrapper::PatchSource;

/// Context lines after the last change, as programs write them. A hunk with this many is complete, whatever its counts.
const CONTEXT: usize = 3;

/// A miscount on one side alone is never this large.
const MUCH: usize = 4;

/// The announced and actual line counts of all hunks of a diff.
#[derive(Default)]
pub(super) struct DiffLineCounts {
    /// True if all hunks before the last have the announced number of lines.
    right: bool,
    others: usize,
    last: Option<HunkLineCount>,
}

/// The line counts of one hunk.
struct HunkLineCount {
    said: Option<(usize, usize)>,
    has: (usize, usize),
    /// The number of context lines after the last change; `None` if nothing changes.
    after: Option<usize>,
    ends_in_drop: bool,
    /// The line of the patch text after the hunk.
    end: usize,
}

impl DiffLineCounts {
    /// Adds the next hunk.
    pub(super) fn add_hunk(&mut self, found: &ParsedHunk) {
        if let Some(before) = self.last.replace(HunkLineCount::from_hunk(found)) {
            self.right = before.said == Some(before.has) && (self.right || self.others == 0);
            self.others += 1;
        }
    }

    /// Rejects a diff whose last hunk ends the text with too few lines, unless it is merely miscounted.
    pub(super) fn reject_truncated(
        &self,
        lines: &SourceLines<'_>,
        source: &PatchSource<'_>,
    ) -> Result<(), PatchSyntaxError> {
        match &self.last {
            Some(last) if last.end > lines.last() && self.is_cut(last, source) => {
                let hint = "the last hunk has fewer lines than its `@@` says; send all of it, or count again";
                Err(PatchSyntaxError::cut_off(lines.number(lines.last()), hint))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_cut(&self, last: &HunkLineCount, source: &PatchSource<'_>) -> bool {
        let Some((old, new)) = last.said else { return false };
        let lost = (old.saturating_sub(last.has.0), new.saturating_sub(last.has.1));
        let Some(after) = last.after else { return lost != (0, 0) };
        // An empty context line at the end is easily lost and proves nothing.
        let blank = lost == (1, 1) && !last.ends_in_drop;
        // One side has exactly the announced count, and the other ends many lines short.
        let least = if self.others == 0 { MUCH } else { 1 };
        let half = after == 0 && lost.0.min(lost.1) == 0 && lost.0.max(lost.1) >= least && is_right(last);
        let short = half || lost.0 > 0 && lost.1 > 0 && !blank;
        // A writer who miscounts does so in other hunks too, or writes the context after the change.
        let counts = if self.others == 0 { after == 0 && !source.closed } else { self.right };
        short && counts && after < CONTEXT
    }
}

/// Returns true if a hunk has the announced number of old lines, or of new lines.
fn is_right(count: &HunkLineCount) -> bool {
    count.said.is_some_and(|said| said.0 == count.has.0 || said.1 == count.has.1)
}

impl HunkLineCount {
    fn from_hunk(found: &ParsedHunk) -> Self {
        let hunk = &found.hunk;
        let stays = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
        let after = hunk.lines.iter().rev().take_while(stays).count();
        Self {
            said: found.said,
            has: (hunk.old_lines().count(), hunk.new_lines().count()),
            after: (after < hunk.lines.len()).then_some(after),
            ends_in_drop: matches!(hunk.lines.last(), Some(HunkLine::Drop(_))),
            end: found.body.end,
        }
    }
}
