//! Turns a matched place into removed and added lines, or the reason why the change is unclear.

use std::collections::HashSet;

use super::candidate::{HunkCandidate, MatchPass};
use super::file_style::{FileStyle, StyleTransfer};
use super::header_scope::is_outside_header;
use super::line_compare::{indentation, is_blank, line_similarity};
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// Lines of at least this similarity are two versions of one line.
const MIN_VERSION_SIMILARITY: f64 = 0.5;

/// The changes of a hunk to a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LineEdits {
    /// The lines to remove.
    pub(crate) drops: Vec<usize>,
    /// The lines to add, each before the line of that number.
    pub(crate) adds: Vec<(usize, String)>,
    /// True if the place is not below the hunk's header.
    pub(crate) outside_header: bool,
}

/// The reason why a place is not certain enough.
pub(crate) type DoubtReason = String;

impl LineEdits {
    /// Computes the changes of `hunk` at `fit`.
    pub(crate) fn from_candidate(
        text: &DecodedText<'_>,
        hunk: &Hunk,
        fit: &HunkCandidate,
        style: &FileStyle,
    ) -> Result<Self, DoubtReason> {
        if let Some(doubt) = fit.doubt {
            return Err(doubt.to_owned());
        }
        if fit.pass == MatchPass::EmptyLines
            && hunk.line == 0
            && !has_matching_empty_lines(hunk, fit)
            && EnginePart::EmptyInText.is_on()
        {
            return Err("the empty lines among what changes are not those of the file".to_owned());
        }
        let old: Vec<&str> = hunk.old_lines().collect();
        let style_transfer = StyleTransfer::new(text, hunk, fit, style)?;
        let mut line_edits = Self { outside_header: is_outside_header(text, hunk, fit), ..Self::default() };
        let mut seen = 0;
        let mut index = 0;
        // ends: each round takes lines
        while index < hunk.lines.len() {
            match &hunk.lines[index] {
                HunkLine::Keep(_) => (seen, index) = (seen + 1, index + 1),
                HunkLine::Drop(line) => {
                    match fit.positions[seen] {
                        Some(at) => line_edits.remove_line(text, hunk, fit, (seen, at), index)?,
                        None if is_blank(line) => {}
                        None => return Err(format!("line `{}`, which is to go, is not there", line.trim())),
                    }
                    (seen, index) = (seen + 1, index + 1);
                }
                HunkLine::Add(_) => {
                    let run: Vec<&str> = hunk.lines[index..]
                        .iter()
                        .map_while(
                            |line| if let HunkLine::Add(text) = line { Some(text.as_str()) } else { None },
                        )
                        .collect();
                    let at = insertion_line(text, hunk, fit, seen, index, &run)?;
                    let paired = replaced_lines(hunk, index, seen);
                    for (nth, line) in run.iter().enumerate() {
                        let paired =
                            paired.get(nth).and_then(|of| Some((old[*of], text.line(fit.positions[*of]?))));
                        line_edits.adds.push((at, style_transfer.restyle_line(line, paired)?));
                    }
                    index += run.len();
                }
            }
        }
        match line_edits.find_doubtful_indent(text, hunk) {
            Some(line) => Err(format!("the indentation of `{}` is unclear", line.trim())),
            None => Ok(line_edits),
        }
    }

    /// Returns an added line whose indentation changes by one blank without proof: as given it has an indentation that
    /// the file uses, and the new one does not.
    fn find_doubtful_indent<'a>(&self, text: &DecodedText<'_>, hunk: &'a Hunk) -> Option<&'a str> {
        let given = hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Keep(_) | HunkLine::Drop(_) => None,
        });
        let mut moved = given
            .zip(&self.adds)
            .map(|(given, (_, made))| (given, made.as_str()))
            .filter(|(given, made)| {
                !is_blank(given) && differ_by_one_space(indentation(given), indentation(made))
            })
            .peekable();
        moved.peek()?;
        let depths: HashSet<&str> = text.iter().filter(|line| !is_blank(line)).map(indentation).collect();
        let known = |line: &str| depths.contains(indentation(line));
        moved
            .find(|(given, made)| known(given) && !known(made))
            .filter(|_| EnginePart::RefutedIndent.is_on())
            .map(|(given, _)| given)
    }

    /// Removes the line at `at`, which matches old line number `seen`.
    fn remove_line(
        &mut self,
        text: &DecodedText<'_>,
        hunk: &Hunk,
        fit: &HunkCandidate,
        (seen, at): (usize, usize),
        index: usize,
    ) -> Result<(), DoubtReason> {
        let follows_drop = index > 0 && {
            let before = hunk.lines[..index].iter().rev().find(|line| !matches!(line, HunkLine::Add(_)));
            matches!(before, Some(HunkLine::Drop(_)))
        };
        if follows_drop
            && let Some(before) = fit.positions[..seen].iter().rev().flatten().next()
            && at > before + 1
            && EnginePart::InnerLine.is_on()
        {
            let what = text.line(before + 1);
            return Err(match is_blank(what) {
                true => format!(
                    "there is an empty line after line {} that the patch does not say anything about",
                    before + 1
                ),
                false => {
                    format!("line {} (`{}`) stands between lines that are to go", before + 2, what.trim())
                }
            });
        }
        self.drops.push(at);
        Ok(())
    }
}

/// Returns true if two indentations differ by one space.
fn differ_by_one_space(one: &str, other: &str) -> bool {
    one.strip_suffix(' ') == Some(other) || other.strip_suffix(' ') == Some(one)
}

/// Returns true if no empty line that only the file or only the patch has stands among the changes. For two texts the
/// removed lines are our own guess, so the fate of such an empty line is unclear. The exception are lines that are only
/// reworded, each at its place.
fn has_matching_empty_lines(hunk: &Hunk, fit: &HunkCandidate) -> bool {
    let changes = |line: &HunkLine| !matches!(line, HunkLine::Keep(_));
    let olds = |lines: &[HunkLine]| lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).count();
    let (Some(first), Some(last)) =
        (hunk.lines.iter().position(changes), hunk.lines.iter().rposition(changes))
    else {
        return true;
    };
    let from = olds(&hunk.lines[..first]).saturating_sub(1);
    let until = (olds(&hunk.lines[..=last]) + 1).min(fit.positions.len());
    let beside = |pair: &[Option<usize>]| pair[0].is_some() && pair[1] == pair[0].map(|at| at + 1);
    fit.positions[from..until].windows(2).all(beside) || only_rewords_lines(hunk, fit, beside)
}

/// Returns true if each change removes as many lines as it adds, each similar to its replacement. Adjacent removed
/// lines must be adjacent in the file too, as `beside` decides.
fn only_rewords_lines(hunk: &Hunk, fit: &HunkCandidate, beside: impl Fn(&[Option<usize>]) -> bool) -> bool {
    let mut seen = 0;
    hunk.lines
        .chunk_by(|one, next| matches!(one, HunkLine::Keep(_)) == matches!(next, HunkLine::Keep(_)))
        .all(|run| {
            let goes: Vec<&str> = texts(run, |line| matches!(line, HunkLine::Drop(_)));
            let comes: Vec<&str> = texts(run, |line| matches!(line, HunkLine::Add(_)));
            let old = run.len() - comes.len();
            let at = &fit.positions[seen..seen + old];
            seen += old;
            let alike = goes
                .iter()
                .zip(&comes)
                .all(|(goes, comes)| line_similarity(goes, comes) >= MIN_VERSION_SIMILARITY);
            goes.is_empty() && comes.is_empty()
                || goes.len() == comes.len() && alike && at.windows(2).all(&beside)
        })
}

/// Returns the text of those of `lines` that satisfy `is`.
fn texts(lines: &[HunkLine], is: impl Fn(&HunkLine) -> bool) -> Vec<&str> {
    let those = lines.iter().filter(|line| is(line));
    those.map(|(HunkLine::Keep(text) | HunkLine::Drop(text) | HunkLine::Add(text))| text.as_str()).collect()
}

/// Returns for each line of the run of added lines at `index` the old line that it replaces.
fn replaced_lines(hunk: &Hunk, index: usize, seen: usize) -> Vec<usize> {
    let dropped =
        hunk.lines[..index].iter().rev().take_while(|line| matches!(line, HunkLine::Drop(_))).count();
    if dropped > 0 {
        return (seen - dropped..seen).collect();
    }
    let run = hunk.lines[index..].iter().take_while(|line| matches!(line, HunkLine::Add(_))).count();
    let after = hunk.lines[index + run..].iter().take_while(|line| matches!(line, HunkLine::Drop(_))).count();
    (seen..seen + after).collect()
}

/// Returns the line of the file before which the run of added lines goes that follows `seen` old lines.
fn insertion_line(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    fit: &HunkCandidate,
    seen: usize,
    index: usize,
    run: &[&str],
) -> Result<usize, DoubtReason> {
    let before_drops = index > 0 && matches!(hunk.lines[index - 1], HunkLine::Drop(_));
    let after_drops = matches!(hunk.lines.get(index + run.len()), Some(HunkLine::Drop(_)));
    let before = fit.positions[..seen].last().copied().flatten();
    let after = fit.positions.get(seen).copied().flatten();
    if before_drops && let Some(before) = before {
        return Ok(before + 1);
    }
    if after_drops && let Some(after) = after {
        return match before {
            Some(before) if before + 1 < after => insertion_between(text, before, after, run),
            _ => Ok(after),
        };
    }
    match (before, after) {
        (Some(before), Some(after)) if after == before + 1 => Ok(after),
        (Some(before), Some(after)) => insertion_between(text, before, after, run),
        (Some(before), None) if seen == fit.positions.len() => Ok(before + 1),
        (None, Some(after)) if seen == 0 => Ok(after),
        (Some(before), None) => match fit.positions[seen..].iter().flatten().next() {
            Some(after) if *after == before + 1 => Ok(*after),
            // Missing empty lines do not count, if nothing else is in between.
            _ if fit.pass == MatchPass::EmptyLines && before + 1 == text.len() => Ok(before + 1),
            Some(after) if fit.pass == MatchPass::EmptyLines => insertion_between(text, before, *after, run),
            _ => Err(format!("the line that should follow line {} is not there", before + 1)),
        },
        (None, Some(after)) => match fit.positions[..seen].iter().flatten().next_back() {
            Some(before) if before + 1 == after => Ok(after),
            None if fit.pass == MatchPass::EmptyLines => Ok(after),
            Some(before) if fit.pass == MatchPass::EmptyLines => insertion_between(text, *before, after, run),
            _ => Err(format!("the line that should stand before line {} is not there", after + 1)),
        },
        // An extra empty line at the end does not count.
        (None, None) if fit.pass == MatchPass::EmptyLines && seen == fit.positions.len() => {
            Ok(fit.end_line())
        }
        (None, None) => Err("no line next to what is to be added is there".to_owned()),
    }
}

/// Returns the insertion line between `before` and `after`, if only empty lines are there. The spacing between blocks
/// stays as it was.
fn insertion_between(
    text: &DecodedText<'_>,
    before: usize,
    after: usize,
    run: &[&str],
) -> Result<usize, DoubtReason> {
    let foreign = (before + 1..after).find(|at| !is_blank(text.line(*at)));
    if let Some(at) = foreign {
        let line = text.line(at).trim();
        return Err(format!(
            "line {} (`{line}`) stands where something is to be added, and the patch does not know it",
            at + 1
        ));
    }
    let gap = after - before - 1;
    let leads = run.iter().take_while(|line| is_blank(line)).count();
    let trails = run.iter().rev().take_while(|line| is_blank(line)).count();
    // Of several empty lines, some may belong above the added lines and some below.
    let bears = |own: usize| own > 0 && (gap == 1 || own == gap);
    match (leads, trails) {
        (_, 0) if bears(leads) => Ok(before + 1),
        (0, _) if bears(trails) => Ok(after),
        _ if !EnginePart::EmptySide.is_on() => Ok(before + 1),
        _ => Err(format!(
            "there is an empty line after line {}, and the patch does not say on which side of it to add",
            before + 1
        )),
    }
}
