//! Whether a diff ends before its last hunk does: then the rest of what it changes is missing.

use super::hunks::Found;
use crate::edit::Line;
use crate::parse::Syntax;
use crate::parse::lines::Lines;
use crate::parse::wrapper::Source;

/// Lines that stay after the last change, as programs write them: with so many, a hunk is whole whatever it counts.
const CONTEXT: usize = 3;

/// Nobody miscounts by so many lines on one side alone.
const MUCH: usize = 4;

/// How many lines hunks say that they have, and how many they do: of all hunks of a diff, one after another.
#[derive(Default)]
pub(super) struct Counts {
    /// Whether those before the last are as many as they say.
    right: bool,
    others: usize,
    last: Option<Count>,
}

/// The lines of one hunk.
struct Count {
    said: Option<(usize, usize)>,
    has: (usize, usize),
    /// Lines that stay after the last change; `None`: nothing changes.
    after: Option<usize>,
    ends_in_drop: bool,
    /// The line of the text after its own.
    end: usize,
}

impl Counts {
    /// Takes the next hunk.
    pub(super) fn add(&mut self, found: &Found) {
        if let Some(before) = self.last.replace(Count::of(found)) {
            self.right = before.said == Some(before.has) && (self.right || self.others == 0);
            self.others += 1;
        }
    }

    /// Refuses a diff whose last hunk is the end of the text and has too few lines, if that is no mere miscounting.
    pub(super) fn check(&self, lines: &Lines<'_>, source: &Source<'_>) -> Result<(), Syntax> {
        match &self.last {
            Some(last) if last.end > lines.last() && self.is_cut(last, source) => {
                let hint = "the last hunk has fewer lines than its `@@` says; send all of it, or count again";
                Err(Syntax::cut_off(lines.number(lines.last()), hint))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_cut(&self, last: &Count, source: &Source<'_>) -> bool {
        let Some((old, new)) = last.said else { return false };
        let lost = (old.saturating_sub(last.has.0), new.saturating_sub(last.has.1));
        let Some(after) = last.after else { return lost != (0, 0) };
        // An empty line that stays at the end is easily lost, and says nothing.
        let blank = lost == (1, 1) && !last.ends_in_drop;
        // One side is right to the line, and much of the other is missing where it ends.
        let least = if self.others == 0 { MUCH } else { 1 };
        let half = after == 0 && lost.0.min(lost.1) == 0 && lost.0.max(lost.1) >= least && is_right(last);
        let short = half || lost.0 > 0 && lost.1 > 0 && !blank;
        // Whoever cannot count is wrong in other hunks too, or writes what stays after the change.
        let counts = if self.others == 0 { after == 0 && !source.closed } else { self.right };
        short && counts && after < CONTEXT
    }
}

/// Whether a hunk has as many old lines as it says, or as many new ones.
fn is_right(count: &Count) -> bool {
    count.said.is_some_and(|said| said.0 == count.has.0 || said.1 == count.has.1)
}

impl Count {
    fn of(found: &Found) -> Self {
        let hunk = &found.hunk;
        let stays = |line: &&Line| matches!(line, Line::Keep(_));
        let after = hunk.lines.iter().rev().take_while(stays).count();
        Self {
            said: found.said,
            has: (hunk.old().count(), hunk.new_lines().count()),
            after: (after < hunk.lines.len()).then_some(after),
            ends_in_drop: matches!(hunk.lines.last(), Some(Line::Drop(_))),
            end: found.body.end,
        }
    }
}
