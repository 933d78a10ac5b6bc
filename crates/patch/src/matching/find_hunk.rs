//! Finds the candidate places of one hunk, detects that it is already applied, or gives the reason for no place.

use super::candidate::{HunkCandidate, MatchPass, find_contiguous};
use super::fuzzy::find_fuzzy;
use super::header::{block_end, find_headers, header_spans};
use super::header_choice::FULL_CONTEXT_LINES;
use super::header_scope::keep_below_headers;
use super::insertion::find_insertion;
use super::line_compare::{LineLikeness, is_blank};
use super::line_edits::DoubtReason;
use super::rivals::{
    find_applied, find_unapplied_rival, is_still_present, near_exact_rival, place_nearer_number,
};
use super::skip_empty::find_ignoring_empty;
use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// This many alphanumeric lines on each side of a change do not stand side by side by chance.
const MIN_JOINED_LINES: usize = 2;

/// The reason why a hunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlacementMiss {
    /// Its old lines are nowhere.
    Absent,
    /// Its old lines are at more than one place: the first line of each.
    Ambiguous(Vec<usize>),
    /// Its new lines are at the first of these lines, and its old lines match only almost at the second.
    SeemsApplied(usize, usize),
    /// It adds text here that already stands here.
    RepeatsNeighbour(usize),
    /// It fits here, at its line number, and its new lines stand here too.
    FitsAndApplied(usize),
    /// Its old lines are at this place, but it is unclear which change to make.
    Doubtful(usize, DoubtReason),
    /// This line of it has blanks before its sign.
    IndentedSign(String),
    /// It only adds lines, and its header, which gives the place, is not in the file.
    HeaderNotFound(String),
    /// It only adds lines, and nothing gives the place.
    NoPlaceGiven,
    /// It changes a line that another hunk changes.
    OverlapsHunk(usize),
    /// It belongs before the previous hunk, and its lines do not match exactly.
    OutOfOrder(usize),
    /// It only adds lines, and the header at this line continues in the next lines.
    HeaderContinues(usize),
    /// It only adds lines, and it names both the header at this line and the end of the file, which are two places.
    HeaderNotAtEnd(usize),
    /// It fits here, but the patch says that it is at the end of the file.
    NotAtEnd(usize),
    /// Its header is at the first of these lines, and it fits only at the second, which is not below the header.
    OutsideHeader(usize, usize),
    /// The search budget is exhausted.
    BudgetExhausted,
}

/// The result of searching for one hunk.
pub(super) enum HunkSearchResult {
    Candidates(Vec<HunkCandidate>),
    AlreadyApplied(usize),
    /// It only adds lines, before this line.
    Insertion(usize),
}

/// Searches for the place of `hunk`. `alone`: it is the only hunk of its file.
pub(super) fn find_hunk(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    alone: bool,
) -> Result<HunkSearchResult, PlacementMiss> {
    if hunk.old_lines().next().is_none() {
        return find_insertion(text, hunk, alone);
    }
    if let Some(line) = misplaced_sign(text, hunk)
        && EnginePart::IndentedSign.is_on()
    {
        return Err(PlacementMiss::IndentedSign(line.to_owned()));
    }
    let headers = find_headers(text, &hunk.headers);
    let spans = header_spans(text, &headers, block_end);
    let is_below_header = |at: usize| spans.iter().any(|(header, end)| *header <= at && at < *end);
    let (applied_at, proven) = find_new_lines(text, hunk);
    if !applied_at.is_empty()
        && EnginePart::AppliedExactly.is_on()
        && let Some(judged) = judge_applied(text, hunk, (&applied_at, proven), &is_below_header)
    {
        return match judged? {
            HunkSearchResult::Candidates(fits) => {
                Ok(HunkSearchResult::Candidates(keep_below_headers(text, hunk, &headers, fits)?))
            }
            other => Ok(other),
        };
    }
    let fits = search_passes(text, hunk);
    if !text.budget().spend(fits.len().saturating_mul(spans.len())) {
        return Err(PlacementMiss::BudgetExhausted);
    }
    if fits.is_empty() {
        return Err(PlacementMiss::Absent);
    }
    if fits[0].pass == MatchPass::Fuzzy
        && lacks_header_and_first_line(hunk, &headers, &fits[0])
        && EnginePart::FuzzyHeaderless.is_on()
    {
        return Err(PlacementMiss::Absent);
    }
    let fits = keep_below_headers(text, hunk, &headers, fits)?;
    if hunk.at_end && !fits.iter().any(|fit| is_at_end(text, fit)) && EnginePart::NotAtEnd.is_on() {
        return Err(PlacementMiss::NotAtEnd(fits[0].first_line()));
    }
    check_only_candidate(text, hunk, narrow_candidates(text, hunk, fits), &is_below_header)
}

/// Returns true if only empty lines follow the place.
fn is_at_end(text: &DecodedText<'_>, fit: &HunkCandidate) -> bool {
    (fit.end_line()..text.len()).all(|at| is_blank(text.line(at)))
}

/// Judges a hunk whose new lines stand at `applied_at`. Returns `None` if that proves nothing.
fn judge_applied(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    (applied_at, proven): (&[usize], bool),
    is_below_header: &dyn Fn(usize) -> bool,
) -> Option<Result<HunkSearchResult, PlacementMiss>> {
    let length = hunk.new_lines().count();
    let overlaps = |from: usize, to: usize| applied_at.iter().any(|at| *at < to && from < at + length);
    let on_it = |fit: &HunkCandidate| overlaps(fit.first_line(), fit.end_line());
    if proven {
        let mut fits = search_passes(text, hunk);
        if !text.budget().spend(fits.len().saturating_mul(applied_at.len())) {
            return Some(Err(PlacementMiss::BudgetExhausted));
        }
        // All lines to remove are present.
        let gone = has_context_around_removal(hunk)
            || applied_at.iter().any(|at| is_below_header(*at))
                && !fits.iter().any(|fit| is_below_header(fit.first_line()));
        if only_removes(hunk)
            && !gone
            && fits.first().is_some_and(|fit| fit.pass < MatchPass::Fuzzy)
            && EnginePart::RemovalDue.is_on()
        {
            return None;
        }
        if repeats_context(hunk)
            && fits.first().is_some_and(|fit| fit.pass == MatchPass::Exact && on_it(fit))
            && EnginePart::RepeatsNeighbour.is_on()
        {
            return Some(Err(PlacementMiss::RepeatsNeighbour(applied_at[0])));
        }
        if fits.first().is_none_or(|fit| fit.pass == MatchPass::Fuzzy) {
            if is_still_present(text, hunk) && EnginePart::StillPresent.is_on() {
                return Some(Err(PlacementMiss::Absent));
            }
            let rival = find_unapplied_rival(text, hunk, applied_at);
            fits = rival.filter(|_| EnginePart::AppliedRival.is_on()).into_iter().collect();
        }
        return Some(decide_applied(hunk, fits, applied_at, is_below_header));
    }
    judge_unproven(text, hunk, applied_at, is_below_header)
}

/// Judges a hunk whose new lines stand at `applied_at` but are too few to prove that it is applied. Returns `None` if
/// that says nothing.
fn judge_unproven(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    applied_at: &[usize],
    is_below_header: &dyn Fn(usize) -> bool,
) -> Option<Result<HunkSearchResult, PlacementMiss>> {
    let length = hunk.new_lines().count();
    let overlaps = |from: usize, to: usize| applied_at.iter().any(|at| *at < to && from < at + length);
    let on_it = |fit: &HunkCandidate| overlaps(fit.first_line(), fit.end_line());
    // A hunk that still fits at the place of its new lines has been applied.
    let fits = find_contiguous(text, hunk, LineLikeness::Exact, MatchPass::Exact);
    if !text.budget().spend(fits.len().saturating_mul(applied_at.len())) {
        return Some(Err(PlacementMiss::BudgetExhausted));
    }
    // Lines to remove that stand outside of the new lines are still to be removed.
    let to_go = |fit: &HunkCandidate| {
        let (from, to) = fit.changed_range(hunk);
        from < to && !overlaps(from, to)
    };
    if !fits.is_empty() && fits.iter().all(|fit| on_it(fit) && !to_go(fit)) {
        // Another copy beside an existing one may be meant.
        return Some(match repeats_context(hunk) && EnginePart::RepeatsNeighbour.is_on() {
            true => Err(PlacementMiss::RepeatsNeighbour(applied_at[0])),
            false => Ok(HunkSearchResult::AlreadyApplied(fits[0].first_line())),
        });
    }
    let headed = applied_at.iter().find(|at| is_below_header(**at));
    if let Some(at) = headed.filter(|_| !fits.iter().any(|fit| is_below_header(fit.first_line()))) {
        return Some(Ok(HunkSearchResult::AlreadyApplied(*at)));
    }
    // Text that merely resembles the old lines may be another place, where the hunk was never to be applied.
    (fits.is_empty() && EnginePart::ShortText.is_on()).then_some(Err(PlacementMiss::Absent))
}

/// Looks for evidence against the only remaining place.
fn check_only_candidate(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    mut fits: Vec<HunkCandidate>,
    is_below_header: &dyn Fn(usize) -> bool,
) -> Result<HunkSearchResult, PlacementMiss> {
    if let [fit] = fits.as_slice()
        && let Some(there) = place_nearer_number(text, hunk, fit)
        && EnginePart::NearerNumber.is_on()
    {
        return Err(PlacementMiss::Ambiguous(vec![there, fit.first_line()]));
    }
    if let [fit] = fits.as_slice()
        && fit.pass > MatchPass::Trailing
        && fit.pass < MatchPass::Fuzzy
        && !is_below_header(fit.first_line())
    {
        // A match that is not exact may have a twin with lines inserted into it.
        fits.extend(near_exact_rival(text, hunk, &fits[0]).filter(|_| EnginePart::NearExactRival.is_on()));
    }
    if let [fit] = fits.as_slice()
        && fit.pass > MatchPass::Exact
        && let Some(done) = find_applied(text, hunk, fit)
        && EnginePart::SeemsApplied.is_on()
    {
        return Err(PlacementMiss::SeemsApplied(done, fit.first_line()));
    }
    // A hunk that adds empty lines must know the ones that exist.
    if fits.len() == 1
        && fits[0].pass > MatchPass::Trailing
        && repeats_context(hunk)
        && EnginePart::AddsEmptyLines.is_on()
    {
        return Err(PlacementMiss::Absent);
    }
    if let [fit] = fits.as_slice()
        && fit.pass > MatchPass::Trailing
        && let Some(done) = find_remaining_lines(text, hunk, fit)
        && EnginePart::RemainingLines.is_on()
    {
        return Err(PlacementMiss::SeemsApplied(done, fit.first_line()));
    }
    Ok(HunkSearchResult::Candidates(fits))
}

/// Returns where the remaining lines of a hunk that only removes lines stand, apart from the context at `fit`. It may
/// already have removed its lines there.
fn find_remaining_lines(text: &DecodedText<'_>, hunk: &Hunk, fit: &HunkCandidate) -> Option<usize> {
    if !only_removes(hunk) {
        return None;
    }
    let lines = hunk.new_lines().map(|line| HunkLine::Keep(line.to_owned())).collect();
    let remaining = Hunk { lines, ..Hunk::default() };
    let olds = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).zip(&fit.positions);
    let kept: Vec<Option<usize>> =
        olds.filter(|(line, _)| matches!(line, HunkLine::Keep(_))).map(|(_, at)| *at).collect();
    let places = find_contiguous(text, &remaining, LineLikeness::Trimmed, MatchPass::Indent);
    places.iter().find(|left| left.positions != kept).map(HunkCandidate::first_line)
}

/// Returns a line that should begin with its sign and has blanks before it.
fn misplaced_sign<'a>(text: &DecodedText<'_>, hunk: &'a Hunk) -> Option<&'a str> {
    let changes = hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_)));
    let stands =
        |sought: &str| text.index().lines_like(sought).iter().any(|at| text.line(*at).trim() == sought);
    let signed =
        hunk.old_lines().filter(|line| line.trim_start().starts_with(['+', '-']) && !stands(line.trim()));
    let gone = |line: &str| line.trim().strip_prefix('-').is_some_and(|line| stands(line.trim()));
    signed.into_iter().find(|line| !changes || gone(line))
}

/// Returns true if the hunk removes non-empty lines and adds at most empty ones.
fn only_removes(hunk: &Hunk) -> bool {
    let comes = hunk.lines.iter().any(|line| matches!(line, HunkLine::Add(text) if !is_blank(text)));
    !comes && hunk.lines.iter().any(|line| matches!(line, HunkLine::Drop(text) if !is_blank(text)))
}

/// Returns true if both sides of the removed lines have enough context: standing side by side, it proves the removal.
fn has_context_around_removal(hunk: &Hunk) -> bool {
    let telling =
        |line: &&HunkLine| matches!(line, HunkLine::Keep(text) if text.chars().any(char::is_alphanumeric));
    let goes = |line: &HunkLine| matches!(line, HunkLine::Drop(_));
    let first = hunk.lines.iter().position(goes).unwrap_or(0);
    let last = hunk.lines.iter().rposition(goes).unwrap_or(0);
    [&hunk.lines[..first], &hunk.lines[last..]]
        .iter()
        .all(|side| side.iter().filter(telling).count() >= MIN_JOINED_LINES)
}

/// Returns true if nothing is removed, and every added line is empty or equals a context line of the hunk.
fn repeats_context(hunk: &Hunk) -> bool {
    hunk.lines.iter().all(|line| match line {
        HunkLine::Add(text) => is_blank(text) || hunk.lines.contains(&HunkLine::Keep(text.clone())),
        HunkLine::Keep(_) => true,
        HunkLine::Drop(_) => false,
    })
}

/// Returns true if neither the header of `hunk` nor its first specific line is in the file.
fn lacks_header_and_first_line(hunk: &Hunk, headers: &[usize], fit: &HunkCandidate) -> bool {
    let named = hunk.headers.iter().any(|header| !is_blank(header));
    let telling = |line: &str| line.chars().filter(|char| char.is_alphanumeric()).count() > 1;
    let first = hunk.old_lines().zip(&fit.positions).find(|(line, _)| telling(line));
    named && headers.is_empty() && first.is_some_and(|(_, at)| at.is_none())
}

/// Returns the places of the old lines, from the first pass that finds any.
fn search_passes(text: &DecodedText<'_>, hunk: &Hunk) -> Vec<HunkCandidate> {
    let passes = [
        MatchPass::Exact,
        MatchPass::Trailing,
        MatchPass::Indent,
        MatchPass::Folded,
        MatchPass::EmptyLines,
        MatchPass::Fuzzy,
    ];
    let fits = passes.into_iter().map(|pass| match pass {
        MatchPass::Exact => find_contiguous(text, hunk, LineLikeness::Exact, pass),
        MatchPass::Trailing if EnginePart::Trailing.is_on() => {
            find_contiguous(text, hunk, LineLikeness::Trailing, pass)
        }
        MatchPass::Indent if EnginePart::Indent.is_on() => {
            find_contiguous(text, hunk, LineLikeness::Trimmed, pass)
        }
        MatchPass::Folded if EnginePart::Folded.is_on() => {
            find_contiguous(text, hunk, LineLikeness::Folded, pass)
        }
        MatchPass::EmptyLines if EnginePart::EmptyLines.is_on() => find_ignoring_empty(text, hunk),
        MatchPass::Fuzzy if EnginePart::Fuzzy.is_on() => find_fuzzy(text, hunk),
        MatchPass::Trailing
        | MatchPass::Indent
        | MatchPass::Folded
        | MatchPass::EmptyLines
        | MatchPass::Fuzzy
        | MatchPass::AlreadyApplied
        | MatchPass::OutsideHeader
        | MatchPass::Nearest
        | MatchPass::Repaired(_) => Vec::new(),
    });
    fits.into_iter().find(|fits| !fits.is_empty()).unwrap_or_default()
}

/// Decides whether a hunk whose new lines stand at `applied_at` is applied, or still has a place.
fn decide_applied(
    hunk: &Hunk,
    fits: Vec<HunkCandidate>,
    applied_at: &[usize],
    is_below_header: &dyn Fn(usize) -> bool,
) -> Result<HunkSearchResult, PlacementMiss> {
    let length = hunk.new_lines().count();
    let there = |fit: &HunkCandidate| {
        applied_at.iter().any(|at| *at < fit.end_line() && fit.first_line() < at + length)
    };
    let elsewhere: Vec<HunkCandidate> = fits.into_iter().filter(|fit| !there(fit)).collect();
    if elsewhere.is_empty() {
        return Ok(HunkSearchResult::AlreadyApplied(applied_at[0]));
    }
    let numbered =
        |fit: &HunkCandidate| fit.pass == MatchPass::Exact && hunk.old_start == Some(fit.first_line() + 1);
    let indicated: Vec<HunkCandidate> =
        elsewhere.iter().filter(|fit| is_below_header(fit.first_line()) || numbered(fit)).cloned().collect();
    let is_indicated = |at: &&usize| is_below_header(**at) || hunk.old_start == Some(**at + 1);
    match (indicated.is_empty(), applied_at.iter().find(is_indicated)) {
        (false, None) => Ok(HunkSearchResult::Candidates(indicated)),
        (true, Some(at)) => Ok(HunkSearchResult::AlreadyApplied(*at)),
        // It was applied in one place and could be applied in another.
        _ => Err(PlacementMiss::Ambiguous(
            applied_at.iter().copied().chain(elsewhere.iter().map(HunkCandidate::first_line)).collect(),
        )),
    }
}

/// Narrows `fits` by the hunk's end-of-file mark and line number, if any fit satisfies them.
fn narrow_candidates(
    text: &DecodedText<'_>,
    hunk: &Hunk,
    mut fits: Vec<HunkCandidate>,
) -> Vec<HunkCandidate> {
    let mut keep = |part: EnginePart, is: &dyn Fn(&HunkCandidate) -> bool| {
        if fits.len() > 1 && fits.iter().any(is) && part.is_on() {
            fits.retain(is);
        }
    };
    if hunk.at_end || ends_with_the_file(hunk) {
        keep(EnginePart::NarrowByEnd, &|fit| fit.pass == MatchPass::Exact && is_at_end(text, fit));
    }
    keep(EnginePart::NarrowByNumber, &|fit| {
        fit.pass < MatchPass::Fuzzy && hunk.old_start == Some(fit.first_line() + 1)
    });
    fits
}

/// Returns true if `hunk` has no header, full context before its change, and none after: that happens only at the end
/// of a file. A header may say otherwise.
fn ends_with_the_file(hunk: &Hunk) -> bool {
    let headed = hunk.headers.iter().any(|header| !is_blank(header));
    let before = hunk.lines.iter().take_while(|line| matches!(line, HunkLine::Keep(_))).count();
    !headed && before >= FULL_CONTEXT_LINES && !matches!(hunk.lines.last(), Some(HunkLine::Keep(_)))
}

/// Returns true if the old lines of `hunk` stand in `text` exactly.
pub(crate) fn is_exactly_present(text: &DecodedText<'_>, hunk: &Hunk) -> bool {
    !find_contiguous(text, hunk, LineLikeness::Exact, MatchPass::Exact).is_empty()
}

/// Returns where the new lines of `hunk` stand, and whether they are specific enough to prove that it is applied.
fn find_new_lines(text: &DecodedText<'_>, hunk: &Hunk) -> (Vec<usize>, bool) {
    let telling = |line: &&str| line.chars().any(char::is_alphanumeric);
    let stays = hunk.lines.iter().any(|line| matches!(line, HunkLine::Keep(text) if telling(&text.as_str())));
    let (old, new): (Vec<&str>, Vec<&str>) = (hunk.old_lines().collect(), hunk.new_lines().collect());
    // A hunk that only removes lines at one of its ends leaves lines that stand there before and after.
    let windows = (old.len() + 1).saturating_sub(new.len());
    if !text.budget().spend(windows.saturating_mul(new.len())) || !new.iter().any(telling) {
        return (Vec::new(), false);
    }
    if old.windows(new.len()).any(|part| part == new) {
        return (Vec::new(), false);
    }
    let new_hunk = Hunk {
        lines: new.iter().map(|line| HunkLine::Keep((*line).to_owned())).collect(),
        ..Hunk::default()
    };
    let fits = find_contiguous(text, &new_hunk, LineLikeness::Exact, MatchPass::Exact);
    let places: Vec<usize> = fits.iter().map(HunkCandidate::first_line).collect();
    // A single line may occur anywhere, unless it is the whole file or stands exactly at the line number.
    let there = places.iter().any(|at| new.len() == text.len() || hunk.old_start == Some(at + 1));
    let proven = there || stays && new.iter().filter(|line| telling(line)).count() > 1;
    (places, proven)
}
