//! Search and replace: replaces the only or every occurrence of a text, or else matches its lines like a hunk's.

use similar::{ChangeTag, TextDiff};

use crate::applied_before::was_applied_before;
use crate::decoded_text::{DecodedText, SEARCHED_BYTES_PER_STEP};
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::matching::{HunkPlacement, MatchPass, PlacementMiss, place_hunks};
use crate::rewrite::{LineEndPolicy, rewrite_text};

/// Limits the line diff of two texts: the product of their line counts. Beyond it, all old lines go and all new lines
/// come.
const MAX_COMPARED_LINE_PAIRS: usize = 4_000_000;

/// The result of a replacement: the new text with match passes, or nothing to do because it is already applied.
pub(crate) enum ReplaceOutcome {
    Replaced(String, Vec<(usize, MatchPass)>),
    AlreadyApplied,
}

/// Replaces `old` by `new` in `text`; every occurrence if `all`.
pub(crate) fn replace_text(
    text: &DecodedText<'_>,
    old: &str,
    new: &str,
    all: bool,
) -> Result<ReplaceOutcome, PlacementMiss> {
    let (old, new) = with_file_line_ends(text, old, new);
    let whole = text.as_str();
    if !text.budget().spend((whole.len() + old.len()) / SEARCHED_BYTES_PER_STEP) {
        return Err(PlacementMiss::BudgetExhausted);
    }
    // With mixed line ends, only whole lines can be compared.
    if has_mixed_line_ends(text) && old.contains('\n') {
        return if all { replace_everywhere(text, &old, &new) } else { replace_by_lines(text, &old, &new) };
    }
    let mut places: Vec<usize> = whole.match_indices(&old).map(|(at, _)| at).collect();
    if !all && let [at] = *places {
        places.extend(find_overlapping(whole, at, &old).filter(|_| EnginePart::Overlapping.is_on()));
    }
    let line = |at: usize| text.line_at_byte(at);
    if let [at] = *places
        && !all
        && !is_already_replaced(whole, at, &old, &new)
        && let Some(doubt) = describe_split_word(whole, at, &old)
        && EnginePart::SplitWord.is_on()
    {
        return Err(PlacementMiss::Doubtful(line(at), doubt));
    }
    match places.as_slice() {
        [] if all => occurs_certainly(whole, &new)
            .then_some(ReplaceOutcome::AlreadyApplied)
            .ok_or(PlacementMiss::Absent),
        [] => replace_by_lines(text, &old, &new),
        [at] => replace_only_place(text, *at, &old, &new),
        some if all && some.iter().all(|at| is_already_replaced(whole, *at, &old, &new)) => {
            Ok(ReplaceOutcome::AlreadyApplied)
        }
        some if all => {
            let places = some.iter().map(|at| (line(*at), MatchPass::Exact)).collect();
            Ok(ReplaceOutcome::Replaced(whole.replace(&old, &new), places))
        }
        some => Err(PlacementMiss::Ambiguous(some.iter().map(|at| line(*at)).collect())),
    }
}

/// Replaces the only occurrence of `old`, at the byte `at`, unless it may already be replaced.
fn replace_only_place(
    text: &DecodedText<'_>,
    at: usize,
    old: &str,
    new: &str,
) -> Result<ReplaceOutcome, PlacementMiss> {
    let (whole, line) = (text.as_str(), text.line_at_byte(at));
    if is_already_replaced(whole, at, old, new) {
        // Another empty line beside an existing one may be meant.
        let adds_blanks = old != new && new.trim() == old.trim();
        return if adds_blanks {
            Err(PlacementMiss::RepeatsNeighbour(line))
        } else {
            Ok(ReplaceOutcome::AlreadyApplied)
        };
    }
    // Text that is only extended stands there before and after, and the file may end without a newline.
    if new.contains(old.trim_end())
        && is_applied(text, &hunk_from_texts(old, new))
        && EnginePart::AppliedExtension.is_on()
    {
        return Ok(ReplaceOutcome::AlreadyApplied);
    }
    let replaced = [&whole[..at], new, &whole[at + old.len()..]].concat();
    Ok(ReplaceOutcome::Replaced(replaced, vec![(line, MatchPass::Exact)]))
}

/// Returns `old` and `new` without a byte order mark, and with the line ends of the file.
fn with_file_line_ends(text: &DecodedText<'_>, old: &str, new: &str) -> (String, String) {
    let ending = text.first_line_end();
    let (old, new) = text.strip_bom_pair(old, new);
    if ending == "\n" {
        return (old.to_owned(), new.to_owned());
    }
    let with_ends = |part: &str| part.replace("\r\n", "\n").replace('\n', ending);
    (with_ends(old), with_ends(new))
}

fn has_mixed_line_ends(text: &DecodedText<'_>) -> bool {
    let ending = text.first_line_end();
    (1..text.len()).any(|at| text.line_end(at) != ending && !text.line_end(at).is_empty())
}

/// Replaces every occurrence of `old`, with any line ends. The replacement gets the occurrence's first line end.
fn replace_everywhere(text: &DecodedText<'_>, old: &str, new: &str) -> Result<ReplaceOutcome, PlacementMiss> {
    let (whole, new) = (text.as_str(), new.replace("\r\n", "\n"));
    let old = old.replace("\r\n", "\n");
    let first = old.split('\n').next().unwrap_or_default();
    let (mut out, mut landed_hunks, mut from) = (String::with_capacity(whole.len()), Vec::new(), 0);
    // ends: each round begins after the last
    while let Some(at) = whole[from..].find(if first.is_empty() { "\n" } else { first }).map(|at| from + at) {
        let found = match_any_line_ends(&whole[at..], &old)
            .filter(|_| text.budget().spend(1 + old.len() / SEARCHED_BYTES_PER_STEP));
        let next = match found {
            Some((length, ending)) => {
                out.push_str(&whole[from..at]);
                out.push_str(&new.replace('\n', ending));
                landed_hunks.push((text.line_at_byte(at), MatchPass::Exact));
                at + length
            }
            None => {
                let next = at + whole[at..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&whole[from..next]);
                next
            }
        };
        from = next;
    }
    out.push_str(&whole[from..]);
    match (landed_hunks.is_empty(), text.budget().is_exhausted()) {
        (_, true) => Err(PlacementMiss::BudgetExhausted),
        (true, false) => Err(PlacementMiss::Absent),
        (false, false) => Ok(ReplaceOutcome::Replaced(out, landed_hunks)),
    }
}

/// Matches `old` at the beginning of `rest` with any line ends. Returns its length there and its first line end.
fn match_any_line_ends<'a>(rest: &'a str, old: &str) -> Option<(usize, &'a str)> {
    let (mut at, mut ending) = (0, None);
    for (nth, part) in old.split('\n').enumerate() {
        if nth > 0 {
            let end = ["\r\n", "\n"].into_iter().find(|end| rest[at..].starts_with(end))?;
            ending.get_or_insert(&rest[at..at + end.len()]);
            at += end.len();
        }
        at += rest[at..].strip_prefix(part).map(|_| part.len())?;
    }
    Some((at, ending.unwrap_or("\n")))
}

/// Returns a second occurrence of `old` that overlaps the one at `at`.
fn find_overlapping(whole: &str, at: usize, old: &str) -> Option<usize> {
    let next = at + old.chars().next().map_or(1, char::len_utf8);
    let end = whole.floor_char_boundary(at + 2 * old.len());
    whole.get(next..end)?.find(old).map(|found| next + found)
}

/// Returns true if `new`, which contains `old`, stands around the occurrence of `old` at `at`.
fn is_already_replaced(whole: &str, at: usize, old: &str, new: &str) -> bool {
    new.match_indices(old).any(|(inside, _)| {
        at.checked_sub(inside).is_some_and(|start| whole.get(start..start + new.len()) == Some(new))
    })
}

/// Reports an occurrence of a multi-line `old` at `at` that begins or ends within a word: that line differs there.
fn describe_split_word(whole: &str, at: usize, old: &str) -> Option<String> {
    let within = |char: char| char.is_alphanumeric() || char == '_';
    let (before, after) = (&whole[..at], &whole[at + old.len()..]);
    let begins = before.ends_with(within) && old.starts_with(within);
    let ends = after.starts_with(within) && old.ends_with(within);
    let (line, side) = if begins { (old.lines().next()?, "begins") } else { (old.lines().last()?, "ends") };
    (old.trim_end().contains('\n') && (begins || ends))
        .then(|| format!("`{}` {side} in the middle of a word there", line.trim()))
}

/// Returns true if `new` occurs and has more than two non-blank lines, which is no coincidence.
fn occurs_certainly(whole: &str, new: &str) -> bool {
    new.lines().filter(|line| !line.trim().is_empty()).count() > 2 && whole.contains(new)
}

/// Returns true if `text` is the result of `hunk`.
fn is_applied(text: &DecodedText<'_>, hunk: &Hunk) -> bool {
    was_applied_before(text, std::slice::from_ref(hunk), LineEndPolicy::default())
}

fn replace_by_lines(text: &DecodedText<'_>, old: &str, new: &str) -> Result<ReplaceOutcome, PlacementMiss> {
    let hunk = hunk_from_texts(old, new);
    let placed = place_hunks(text, std::slice::from_ref(&hunk));
    let is_sure =
        matches!(placed.as_deref(), Ok([HunkPlacement::Placed(pass, _)]) if *pass <= MatchPass::Trailing);
    if !is_sure && is_applied(text, &hunk) {
        return Ok(ReplaceOutcome::AlreadyApplied);
    }
    match placed {
        Ok(placed) => match placed.into_iter().next() {
            Some(HunkPlacement::Placed(pass, line_edits)) => {
                let at = line_edits.drops.first().or(line_edits.adds.first().map(|(at, _)| at)).copied();
                Ok(ReplaceOutcome::Replaced(
                    rewrite_text(text, &[&line_edits], LineEndPolicy::default()),
                    vec![(at.unwrap_or(0), pass)],
                ))
            }
            Some(HunkPlacement::AlreadyApplied(_)) => Ok(ReplaceOutcome::AlreadyApplied),
            None => Err(PlacementMiss::Absent),
        },
        Err(misses) => Err(misses.into_iter().next().map_or(PlacementMiss::Absent, |(_, miss)| miss)),
    }
}

/// Creates a hunk from two texts. Common lines are context.
pub(crate) fn hunk_from_texts(old: &str, new: &str) -> Hunk {
    let (old, mut new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if new.ends_with('\n') && !old.ends_with('\n') {
        // The newline after the old text stays, so the new text's last newline is an additional one.
        new.push('\n');
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let keep = |line: &&str| HunkLine::Keep((*line).to_owned());
    if (ours.len() - head).saturating_mul(theirs.len() - head) > MAX_COMPARED_LINE_PAIRS {
        let goes = ours[head..].iter().map(|line| HunkLine::Drop((*line).to_owned()));
        let comes = theirs[head..].iter().map(|line| HunkLine::Add((*line).to_owned()));
        let lines = ours[..head].iter().map(keep).chain(goes).chain(comes).collect();
        return Hunk { lines, ..Hunk::default() };
    }
    let changes = TextDiff::from_slices(&ours[head..], &theirs[head..]);
    let line = |change: similar::Change<&str>| {
        let text = change.value().to_owned();
        match change.tag() {
            ChangeTag::Equal => HunkLine::Keep(text),
            ChangeTag::Delete => HunkLine::Drop(text),
            ChangeTag::Insert => HunkLine::Add(text),
        }
    };
    let lines = ours[..head].iter().map(keep).chain(changes.iter_all_changes().map(line));
    Hunk { lines: lines.collect(), ..Hunk::default() }
}
