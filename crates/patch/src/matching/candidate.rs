//! Candidate places of a hunk, the match passes from exact to fuzzy, and the search for contiguous old lines.

use std::fmt;

use super::line_compare::LineLikeness;
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::repair::RepairKind;

/// The match pass that found a place, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchPass {
    /// The new lines already stand there.
    AlreadyApplied,
    /// Every line matches exactly.
    Exact,
    /// Every line matches exactly, but not below its header.
    OutsideHeader,
    /// Every line matches exactly, and also at other places further below the header.
    Nearest,
    /// Ignores whitespace at the ends of lines.
    Trailing,
    /// Ignores indentation.
    Indent,
    /// Ignores whitespace within lines and the typography of quotes and dashes.
    Folded,
    /// Ignores empty lines.
    EmptyLines,
    /// Fuzzy match: ignores context lines that have changed.
    Fuzzy,
    /// Every line matches exactly after a repair of the patch text.
    Repaired(RepairKind),
}

impl MatchPass {
    /// Describes the ignored difference; `None` if the match is exact.
    pub fn ignored_difference(self) -> Option<&'static str> {
        match self {
            Self::AlreadyApplied | Self::Exact => None,
            Self::OutsideHeader => Some("its `@@` header"),
            Self::Nearest => Some("that it also fits further below its `@@` header"),
            Self::Trailing => Some("blanks at the ends of lines"),
            Self::Indent => Some("indentation"),
            Self::Folded => Some("quotes, dashes or blanks"),
            Self::EmptyLines => Some("empty lines"),
            Self::Fuzzy => Some("lines nearby that differ"),
            Self::Repaired(repair) => Some(repair.ignored_difference()),
        }
    }
}

impl fmt::Display for MatchPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ignored_difference().unwrap_or("nothing"))
    }
}

/// A place where a hunk may belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkCandidate {
    /// The pass that found it.
    pub(crate) pass: MatchPass,
    /// The position of each old line in the file; `None` if it is missing.
    pub(crate) positions: Vec<Option<usize>>,
    /// The reason why the place is not certain enough, if there is one.
    pub(crate) doubt: Option<&'static str>,
}

impl HunkCandidate {
    /// Returns the first line of the file that the match covers.
    pub(crate) fn first_line(&self) -> usize {
        self.positions.iter().flatten().next().copied().unwrap_or(0)
    }

    /// Returns the line after the last one that the match covers.
    pub(crate) fn end_line(&self) -> usize {
        self.positions.iter().flatten().next_back().map_or(0, |at| at + 1)
    }

    /// Returns the lines that the hunk changes. The context around them may be shared with other hunks.
    pub(crate) fn changed_range(&self, hunk: &Hunk) -> (usize, usize) {
        let (mut start, mut end, mut old) = (None, self.first_line(), 0);
        let mut here = self.first_line();
        for line in &hunk.lines {
            if !matches!(line, HunkLine::Add(_)) {
                here = self.positions.get(old).copied().flatten().unwrap_or(here);
                old += 1;
            }
            match line {
                HunkLine::Keep(_) => here = (here + 1).min(self.end_line()),
                HunkLine::Drop(_) => {
                    start.get_or_insert(here);
                    here += 1;
                    end = here;
                }
                HunkLine::Add(_) => {
                    start.get_or_insert(here);
                    end = end.max(here);
                }
            }
        }
        let start = start.unwrap_or(self.first_line());
        (start, end.max(start))
    }
}

/// The cost in search steps of storing one line position. There may be many places, each with all lines.
const POSITION_COST: usize = 16;

/// Charges the budget for storing a place of `lines` lines. Returns true if the budget allows more.
pub(super) fn charge_candidate(text: &DecodedText<'_>, lines: usize) -> bool {
    text.budget().spend(POSITION_COST.saturating_mul(lines + 1))
}

/// Returns every place where the old lines of `hunk` stand one after another, compared with `likeness`.
pub(crate) fn find_contiguous(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    likeness: LineLikeness,
    pass: MatchPass,
) -> Vec<HunkCandidate> {
    let pattern: Vec<&str> = hunk.old_lines().collect();
    // The longest line is likely the rarest.
    let Some((anchor, rare)) = pattern.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let room = text.len().saturating_sub(pattern.len() - 1);
    let alike: Vec<usize> = if likeness == LineLikeness::Exact {
        text.find_exact_line(rare)
    } else {
        let places = text.index().lines_like(rare).iter().copied();
        places.filter(|at| likeness.accepts(rare, text.line(*at))).collect()
    };
    let starts = alike.into_iter().filter_map(|at| at.checked_sub(anchor)).filter(|start| *start < room);
    let fits = starts.take_while(|_| !text.budget().is_exhausted()).filter(|start| {
        let same =
            pattern.iter().zip(*start..).take_while(|(line, at)| likeness.accepts(line, text.line(*at)));
        let same = same.count();
        text.budget().spend(same + 1) && same == pattern.len() && charge_candidate(text, same)
    });
    fits.map(|start| HunkCandidate {
        pass,
        positions: (start..start + pattern.len()).map(Some).collect(),
        doubt: None,
    })
    .collect()
}
