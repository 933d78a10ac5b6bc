//! Repairs context lines without their leading space: each matches the file as written, or with one more space.

use std::collections::HashSet;

use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::matching::{indentation, is_exactly_present};

/// Lines of at least this similarity may be the old and new version of one line.
const MIN_VERSION_SIMILARITY: f64 = 0.5;

/// Returns the hunks with the file's context lines, if each context line stands in the file as it is or with one more
/// space.
pub(super) fn restore_prefixes(text: &DecodedText<'_>, hunks: &[Hunk]) -> Option<Vec<Hunk>> {
    let read: Option<Vec<Hunk>> = hunks.iter().map(|hunk| restore_hunk(text, hunk)).collect();
    read.filter(|read| read != hunks)
}

fn restore_hunk(text: &DecodedText<'_>, hunk: &Hunk) -> Option<Hunk> {
    if hunk.old_lines().next().is_none() || hunk.unsigned_lines.is_empty() && is_exactly_present(text, hunk) {
        return Some(hunk.clone());
    }
    let olds: Vec<PrefixedOldLine<'_>> = prefixed_old_lines(hunk);
    let stands = |start: &usize| {
        let same = olds.iter().zip(*start..).take_while(|(old, at)| old.may_match(text.line(*at))).count();
        text.budget().spend(4 * (same + 1)) && same == olds.len()
    };
    let room = (text.len() + 1).saturating_sub(olds.len());
    let places = (0..room).take_while(|_| !text.budget().is_exhausted()).filter(stands);
    let mut reads = places.map(|start| {
        let may = text.budget().spend(8 * (text.len() + hunk.lines.len()));
        may.then(|| restore_at(text, hunk, &olds, start)).flatten()
    });
    let first = reads.next()??;
    let all = reads.all(|read| read.as_ref() == Some(&first));
    (all && !text.budget().is_exhausted()).then_some(first)
}

/// An old line of a hunk.
struct PrefixedOldLine<'a> {
    text: &'a str,
    kind: LinePrefix,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LinePrefix {
    /// It has its sign: a removed line.
    Removed,
    /// It has no sign.
    Unsigned,
    /// It begins with a space, which is its sign or its own.
    LeadingSpace,
}

impl PrefixedOldLine<'_> {
    fn matches_as_written(&self, there: &str) -> bool {
        self.text.trim_end() == there.trim_end()
    }

    fn may_match(&self, there: &str) -> bool {
        let given = self.kind == LinePrefix::LeadingSpace
            && there.strip_prefix(' ').is_some_and(|rest| self.matches_as_written(rest));
        self.matches_as_written(there) || given
    }
}

fn prefixed_old_lines(hunk: &Hunk) -> Vec<PrefixedOldLine<'_>> {
    let unsigned: HashSet<usize> = hunk.unsigned_lines.iter().copied().collect();
    let lines = hunk.lines.iter().enumerate().filter_map(|(at, line)| match line {
        HunkLine::Keep(text) if unsigned.contains(&at) => {
            Some(PrefixedOldLine { text, kind: LinePrefix::Unsigned })
        }
        HunkLine::Keep(text) => Some(PrefixedOldLine { text, kind: LinePrefix::LeadingSpace }),
        HunkLine::Drop(text) => Some(PrefixedOldLine { text, kind: LinePrefix::Removed }),
        HunkLine::Add(_) => None,
    });
    lines.collect()
}

/// Returns the repaired hunk if its old lines stand from `start` on; `None` if another meaning is possible.
fn restore_at(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    olds: &[PrefixedOldLine<'_>],
    start: usize,
) -> Option<Hunk> {
    let adds: Vec<&str> = super::all_added_lines(std::slice::from_ref(hunk)).collect();
    // A line of the file that begins with `+` would be taken for an added line.
    let comes: HashSet<&str> = adds.iter().copied().collect();
    if text.iter().any(|there| there.strip_prefix('+').is_some_and(|there| comes.contains(there))) {
        return None;
    }
    let telling = |old: &PrefixedOldLine<'_>| !old.text.trim().is_empty();
    let signed = |kind: LinePrefix| {
        let mut of_kind = olds.iter().zip(start..).filter(|(old, _)| old.kind == kind && telling(old));
        // A line without indentation proves nothing about the others.
        let says = |line: &str| kind == LinePrefix::Unsigned || line.starts_with([' ', '\t']);
        of_kind.any(|(old, at)| says(text.line(at)) && old.matches_as_written(text.line(at)))
    };
    let open = |(old, at): (&PrefixedOldLine<'_>, usize)| {
        old.kind == LinePrefix::LeadingSpace && telling(old) && old.matches_as_written(text.line(at))
    };
    if !hunk.unsigned_lines.is_empty()
        && olds.iter().zip(start..).any(open)
        && may_lack_minus(hunk)
        && EnginePart::LacksMinus.is_on()
    {
        return None;
    }
    let sure =
        signed(LinePrefix::Unsigned) || signed(LinePrefix::Removed) || signed(LinePrefix::LeadingSpace);
    if !sure && !added_indents_are_exact(text, &adds) && EnginePart::PrefixProof.is_on() {
        return None;
    }
    let mut there = start..;
    let line = |line: &HunkLine| match line {
        HunkLine::Keep(_) => HunkLine::Keep(text.line(there.next().unwrap_or(start)).to_owned()),
        HunkLine::Drop(gone) => {
            there.next();
            HunkLine::Drop(gone.clone())
        }
        HunkLine::Add(_) => line.clone(),
    };
    let lines = hunk.lines.iter().map(line).collect();
    Some(Hunk { lines, unsigned_lines: Vec::new(), ..hunk.clone() })
}

/// Returns true if all added lines have an indentation that the file uses, and one would not with another space. Then
/// only context lines lack theirs.
fn added_indents_are_exact(text: &DecodedText<'_>, adds: &[&str]) -> bool {
    let known = super::file_indents(text);
    let mut adds =
        adds.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).peekable();
    let some = adds.peek().is_some();
    let (mut all, mut odd) = (true, false);
    for blanks in adds {
        all &= known.contains(blanks);
        odd |= !known.contains(format!(" {blanks}").as_str());
    }
    some && all && odd
}

/// Returns true if a line without a sign resembles an added line beside it, and nothing is removed: it may lack a `-`.
fn may_lack_minus(hunk: &Hunk) -> bool {
    let goes = hunk.lines.iter().any(|line| matches!(line, HunkLine::Drop(_)));
    let beside = |at: usize| {
        let before = hunk.lines[..at].iter().rev().take_while(|line| matches!(line, HunkLine::Add(_)));
        let after = hunk.lines[at + 1..].iter().take_while(|line| matches!(line, HunkLine::Add(_)));
        before.chain(after).filter_map(|line| if let HunkLine::Add(text) = line { Some(text) } else { None })
    };
    let resembles = |at: &usize| match &hunk.lines[*at] {
        HunkLine::Keep(text) => {
            beside(*at).any(|add| strsim::sorensen_dice(text.trim(), add.trim()) > MIN_VERSION_SIMILARITY)
        }
        HunkLine::Drop(_) | HunkLine::Add(_) => false,
    };
    !goes && hunk.unsigned_lines.iter().any(resembles)
}
