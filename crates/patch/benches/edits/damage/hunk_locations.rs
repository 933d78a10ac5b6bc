//! Damage to the location of a hunk: wrong headers and line numbers, and duplicated lines.

use crate::case_draft::{CaseDraft, DraftFormat, DraftLine, HunkNumbers, LinePresence, indent, is_telling};
use crate::hunk_headers::{header_as_git, header_as_model};
use crate::patch_text::enclosing_lines;
use crate::place_evidence::block_end;
use crate::seeded_random::CaseRandom;

/// The minimum number of lines between a copy and the hunks.
const APART: usize = 8;
/// The maximum length of a function that is duplicated.
const MOST_TWIN: usize = 200;

const UNKNOWN: &[&str] = &[
    "fn reload_settings(&mut self) -> io::Result<()> {",
    "impl Frobnicator for Widget {",
    "class SettingsPanel(Panel):",
    "static int frob_init(struct frob *frob)",
];

/// Uses a header that is not in the file.
pub(crate) fn unknown_header(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let header = chance.pick(UNKNOWN).unwrap_or("fn unknown() {");
    for part in &mut draft.parts {
        part.headers = vec![header.to_owned()];
    }
    true
}

/// Swaps or drops letters of the header.
pub(crate) fn misspelt_header(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    if draft.manner.format != DraftFormat::Envelope {
        return false;
    }
    let at = chance.below(draft.parts.len());
    let Some(header) = enclosing_lines(draft, &draft.parts[at]).into_iter().next() else { return false };
    let mut letters: Vec<char> = header.trim().chars().collect();
    let pairs: Vec<usize> = (1..letters.len())
        .filter(|at| {
            letters[*at].is_alphabetic() && letters[at - 1].is_alphabetic() && letters[*at] != letters[at - 1]
        })
        .collect();
    let Some(pair) = chance.pick(&pairs) else { return false };
    if chance.once_in(2) {
        letters.swap(pair - 1, pair);
    } else {
        letters.remove(pair);
    }
    let header: String = letters.into_iter().collect();
    if draft.rows().iter().any(|cell| cell.text.contains(&header)) {
        return false;
    }
    draft.parts[at].headers = vec![header];
    true
}

/// Uses the header of another block in the file.
pub(crate) fn other_header(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let at = chance.below(draft.parts.len());
    let part = &draft.parts[at];
    let rows = draft.rows();
    let Some(first) = part.old_lines().find_map(|said| draft.row(said.cell?)) else { return false };
    let last = part.old_lines().filter_map(|said| draft.row(said.cell?)).last().unwrap_or(first);
    let Some(own) = enclosing_lines(draft, part).into_iter().next() else { return false };
    let heads: Vec<usize> = (0..rows.len())
        .filter(|at| is_telling(&rows[*at].text) && indent(&rows[*at].text) == indent(&own))
        .filter(|at| {
            let end = block_end(draft, *at);
            end > at + 2 && (end <= first || *at > last)
        })
        .collect();
    let Some(head) = chance.pick(&heads) else { return false };
    draft.parts[at].headers = vec![rows[head].text.trim().to_owned()];
    true
}

/// Uses the nearest definition above as git writes it. Its block may have ended.
pub(crate) fn git_header(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    let headers: Vec<Option<String>> = draft.parts.iter().map(|part| header_as_git(draft, part)).collect();
    give(draft, headers)
}

/// Uses the nearest definition above as models write it.
pub(crate) fn model_header(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let headers: Vec<Option<String>> =
        draft.parts.iter().map(|part| header_as_model(draft, part, chance)).collect();
    give(draft, headers)
}

/// Sets the header of each hunk. Returns false if there is none at all.
fn give(draft: &mut CaseDraft, headers: Vec<Option<String>>) -> bool {
    let some = headers.iter().any(Option::is_some);
    for (part, header) in draft.parts.iter_mut().zip(headers) {
        part.headers = header.into_iter().collect();
    }
    some
}

/// Duplicates a hunk's lines further down, and uses the nearest definition above as its header.
pub(crate) fn duplicated_below(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let Some(header) = header_as_model(draft, &draft.parts[part], chance) else { return false };
    let Some(region) = region(draft, part) else { return false };
    let rows = draft.rows();
    let once = rows.iter().filter(|cell| cell.text.trim() == header.trim()).count() == 1;
    let end = rows.len();
    let apart: Vec<usize> = far(draft).into_iter().filter(|at| *at > region.1).collect();
    let to = chance.pick(&apart).unwrap_or(end);
    draft.parts[part].headers = vec![header];
    copy(draft, region, to, str::to_owned);
    once
}

/// Makes the line numbers wrong.
pub(crate) fn wrong_numbers(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let drift = 1 + chance.below(60).cast_signed();
    let drift = if chance.once_in(2) { -drift } else { drift };
    let same = chance.once_in(2);
    for part in &mut draft.parts {
        part.numbers = HunkNumbers::Off(if same { drift } else { 1 + chance.below(300).cast_signed() });
    }
    true
}

/// Makes the line counts wrong.
pub(crate) fn wrong_counts(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    for part in &mut draft.parts {
        part.numbers = HunkNumbers::Miscounted(1 + chance.below(4));
    }
    true
}

/// Removes the line numbers.
pub(crate) fn no_numbers(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    for part in &mut draft.parts {
        part.numbers = HunkNumbers::Missing;
    }
    true
}

/// Returns the first and last row that a hunk names.
fn region(draft: &CaseDraft, part: usize) -> Option<(usize, usize)> {
    let mut rows = draft.parts[part].old_lines().filter_map(|said| draft.row(said.cell?));
    let first = rows.next()?;
    Some((first, rows.last().unwrap_or(first)))
}

/// Copies the rows from `first` to `last` before the row at `to`. `edit` may change the first line of the copy.
fn copy(draft: &mut CaseDraft, (first, last): (usize, usize), to: usize, edit: impl Fn(&str) -> String) {
    let fresh = draft.next_id();
    let rows = draft.rows();
    let copied = rows[first..=last].iter().enumerate().map(|(at, cell)| {
        let text = if at == 0 { edit(&cell.text) } else { cell.text.clone() };
        DraftLine { id: fresh + at, text, there: LinePresence::Both, ending: cell.ending }
    });
    let copied: Vec<DraftLine> = copied.collect();
    let before = rows.get(to).map(|cell| cell.id);
    let at = draft.cells.iter().position(|cell| Some(cell.id) == before).unwrap_or(draft.cells.len());
    draft.cells.splice(at..at, copied);
}

/// Returns the rows that are far enough from every hunk.
fn far(draft: &CaseDraft) -> Vec<usize> {
    let regions: Vec<(usize, usize)> =
        (0..draft.parts.len()).filter_map(|part| region(draft, part)).collect();
    let is_far = |at: &usize| regions.iter().all(|(first, last)| at + APART <= *first || *at > last + APART);
    (0..draft.rows().len()).filter(is_far).collect()
}

/// Duplicates a hunk's lines in the file.
pub(crate) fn duplicated(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let (Some(region), Some(to)) = (region(draft, part), chance.pick(&far(draft))) else { return false };
    draft.parts[part].headers.clear();
    if chance.once_in(2) {
        draft.parts[part].numbers = HunkNumbers::Missing;
    }
    copy(draft, region, to, str::to_owned);
    true
}

/// Returns the row and text of a hunk's header, if only one line has that text.
fn head(draft: &CaseDraft, part: usize) -> Option<(usize, String)> {
    let header = enclosing_lines(draft, &draft.parts[part]).into_iter().next()?;
    let rows = draft.rows();
    let mut places = (0..rows.len()).filter(|at| rows[*at].text.trim() == header.trim());
    let place = places.next()?;
    places.next().is_none().then_some((place, header))
}

/// Duplicates a hunk's lines in the file so that only one copy is below its header.
pub(crate) fn duplicated_headed(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let (Some(region), Some((place, header))) = (region(draft, part), head(draft, part)) else {
        return false;
    };
    let end = block_end(draft, place);
    let outside: Vec<usize> = far(draft).into_iter().filter(|at| *at <= place || *at >= end).collect();
    let Some(to) = chance.pick(&outside) else { return false };
    if region.1 >= end {
        return false;
    }
    draft.parts[part].headers = vec![header];
    copy(draft, region, to, str::to_owned);
    true
}

/// Duplicates the function that contains a hunk, under another name.
pub(crate) fn twin(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let (Some(region), Some((place, header))) = (region(draft, part), head(draft, part)) else {
        return false;
    };
    let end = block_end(draft, place);
    let longest =
        header.split(|char: char| !char.is_alphanumeric() && char != '_').max_by_key(|word| word.len());
    let longest = longest.unwrap_or_default().to_owned();
    if region.1 >= end || end - place > MOST_TWIN || longest.len() < 3 {
        return false;
    }
    draft.parts[part].headers = vec![header];
    let to = if chance.once_in(2) { place } else { end };
    let inside = |part| self::region(draft, part).is_some_and(|(first, last)| first < to && to <= last);
    if (0..draft.parts.len()).any(inside) {
        return false;
    }
    copy(draft, (place, end - 1), to, |line| line.replacen(&longest, &format!("{longest}_twin"), 1));
    true
}
