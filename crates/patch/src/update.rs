//! Applies the hunks of one file to its bytes, or reports why they do not apply.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::applied_before::was_applied_before;
use crate::byte_exact::{apply_exactly, changes_only_line_ends, is_result_present, may_be_applied};
use crate::decoded_text::{DecodedText, strip_bom};
use crate::edit::{FileEdit, Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::fault::PatchFault;
use crate::git_blob::matches_blob_id;
use crate::line_index::SearchBudget;
use crate::matching::{
    HunkPlacement, LineEdits, MatchPass, PlacementMiss, are_all_applied, is_exactly_present, place_hunks,
};
use crate::repair;
use crate::rewrite::{LineEndPolicy, rewrite_text};

/// The maximum number of hunks in a file, since each is searched in the whole file.
const MAX_HUNKS: usize = 5_000;
/// The number of characters of a line that an error shows.
const MAX_SHOWN_CHARS: usize = 60;

pub(crate) type PatchFaults = Vec<PatchFault>;

/// Decodes a file. Searches in the text are charged to `budget`.
pub(crate) fn decode_file<'a>(
    edit: &FileEdit,
    bytes: &'a [u8],
    budget: &SearchBudget,
) -> Result<DecodedText<'a>, PatchFaults> {
    let text = DecodedText::from_bytes(bytes)
        .map_err(|fault| vec![PatchFault::for_path(edit, &edit.path, fault.to_string())])?;
    Ok(text.with_budget(budget))
}

/// The places where hunks landed: lines counted from 1, with the match pass that found each.
pub(crate) type LandedHunks = Vec<(usize, MatchPass)>;

/// Applies `hunks` to `bytes`. Returns the new bytes and the places where the hunks landed.
pub(crate) fn apply_hunks(
    edit: &FileEdit,
    bytes: &[u8],
    hunks: &[Hunk],
    budget: &SearchBudget,
) -> Result<(Vec<u8>, LandedHunks), PatchFaults> {
    check_hunk_count(edit, hunks)?;
    let signed = hunks.iter().all(|hunk| hunk.unsigned_lines.is_empty());
    let mut maybe_applied = false;
    if signed {
        match apply_by_number(edit, bytes, hunks, budget) {
            Some((done, true)) => return Ok(done),
            // The lines decide if the hunks may already be applied.
            fitted => maybe_applied = fitted.is_some(),
        }
    }
    if let Some(hunk) = hunks.iter().find(|hunk| changes_only_line_ends(hunk)) {
        let done = is_result_present(bytes, hunks).then(|| (bytes.to_vec(), Vec::new()));
        return done.ok_or_else(|| vec![line_ends_fault(edit, hunk)]);
    }
    let text = decode_file(edit, bytes, budget)?;
    let hunks = &*strip_hunk_boms(edit, &text, hunks)?;
    if signed && are_all_applied(&text, hunks, maybe_applied) {
        return Ok((bytes.to_vec(), Vec::new()));
    }
    let endings = line_end_policy(hunks);
    let placed = place_hunks(&text, hunks);
    let sure = |placed: &HunkPlacement| !matches!(placed, HunkPlacement::Placed(pass, _) if *pass > MatchPass::Trailing);
    let is_sure = placed.as_ref().is_ok_and(|placed| placed.iter().all(sure));
    let applied_in_turn = if is_sure { None } else { apply_in_turn(&text, hunks, endings) };
    if applied_in_turn.is_none() && !is_sure && !maybe_applied && was_applied_before(&text, hunks, endings) {
        return Ok((bytes.to_vec(), Vec::new()));
    }
    if applied_in_turn.is_none() && !(is_sure && signed) {
        let repaired = repair::repair_hunks(&text, hunks, &placed)
            .map_err(|misses| faults_from_misses(edit, &text, hunks, misses))?;
        if let Some((kind, repaired)) = repaired {
            let (written, places) = apply_hunks(edit, bytes, &repaired, budget)?;
            return Ok((written, mark_repaired(kind, places)));
        }
    }
    let (whole, places) = match applied_in_turn {
        Some(done) => done,
        None => {
            let placed = if maybe_applied { report_doubtful(hunks, placed) } else { placed };
            let placed = placed.map_err(|misses| faults_from_misses(edit, &text, hunks, misses))?;
            if placed.iter().all(|placed| matches!(placed, HunkPlacement::AlreadyApplied(_))) {
                return Ok((bytes.to_vec(), Vec::new()));
            }
            apply_placed(&text, hunks, &placed, endings)
                .map_err(|misses| faults_from_misses(edit, &text, hunks, misses))?
        }
    };
    if budget.is_exhausted() {
        return Err(faults_from_misses(edit, &text, hunks, vec![(0, PlacementMiss::BudgetExhausted)]));
    }
    let written = text
        .encode(whole)
        .map_err(|fault| vec![PatchFault::for_path(edit, &edit.path, fault.to_string())])?;
    Ok((written, places))
}

fn check_hunk_count(edit: &FileEdit, hunks: &[Hunk]) -> Result<(), PatchFaults> {
    if hunks.len() <= MAX_HUNKS {
        return Ok(());
    }
    let what = format!("has {} hunks, and {MAX_HUNKS} are the most; send them in parts", hunks.len());
    Err(vec![PatchFault::for_path(edit, &edit.path, what)])
}

/// Marks places of hunks that were repaired before they matched.
fn mark_repaired(kind: repair::RepairKind, places: LandedHunks) -> LandedHunks {
    let mut read: LandedHunks = places
        .into_iter()
        .flat_map(|(at, pass)| {
            [Some((at, MatchPass::Repaired(kind))), (pass == MatchPass::OutsideHeader).then_some((at, pass))]
        })
        .flatten()
        .collect();
    read.dedup();
    read
}

/// Reads from `hunks` how new lines end.
fn line_end_policy(hunks: &[Hunk]) -> LineEndPolicy {
    let says = hunks.iter().find(|hunk| hunk.old_without_newline || hunk.new_without_newline);
    let unnumbered = hunks.iter().all(|hunk| hunk.old_start.is_none());
    LineEndPolicy { without_newline: says.map(|hunk| hunk.new_without_newline), like_first_line: unnumbered }
}

/// Removes byte order marks from the hunks, since the mark belongs to the file. An error if a hunk changes nothing
/// else.
fn strip_hunk_boms<'h>(
    edit: &FileEdit,
    text: &DecodedText<'_>,
    hunks: &'h [Hunk],
) -> Result<Cow<'h, [Hunk]>, PatchFaults> {
    let mentions_bom =
        |hunk: &Hunk| hunk.old_lines().chain(hunk.new_lines()).any(|line| strip_bom(line) != line);
    if !hunks.iter().any(mentions_bom) {
        return Ok(Cow::Borrowed(hunks));
    }
    let mut stripped = hunks.to_vec();
    for (hunk, was) in stripped.iter_mut().zip(hunks) {
        // A mark that neither the file nor an old line has is to be added.
        let comes = !text.has_bom() && was.old_lines().all(|line| strip_bom(line) == line);
        for line in hunk.lines.iter_mut().filter(|_| !comes) {
            let (HunkLine::Keep(said) | HunkLine::Drop(said) | HunkLine::Add(said)) = line;
            *said = strip_bom(said).to_owned();
        }
        if hunk.lines != was.lines
            && hunk.old_lines().eq(hunk.new_lines())
            && !was.old_lines().eq(was.new_lines())
        {
            let what = format!(
                "is unchanged: the hunk at line {} of the patch changes its byte order mark alone; change that with a command",
                hunk.line
            );
            return Err(vec![PatchFault { line: hunk.line, ..PatchFault::for_path(edit, &edit.path, what) }]);
        }
    }
    Ok(Cow::Owned(stripped))
}

/// Applies `hunks` to `text`, each at its place in `placed`.
fn apply_placed(
    text: &DecodedText<'_>,
    hunks: &[Hunk],
    placed: &[HunkPlacement],
    endings: LineEndPolicy,
) -> Result<(String, LandedHunks), Vec<(usize, PlacementMiss)>> {
    let all_edits: Vec<&LineEdits> =
        placed.iter().filter_map(placed_edits).map(|(_, landing)| landing).collect();
    let places = placed.iter().flat_map(|placed| match placed {
        HunkPlacement::Placed(pass, line_edits) => landed_with_passes(*pass, line_edits),
        HunkPlacement::AlreadyApplied(at) => vec![(at + 1, MatchPass::AlreadyApplied)],
    });
    let whole = rewrite_text(text, &all_edits, endings);
    if all_edits.len() < hunks.len() {
        let misses = find_revived_hunks(text, &text.with_content(whole.clone()), hunks, placed);
        if !misses.is_empty() && EnginePart::Revived.is_on() {
            return Err(misses);
        }
    }
    Ok((whole, places.collect()))
}

/// Returns the place of a landing, once for each difference that was ignored.
fn landed_with_passes(pass: MatchPass, line_edits: &LineEdits) -> LandedHunks {
    let passes: &[MatchPass] = match (line_edits.outside_header, pass) {
        (true, MatchPass::Exact) => &[MatchPass::OutsideHeader],
        (true, pass) => &[pass, MatchPass::OutsideHeader],
        (false, pass) => &[pass],
    };
    passes.iter().map(|pass| (first_changed_line(line_edits), *pass)).collect()
}

/// Creates the error for a hunk that changes only line ends: a line that is found by its text keeps the file's line
/// end.
fn line_ends_fault(edit: &FileEdit, hunk: &Hunk) -> PatchFault {
    let what = format!(
        "is unchanged: the hunk at line {} of the patch changes line ends alone, and does not fit to the byte; change them with a command",
        hunk.line
    );
    PatchFault { line: hunk.line, ..PatchFault::for_path(edit, &edit.path, what) }
}

/// Returns hunks that seem applied in `text` but whose old lines appear in `after`. It is unclear which of the two is
/// meant.
fn find_revived_hunks(
    text: &DecodedText<'_>,
    after: &DecodedText<'_>,
    hunks: &[Hunk],
    placed: &[HunkPlacement],
) -> Vec<(usize, PlacementMiss)> {
    let doubt = || "its new lines stand there, and its old lines are what another hunk makes".to_owned();
    let seem_done = hunks.iter().zip(placed).enumerate().filter_map(|(index, (hunk, placed))| match placed {
        HunkPlacement::AlreadyApplied(at)
            if !is_exactly_present(text, hunk) && is_exactly_present(after, hunk) =>
        {
            Some((index, *at))
        }
        _ => None,
    });
    seem_done.map(|(index, at)| (index, PlacementMiss::Doubtful(at, doubt()))).collect()
}

fn faults_from_misses(
    edit: &FileEdit,
    text: &DecodedText<'_>,
    hunks: &[Hunk],
    misses: Vec<(usize, PlacementMiss)>,
) -> PatchFaults {
    let fault = |(index, miss): (usize, PlacementMiss)| {
        let number = (hunks.len() > 1).then_some((index, hunks.len()));
        let mut fault = PatchFault::from_miss(edit, text, number, &hunks[index], &miss);
        if let Some(HunkLine::Keep(line)) =
            hunks[index].unsigned_lines.first().map(|at| &hunks[index].lines[*at])
        {
            let line: String = line.chars().take(MAX_SHOWN_CHARS).collect();
            fault.what += &format!("; `{line}` has no sign: begin a line that stays with a space");
        }
        fault
    };
    misses.into_iter().map(fault).collect()
}

/// Reports hunks that fit at their line numbers and may already be applied, if the lines do not decide which.
fn report_doubtful(
    hunks: &[Hunk],
    placed: Result<Vec<HunkPlacement>, Vec<(usize, PlacementMiss)>>,
) -> Result<Vec<HunkPlacement>, Vec<(usize, PlacementMiss)>> {
    let number = |index: usize| hunks[index].old_start.unwrap_or(1) - 1;
    let doubt = |index: usize| (index, PlacementMiss::FitsAndApplied(number(index)));
    let open = |(index, miss): (usize, PlacementMiss)| match miss {
        PlacementMiss::Ambiguous(_) => doubt(index),
        miss => (index, miss),
    };
    let placed = placed.map_err(|misses| misses.into_iter().map(open).collect::<Vec<_>>())?;
    match placed.iter().position(|placed| matches!(placed, HunkPlacement::AlreadyApplied(_))) {
        Some(index) => Err(vec![doubt(index)]),
        None => Ok(placed),
    }
}

/// Applies `hunks` at their line numbers. The flag tells whether that is certain: they may already be applied.
fn apply_by_number(
    edit: &FileEdit,
    bytes: &[u8],
    hunks: &[Hunk],
    budget: &SearchBudget,
) -> Option<((Vec<u8>, LandedHunks), bool)> {
    let blob_ids = edit.blob_ids.as_ref();
    if blob_ids.is_some_and(|(_, new)| matches_blob_id(bytes, new)) {
        return Some(((bytes.to_vec(), Vec::new()), true));
    }
    let blob_matches = blob_ids.is_some_and(|(old, _)| matches_blob_id(bytes, old));
    let done = apply_exactly(bytes, hunks, blob_matches, budget).filter(|_| EnginePart::ByteExact.is_on())?;
    let doubtful =
        !blob_matches && may_be_applied(bytes, hunks, budget) && EnginePart::DoubtfulNumber.is_on();
    Some((done, !doubtful))
}

fn placed_edits(placed: &HunkPlacement) -> Option<(MatchPass, &LineEdits)> {
    match placed {
        HunkPlacement::Placed(pass, line_edits) => Some((*pass, line_edits)),
        HunkPlacement::AlreadyApplied(_) => None,
    }
}

/// Returns the first line of the file that a landing changes, counted from 1.
fn first_changed_line(line_edits: &LineEdits) -> usize {
    let added = line_edits.adds.first().map(|(at, _)| *at);
    line_edits.drops.first().copied().into_iter().chain(added).min().unwrap_or(0) + 1
}

/// Returns true if a hunk has a context line that is not in the file and that an earlier hunk adds.
fn builds_on_itself(text: &DecodedText<'_>, hunks: &[Hunk]) -> bool {
    let mut added: HashSet<&str> = HashSet::new();
    hunks.iter().take_while(|_| !text.budget().is_exhausted()).any(|hunk| {
        let stands_on = |line: &HunkLine| {
            matches!(line, HunkLine::Keep(kept) if added.contains(kept.as_str()) && text.find_exact_line(kept).is_empty())
        };
        let builds = hunk.lines.iter().any(stands_on);
        added.extend(hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Keep(_) | HunkLine::Drop(_) => None,
        }));
        builds
    })
}

/// Applies hunks one after another, if each is written against the result of the ones before it and then fits exactly.
fn apply_in_turn(
    text: &DecodedText<'_>,
    hunks: &[Hunk],
    endings: LineEndPolicy,
) -> Option<(String, LandedHunks)> {
    if !builds_on_itself(text, hunks) || hunks.iter().any(|hunk| !hunk.unsigned_lines.is_empty()) {
        return None;
    }
    let (mut text, mut places) = (text.clone(), Vec::new());
    for hunk in hunks {
        let placed = place_hunks(&text, std::slice::from_ref(hunk)).ok()?;
        let (pass, line_edits) =
            placed.first().and_then(placed_edits).filter(|(pass, _)| *pass <= MatchPass::Trailing)?;
        places.extend(landed_with_passes(pass, line_edits));
        text = text.with_content(rewrite_text(&text, &[line_edits], endings));
    }
    EnginePart::InTurn.is_on().then(|| (text.as_str().to_owned(), places))
}
