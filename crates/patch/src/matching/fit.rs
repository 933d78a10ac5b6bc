//! Where the old lines of a hunk stand one after another.

use std::fmt;

use super::line::Likeness;
use crate::edit::{Hunk, Line};
use crate::reading::Reading;
use crate::text::Text;

/// How a place was found, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// What it makes stands there already.
    Done,
    /// Every line as the patch has it.
    Exact,
    /// The same, but not below its header.
    Header,
    /// The same, and in other places too, further below its header.
    Nearest,
    /// But for blanks at the ends of lines.
    Trailing,
    /// But for the indentation.
    Indent,
    /// But for blanks within lines and how quotes and dashes are written.
    Fold,
    /// But for empty lines.
    Blanks,
    /// But for lines around it that have changed.
    Near,
    /// Every line as the patch has it, read in another way.
    Read(Reading),
}

impl Pass {
    /// What it overlooks, in words; nothing if it overlooks nothing.
    pub fn overlooks(self) -> Option<&'static str> {
        match self {
            Self::Done | Self::Exact => None,
            Self::Header => Some("its `@@` header"),
            Self::Nearest => Some("that it also fits further below its `@@` header"),
            Self::Trailing => Some("blanks at the ends of lines"),
            Self::Indent => Some("indentation"),
            Self::Fold => Some("quotes, dashes or blanks"),
            Self::Blanks => Some("empty lines"),
            Self::Near => Some("lines nearby that differ"),
            Self::Read(reading) => Some(reading.overlooks()),
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.overlooks().unwrap_or("nothing"))
    }
}

/// A place where a hunk may belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fit {
    /// How it was found.
    pub(crate) pass: Pass,
    /// Where each of the hunk's old lines is in the file; `None`: nowhere.
    pub(crate) at: Vec<Option<usize>>,
    /// Why that is not enough to go by, if it is not.
    pub(crate) doubt: Option<&'static str>,
}

impl Fit {
    /// The first line of the file that it covers.
    pub(crate) fn first(&self) -> usize {
        self.at.iter().flatten().next().copied().unwrap_or(0)
    }

    /// The line after the last that it covers.
    pub(crate) fn end(&self) -> usize {
        self.at.iter().flatten().next_back().map_or(0, |at| at + 1)
    }

    /// The part of the file that it changes: what stays around that may be shared with others.
    pub(crate) fn core(&self, hunk: &Hunk) -> (usize, usize) {
        let (mut start, mut end, mut old) = (None, self.first(), 0);
        let mut here = self.first();
        for line in &hunk.lines {
            if !matches!(line, Line::Add(_)) {
                here = self.at.get(old).copied().flatten().unwrap_or(here);
                old += 1;
            }
            match line {
                Line::Keep(_) => here = (here + 1).min(self.end()),
                Line::Drop(_) => {
                    start.get_or_insert(here);
                    here += 1;
                    end = here;
                }
                Line::Add(_) => {
                    start.get_or_insert(here);
                    end = end.max(here);
                }
            }
        }
        let start = start.unwrap_or(self.first());
        (start, end.max(start))
    }
}

/// What it costs to keep where one line is, in steps: there may be many places, and each has all lines.
const KEPT: usize = 16;

/// Notes that a place for `lines` lines is kept; whether there may be more.
pub(super) fn keep(text: &Text<'_>, lines: usize) -> bool {
    text.effort().spend(KEPT.saturating_mul(lines + 1))
}

/// Every place where the old lines of `hunk` stand one after another, as alike as `likeness` asks.
pub(crate) fn contiguous(text: &Text<'_>, hunk: &Hunk, likeness: Likeness, pass: Pass) -> Vec<Fit> {
    let pattern: Vec<&str> = hunk.old().collect();
    // The longest line is the rarest.
    let Some((anchor, rare)) = pattern.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let room = text.len().saturating_sub(pattern.len() - 1);
    let alike: Vec<usize> = if likeness == Likeness::Exact {
        text.find(rare)
    } else {
        let places = text.index().places(rare).iter().copied();
        places.filter(|at| likeness.holds(rare, text.line(*at))).collect()
    };
    let starts = alike.into_iter().filter_map(|at| at.checked_sub(anchor)).filter(|start| *start < room);
    let fits = starts.take_while(|_| !text.effort().is_spent()).filter(|start| {
        let same = pattern.iter().zip(*start..).take_while(|(line, at)| likeness.holds(line, text.line(*at)));
        let same = same.count();
        text.effort().spend(same + 1) && same == pattern.len() && keep(text, same)
    });
    fits.map(|start| Fit { pass, at: (start..start + pattern.len()).map(Some).collect(), doubt: None })
        .collect()
}
