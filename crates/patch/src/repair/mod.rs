//! Repairs mistakes in how a patch is written down. A repair counts only if every old line then matches exactly.

mod elision;
mod entities;
mod escapes;
mod line_numbers;
mod missing_prefix;
mod shared_evidence;

use std::collections::HashSet;

pub(crate) use elision::find_elision;
pub(crate) use shared_evidence::RepairEvidence;

use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::matching::{HunkPlacement, MatchPass, PlacementMiss, indentation, place_hunks};
use crate::search_replace::{self, ReplaceOutcome};

/// The kind of mistake that a repair removes. It concerns how a patch is written, not what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepairKind {
    /// Context lines lack the space before them.
    MissingPrefix,
    /// Lines begin with their numbers, as some programs show them.
    LineNumbers,
    /// Quotes, backslashes or newlines are escaped once too often.
    Escapes,
    /// Characters are written as HTML entities.
    Entities,
}

impl RepairKind {
    /// Describes the ignored mistake.
    pub fn ignored_difference(self) -> &'static str {
        match self {
            Self::MissingPrefix => "blanks that are missing before lines that stay",
            Self::LineNumbers => "line numbers",
            Self::Escapes => "escapes",
            Self::Entities => "entities",
        }
    }
}

/// Repaired hunks, with the kind of repair.
type RepairedHunks = (RepairKind, Vec<Hunk>);

/// Repairs hunks that do not match as written. Returns `None` if no repair applies, and an error if the meaning is
/// unclear.
pub(crate) fn repair_hunks(
    text: &DecodedText<'_>,
    hunks: &[Hunk],
    placed: &Result<Vec<HunkPlacement>, Vec<(usize, PlacementMiss)>>,
) -> Result<Option<RepairedHunks>, Vec<(usize, PlacementMiss)>> {
    let unsigned = |hunk: &Hunk| !hunk.unsigned_lines.is_empty();
    if placed.as_ref().is_err_and(|misses| misses.iter().any(|(_, miss)| is_unrepairable(miss)))
        && !hunks.iter().any(unsigned)
    {
        return Ok(None);
    }
    if text.budget().is_exhausted() {
        return Err(vec![(0, PlacementMiss::BudgetExhausted)]);
    }
    let signs = missing_prefix::restore_prefixes(text, hunks)
        .filter(|_| EnginePart::MissingPrefix.is_on())
        .map(|read| (RepairKind::MissingPrefix, read));
    let repairs: Vec<RepairedHunks> = signs.into_iter().chain(line_repairs(text, hunks)).collect();
    if let Some(read) = sole_repair(repairs.into_iter().filter(|(_, read)| all_match_exactly(text, read))) {
        return read.map(Some).map_err(|doubt| vec![(0, PlacementMiss::Doubtful(0, doubt))]);
    }
    let misses = hunks.iter().enumerate().filter_map(|(index, hunk)| match find_encoded_line(text, hunk) {
        _ if unsigned(hunk) => Some((index, PlacementMiss::Absent)),
        Some((at, doubt)) if placed.is_ok() && EnginePart::Encoded.is_on() => {
            Some((index, PlacementMiss::Doubtful(at, doubt)))
        }
        Some(_) | None => None,
    });
    let misses: Vec<(usize, PlacementMiss)> = misses.collect();
    if misses.is_empty() { Ok(None) } else { Err(misses) }
}

/// Replaces `old` by `new`, after a repair if they do not match as written.
pub(crate) fn replace_repaired(
    text: &DecodedText<'_>,
    old: &str,
    new: &str,
    all: bool,
) -> Result<ReplaceOutcome, PlacementMiss> {
    let outcome = search_replace::replace_text(text, old, new, all);
    let sure = match &outcome {
        Ok(done) => is_exact_outcome(done),
        Err(miss) => is_unrepairable(miss),
    };
    if sure || all {
        return outcome;
    }
    let hunk = search_replace::hunk_from_texts(old, new);
    let by_lines = line_repairs(text, std::slice::from_ref(&hunk)).into_iter().filter_map(|(kind, read)| {
        // A number stands only at the beginning of a line.
        let read =
            read.first().filter(|_| kind != RepairKind::LineNumbers || all_match_exactly(text, &read))?;
        let joined =
            |lines: Vec<&str>, of: &str| lines.join("\n") + if of.ends_with('\n') { "\n" } else { "" };
        Some((kind, (joined(read.old_lines().collect(), old), joined(read.new_lines().collect(), new))))
    });
    let as_text = escapes::unescape_texts(old, new)
        .into_iter()
        .filter(|_| EnginePart::EscapedText.is_on())
        .map(|read| (RepairKind::Escapes, read));
    let lands = |(_, (old, new)): &(RepairKind, (String, String))| {
        search_replace::replace_text(text, old, new, false).is_ok_and(|done| is_exact_outcome(&done))
    };
    let Some(read) = sole_repair(by_lines.chain(as_text).filter(lands)) else {
        return match find_encoded_line(text, &hunk) {
            Some((at, doubt)) if outcome.is_ok() && EnginePart::Encoded.is_on() => {
                Err(PlacementMiss::Doubtful(at, doubt))
            }
            Some(_) | None => outcome,
        };
    };
    let (kind, (old, new)) = read.map_err(|doubt| PlacementMiss::Doubtful(0, doubt))?;
    Ok(match search_replace::replace_text(text, &old, &new, false)? {
        ReplaceOutcome::AlreadyApplied => ReplaceOutcome::AlreadyApplied,
        ReplaceOutcome::Replaced(whole, landed) => ReplaceOutcome::Replaced(
            whole,
            landed.into_iter().map(|(at, _)| (at, MatchPass::Repaired(kind))).collect(),
        ),
    })
}

/// Returns true if a miss is not about the text itself, such as several possible places: no repair can decide that.
fn is_unrepairable(miss: &PlacementMiss) -> bool {
    !matches!(miss, PlacementMiss::Absent | PlacementMiss::Doubtful(..))
}

fn is_exact_outcome(outcome: &ReplaceOutcome) -> bool {
    match outcome {
        ReplaceOutcome::AlreadyApplied => true,
        ReplaceOutcome::Replaced(_, landed) => landed.iter().all(|(_, pass)| *pass <= MatchPass::Trailing),
    }
}

/// Returns the repairs that treat each line by itself.
fn line_repairs(text: &DecodedText<'_>, hunks: &[Hunk]) -> Vec<RepairedHunks> {
    let numbers =
        line_numbers::strip_numbers(text, hunks).into_iter().map(|read| (RepairKind::LineNumbers, read));
    let escapes = escapes::unescape_hunks(hunks).into_iter().map(|read| (RepairKind::Escapes, read));
    let entities = entities::decode_hunks(text, hunks).into_iter().map(|read| (RepairKind::Entities, read));
    let is_on = |(kind, _): &RepairedHunks| match kind {
        RepairKind::MissingPrefix => true,
        RepairKind::LineNumbers => EnginePart::LineNumbers.is_on(),
        RepairKind::Escapes => EnginePart::Escapes.is_on(),
        RepairKind::Entities => EnginePart::Entities.is_on(),
    };
    numbers.chain(escapes).chain(entities).filter(is_on).collect()
}

/// Returns true if every hunk matches exactly or is already applied.
fn all_match_exactly(text: &DecodedText<'_>, hunks: &[Hunk]) -> bool {
    let sure = |placed: &HunkPlacement| match placed {
        HunkPlacement::Placed(pass, _) => *pass <= MatchPass::Trailing,
        HunkPlacement::AlreadyApplied(_) => true,
    };
    place_hunks(text, hunks).is_ok_and(|placed| placed.iter().all(sure))
}

/// Returns the only repair. An error if two repairs differ.
fn sole_repair<T: PartialEq>(
    mut repairs: impl Iterator<Item = (RepairKind, T)>,
) -> Option<Result<(RepairKind, T), String>> {
    let first = repairs.next()?;
    let other = repairs.find(|(_, read)| *read != first.1 && EnginePart::SoleRepair.is_on());
    Some(match other {
        None => Ok(first),
        Some(_) => Err("what it escapes can be read in two ways".to_owned()),
    })
}

/// Returns the position of a line that the hunk writes with escapes or entities, if its added lines have them too.
fn find_encoded_line(text: &DecodedText<'_>, hunk: &Hunk) -> Option<(usize, String)> {
    let decoders: [fn(&str) -> String; 2] = [entities::decode_line, escapes::unescape_quotes];
    decoders.into_iter().find_map(|decode| {
        let is_encoded = |line: &str| decode(line) != line;
        let adds = hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if is_encoded(text)));
        let at = |line: &str| {
            let stands = |as_is: &str| {
                let mut places = text.index().lines_like(as_is).iter().copied();
                places.find(|at| text.line(*at).trim() == as_is.trim())
            };
            if stands(line).is_some() { None } else { stands(&decode(line)) }
        };
        let mut olds = hunk.old_lines().filter(|line| adds && is_encoded(line));
        let (line, at) = olds.find_map(|line| Some((line, at(line)?)))?;
        Some((at, format!("the patch has `{}` where the file has `{}`", line.trim(), text.line(at).trim())))
    })
}

/// Applies `read` to each line of the hunk; `None` if it fails for one of them.
fn map_lines(hunk: &Hunk, read: impl Fn(&str) -> Option<String>) -> Option<Hunk> {
    let line = |line: &HunkLine| {
        Some(match line {
            HunkLine::Keep(text) => HunkLine::Keep(read(text)?),
            HunkLine::Drop(text) => HunkLine::Drop(read(text)?),
            HunkLine::Add(text) => HunkLine::Add(read(text)?),
        })
    };
    Some(Hunk { lines: hunk.lines.iter().map(line).collect::<Option<_>>()?, ..hunk.clone() })
}

/// Returns the added lines.
fn all_added_lines(hunks: &[Hunk]) -> impl Iterator<Item = &str> {
    hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
        HunkLine::Add(text) => Some(text.as_str()),
        HunkLine::Keep(_) | HunkLine::Drop(_) => None,
    })
}

/// Returns the old lines.
fn all_old_lines(hunks: &[Hunk]) -> impl Iterator<Item = &str> {
    hunks.iter().flat_map(Hunk::old_lines)
}

/// Returns the indentations that the file uses.
fn file_indents<'a>(text: &'a DecodedText<'_>) -> HashSet<&'a str> {
    text.iter().filter(|line| !line.trim().is_empty()).map(indentation).collect()
}
