//! Detects a truncated diff: one that ends before its last hunk does.

use super::hunk_reader::ParsedHunk;
use crate::edit::HunkLine;
use crate::engine_part::EnginePart;
use crate::parse::PatchSyntaxError;
use crate::parse::source_lines::SourceLines;
use crate::parse::wrapper::PatchSource;

/// Context lines after the last change, as programs write them. A hunk with this many is complete, whatever its counts.
const FULL_CONTEXT_LINES: usize = 3;

/// A miscount on one side alone is never this large.
const MIN_TRUNCATED_LINES: usize = 4;

/// The announced and actual line counts of all hunks of a diff.
#[derive(Default)]
pub(super) struct DiffLineCounts {
    /// True if all hunks before the last have the announced number of lines.
    counts_match: bool,
    earlier_hunks: usize,
    last: Option<HunkLineCount>,
}

/// The line counts of one hunk.
struct HunkLineCount {
    announced: Option<(usize, usize)>,
    actual: (usize, usize),
    /// The number of context lines after the last change; `None` if nothing changes.
    trailing_context: Option<usize>,
    ends_in_drop: bool,
    /// The line of the patch text after the hunk.
    end: usize,
}

impl DiffLineCounts {
    /// Adds the next hunk.
    pub(super) fn add_hunk(&mut self, found: &ParsedHunk) {
        if let Some(before) = self.last.replace(HunkLineCount::from_hunk(found)) {
            self.counts_match =
                before.announced == Some(before.actual) && (self.counts_match || self.earlier_hunks == 0);
            self.earlier_hunks += 1;
        }
    }

    /// Rejects a diff whose last hunk ends the text with too few lines, unless it is merely miscounted.
    pub(super) fn reject_truncated(
        &self,
        lines: &SourceLines<'_>,
        source: &PatchSource<'_>,
    ) -> Result<(), PatchSyntaxError> {
        match &self.last {
            Some(last)
                if last.end > lines.last()
                    && self.is_truncated(last, source)
                    && EnginePart::Truncated.is_on() =>
            {
                let hint = "the last hunk has fewer lines than its `@@` says; send all of it, or count again";
                Err(PatchSyntaxError::cut_off(lines.number(lines.last()), hint))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_truncated(&self, last: &HunkLineCount, source: &PatchSource<'_>) -> bool {
        let Some((old, new)) = last.announced else { return false };
        let lost = (old.saturating_sub(last.actual.0), new.saturating_sub(last.actual.1));
        let Some(after) = last.trailing_context else { return lost != (0, 0) };
        // An empty context line at the end is easily lost and proves nothing.
        let blank = lost == (1, 1) && !last.ends_in_drop;
        // One side has exactly the announced count, and the other ends many lines short.
        let least = if self.earlier_hunks == 0 { MIN_TRUNCATED_LINES } else { 1 };
        let half =
            after == 0 && lost.0.min(lost.1) == 0 && lost.0.max(lost.1) >= least && matches_one_side(last);
        let short = half || lost.0 > 0 && lost.1 > 0 && !blank;
        // A writer who miscounts does so in other hunks too, or writes the context after the change.
        let counts =
            if self.earlier_hunks == 0 { after == 0 && !source.wrapper_closed } else { self.counts_match };
        short && counts && after < FULL_CONTEXT_LINES
    }
}

/// Returns true if a hunk has the announced number of old lines, or of new lines.
fn matches_one_side(count: &HunkLineCount) -> bool {
    count.announced.is_some_and(|said| said.0 == count.actual.0 || said.1 == count.actual.1)
}

impl HunkLineCount {
    fn from_hunk(found: &ParsedHunk) -> Self {
        let hunk = &found.hunk;
        let stays = |line: &&HunkLine| matches!(line, HunkLine::Keep(_));
        let after = hunk.lines.iter().rev().take_while(stays).count();
        Self {
            announced: found.announced,
            actual: (hunk.old_lines().count(), hunk.new_lines().count()),
            trailing_context: (after < hunk.lines.len()).then_some(after),
            ends_in_drop: matches!(hunk.lines.last(), Some(HunkLine::Drop(_))),
            end: found.body.end,
        }
    }
}
