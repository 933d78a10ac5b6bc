//! Decides without the engine whether a patch has enough evidence to be placed, by counting its matching places.
//!
//! Each hunk is compared with the whole file at four levels: exactly; without indentation; without whitespace and
//! typography; and by its undamaged lines alone. The last level allows as many foreign lines in between as the right
//! place has. The first level that matches at the right place is the evidence. The case is recoverable if only one
//! place matches. It is also recoverable if the header, a right line number or the order of the hunks leaves one place.

use crate::case_draft::{
    CaseDraft, CaseGoal, DraftFormat, DraftHunk, HunkNumbers, LineSign, indent, is_telling,
};
use crate::patch_text;

/// The evidence for the place of a patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PlaceEvidence {
    /// Exactly one place.
    Enough,
    /// No place or several, or the damage removed what the change depends on.
    Short,
    /// The patch matches better at a wrong place, so it is no valid case.
    Misleading,
}

/// Weighs the evidence of `draft`.
pub(crate) fn weigh_evidence(draft: &CaseDraft) -> PlaceEvidence {
    match draft.goal {
        CaseGoal::Lands => {}
        CaseGoal::Already => {
            let all = draft.parts.iter().map(|part| applied(draft, part));
            return all.max().unwrap_or(PlaceEvidence::Short);
        }
        CaseGoal::Refused => {
            return if fits_elsewhere(draft) { PlaceEvidence::Misleading } else { PlaceEvidence::Enough };
        }
    }
    let mut all: Vec<Vec<usize>> = Vec::new();
    for part in &draft.parts {
        if part.done {
            match applied(draft, part) {
                PlaceEvidence::Enough => continue,
                less => return less,
            }
        }
        match places(draft, part) {
            Ok(places) => all.push(places),
            Err(evidence) => return evidence,
        }
    }
    let alone = all.iter().all(|places| places.len() == 1);
    // Only their order could place these hunks, and they are out of order.
    if draft.shuffled && !alone {
        return PlaceEvidence::Misleading;
    }
    if !draft.doubt && (alone || ways(&all) == 1) { PlaceEvidence::Enough } else { PlaceEvidence::Short }
}

/// The strictness of a line comparison.
#[derive(Clone, Copy)]
enum CompareLevel {
    Exact,
    Trimmed,
    Plain,
}

fn shape(level: CompareLevel, line: &str) -> String {
    match level {
        CompareLevel::Exact => line.to_owned(),
        CompareLevel::Trimmed => line.trim().to_owned(),
        CompareLevel::Plain => normalize_line(line),
    }
}

/// Removes whitespace from a line and replaces typographic characters by ASCII.
pub(crate) fn normalize_line(line: &str) -> String {
    let typed = |char: char| match char {
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '–' | '—' | '−' => '-',
        other => other,
    };
    line.chars().filter(|char| !char.is_whitespace()).map(typed).collect()
}

/// Returns the places where a hunk may belong, including the right one.
fn places(draft: &CaseDraft, part: &DraftHunk) -> Result<Vec<usize>, PlaceEvidence> {
    let rows = draft.rows();
    let old: Vec<&str> = part.old_lines().map(|said| said.text.as_str()).collect();
    let truth =
        part.old_lines().enumerate().find_map(|(at, said)| Some(draft.row(said.cell?)?.checked_sub(at)));
    let Some(truth) = truth else {
        // None of its lines is left at its place, and all of them stand elsewhere.
        let stands = |row: usize| {
            rows[row..].iter().map(|cell| &cell.text).zip(&old).filter(|(there, old)| there == old)
        };
        if !old.is_empty() && (0..rows.len()).any(|row| stands(row).count() == old.len()) {
            return Err(PlaceEvidence::Misleading);
        }
        // The hunk only adds lines and has no context.
        let told = draft.manner.format == DraftFormat::Unified && part.numbers == HunkNumbers::Right;
        return if told { Ok(vec![patch_text::hunk_start(draft, part)]) } else { Err(PlaceEvidence::Short) };
    };
    for level in [CompareLevel::Exact, CompareLevel::Trimmed, CompareLevel::Plain] {
        let file: Vec<String> = rows.iter().map(|cell| shape(level, &cell.text)).collect();
        let said: Vec<String> = old.iter().map(|line| shape(level, line)).collect();
        let found: Vec<usize> = (0..(file.len() + 1).saturating_sub(said.len()))
            .filter(|at| file[*at..].starts_with(&said))
            .collect();
        if truth.is_some_and(|truth| found.contains(&truth)) {
            let truth = truth.unwrap_or(0);
            if matches!(level, CompareLevel::Exact) && draft.manner.format == DraftFormat::Replace {
                return Ok(occurrences(draft, found));
            }
            return narrowed(draft, part, found, truth);
        }
        if !found.is_empty() {
            return Err(PlaceEvidence::Misleading);
        }
    }
    if !stands_unspaced(draft, &old).is_empty() && !truly_unspaced(draft, part) {
        return Err(PlaceEvidence::Misleading);
    }
    by_anchors(draft, part)
}

/// Returns the rows where the non-blank lines stand one after another, ignoring blank lines.
fn stands_unspaced(draft: &CaseDraft, old: &[&str]) -> Vec<usize> {
    let rows = draft.rows();
    let file: Vec<String> =
        rows.iter().map(|cell| normalize_line(&cell.text)).filter(|line| !line.is_empty()).collect();
    let said: Vec<String> =
        old.iter().map(|line| normalize_line(line)).filter(|line| !line.is_empty()).collect();
    (0..(file.len() + 1).saturating_sub(said.len().max(1)))
        .filter(|at| file[*at..].starts_with(&said))
        .collect()
}

/// Returns true if the non-blank lines of a hunk stand one after another at the right place, ignoring blank lines.
fn truly_unspaced(draft: &CaseDraft, part: &DraftHunk) -> bool {
    let rows = draft.rows();
    let said: Vec<_> = part.old_lines().filter(|said| !normalize_line(&said.text).is_empty()).collect();
    let places: Option<Vec<usize>> = said.iter().map(|said| draft.row(said.cell?)).collect();
    let Some(places) = places else { return false };
    let same = |(said, row): (&&crate::case_draft::PatchLine, &usize)| {
        normalize_line(&said.text) == normalize_line(&rows[*row].text)
    };
    let together =
        |pair: &[usize]| rows[pair[0] + 1..pair[1]].iter().all(|cell| normalize_line(&cell.text).is_empty());
    said.iter().zip(&places).all(same) && places.windows(2).all(|pair| pair[0] < pair[1] && together(pair))
}

/// Returns true if the patch's old lines equal the file's, byte for byte.
pub(crate) fn is_exact(draft: &CaseDraft) -> bool {
    let rows = draft.rows();
    let exact = |part: &DraftHunk| {
        let places: Option<Vec<usize>> = part.old_lines().map(|said| draft.row(said.cell?)).collect();
        places.is_some_and(|places| {
            places.windows(2).all(|pair| pair[0] + 1 == pair[1])
                && part.old_lines().zip(&places).all(|(said, row)| said.text == rows[*row].text)
        })
    };
    draft.cells.iter().all(|cell| cell.ending == draft.cells[0].ending) && draft.parts.iter().all(exact)
}

/// Returns the occurrences of the text, which may be more than those of its lines.
fn occurrences(draft: &CaseDraft, found: Vec<usize>) -> Vec<usize> {
    let old: Vec<&str> = draft.parts[0].old_lines().map(|said| said.text.as_str()).collect();
    let mut text = old.join("\n");
    if draft.manner.ended {
        text.push('\n');
    }
    let whole = rows_text(draft);
    let count = whole.match_indices(&text).count();
    if count > found.len() { (0..count).collect() } else { found }
}

fn rows_text(draft: &CaseDraft) -> String {
    draft.rows().iter().map(|cell| cell.text.clone() + "\n").collect()
}

/// Returns the places of the lines that the damage left unchanged.
fn by_anchors(draft: &CaseDraft, part: &DraftHunk) -> Result<Vec<usize>, PlaceEvidence> {
    let rows = draft.rows();
    let file: Vec<(usize, String)> = rows
        .iter()
        .enumerate()
        .map(|(at, cell)| (at, normalize_line(&cell.text)))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let mut anchors: Vec<(String, usize)> = Vec::new();
    let mut tells = 0;
    for said in part.old_lines() {
        let Some(row) = said.cell.and_then(|cell| draft.row(cell)) else { continue };
        let shape = normalize_line(&said.text);
        if shape.is_empty() || shape != normalize_line(&rows[row].text) {
            continue;
        }
        tells += match (is_telling(&said.text), said.sign) {
            (true, LineSign::Drop) => 2,
            (true, _) => 1,
            (false, _) => 0,
        };
        let Some(at) = file.iter().position(|(at, _)| *at == row) else { continue };
        anchors.push((shape, at));
    }
    if tells < 2 {
        return Err(PlaceEvidence::Short);
    }
    let gaps: Vec<usize> = anchors.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let stands = |start: usize| {
        let mut here = start;
        gaps.iter().zip(&anchors[1..]).all(|(gap, (line, _))| {
            let next =
                (here + 1..=here + gap).find(|at| file.get(*at).is_some_and(|(_, there)| there == line));
            next.inspect(|at| here = *at).is_some()
        })
    };
    let starts = (0..file.len()).filter(|at| file[*at].1 == anchors[0].0 && stands(*at));
    let found: Vec<usize> = starts.map(|at| file[at].0).collect();
    let truth = file[anchors[0].1].0;
    if !found.contains(&truth) {
        return Err(PlaceEvidence::Short);
    }
    narrowed(draft, part, found, truth)
}

/// Narrows the places `found` by header and line number.
fn narrowed(
    draft: &CaseDraft,
    part: &DraftHunk,
    found: Vec<usize>,
    truth: usize,
) -> Result<Vec<usize>, PlaceEvidence> {
    if found.len() < 2 {
        return Ok(found);
    }
    let unified = draft.manner.format == DraftFormat::Unified;
    if unified && matches!(part.numbers, HunkNumbers::Right | HunkNumbers::Miscounted(_)) {
        return Ok(vec![truth]);
    }
    if unified && let HunkNumbers::Off(by) = part.numbers {
        let there = (patch_text::hunk_start(draft, part).cast_signed() - 1 + by).max(0).cast_unsigned();
        if found.contains(&there) {
            return Err(PlaceEvidence::Misleading);
        }
    }
    let Some(header) = part.headers.last() else { return Ok(found) };
    let rows = draft.rows();
    let heads: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].text.trim() == header.trim()).collect();
    // The patch format defines the first match below the header as the right place.
    if let [head] = heads[..]
        && draft.manner.format == DraftFormat::Envelope
        && found.iter().find(|at| head < **at).is_some_and(|first| *first < truth)
    {
        return Err(PlaceEvidence::Misleading);
    }
    let headed = |at: &usize| heads.iter().any(|head| head < at && *at < block_end(draft, *head));
    let inside: Vec<usize> = found.iter().copied().filter(headed).collect();
    match inside.contains(&truth) {
        true => Ok(inside),
        false if inside.is_empty() => Ok(found),
        false => Err(PlaceEvidence::Misleading),
    }
}

/// Returns the row after the block that the row at `head` opens.
pub(crate) fn block_end(draft: &CaseDraft, head: usize) -> usize {
    let rows = draft.rows();
    let depth = indent(&rows[head].text).len();
    let ends = |at: &usize| {
        let line = rows[*at].text.as_str();
        let closes = line.trim_start().starts_with(['}', ')', ']', '{']);
        !line.trim().is_empty() && indent(line).len() <= depth && !closes
    };
    (head + 1..rows.len()).find(ends).unwrap_or(rows.len())
}

/// Counts the ways in which the hunks stand one after another, up to 2.
fn ways(all: &[Vec<usize>]) -> usize {
    let mut ending: Vec<(usize, usize)> = vec![(0, 1)];
    for (index, places) in all.iter().enumerate() {
        let before = |at: usize| {
            let earlier = ending.iter().filter(|(end, _)| index == 0 || *end < at);
            earlier.map(|(_, ways)| *ways).sum::<usize>().min(2)
        };
        ending = places.iter().map(|at| (*at, before(*at))).collect();
    }
    ending.iter().map(|(_, ways)| *ways).sum::<usize>().min(2)
}

/// Weighs the evidence of an applied hunk. Its old lines may stand only within its new lines.
fn applied(draft: &CaseDraft, part: &DraftHunk) -> PlaceEvidence {
    let rows = draft.rows();
    let file: Vec<&str> = rows.iter().map(|cell| cell.text.as_str()).collect();
    let stands = |lines: &[&str]| -> Vec<usize> {
        (0..(file.len() + 1).saturating_sub(lines.len()))
            .filter(|at| file[*at..].starts_with(lines))
            .collect()
    };
    let old: Vec<&str> = part.old_lines().map(|said| said.text.as_str()).collect();
    let new = part.lines.iter().filter(|said| said.sign != LineSign::Drop);
    let new: Vec<&str> = new.map(|said| said.text.as_str()).collect();
    let made = stands(&new);
    let inside = |at: &usize| made.iter().any(|made| made <= at && at + old.len() <= made + new.len());
    match stands(&old).iter().all(inside) {
        true if !old.is_empty() && new.iter().any(|line| is_telling(line)) => PlaceEvidence::Enough,
        true => PlaceEvidence::Short,
        false => PlaceEvidence::Misleading,
    }
}

/// Returns true if a hunk with a wrong line matches somewhere as it is.
fn fits_elsewhere(draft: &CaseDraft) -> bool {
    let rows = draft.rows();
    let file: Vec<String> = rows.iter().map(|cell| normalize_line(&cell.text)).collect();
    let wrong = |part: &&DraftHunk| {
        part.old_lines()
            .any(|said| said.cell.and_then(|cell| draft.cell(cell)).is_none_or(|cell| cell.text != said.text))
    };
    draft.parts.iter().filter(wrong).any(|part| {
        let said: Vec<String> = part.old_lines().map(|said| normalize_line(&said.text)).collect();
        file.windows(said.len().max(1)).any(|window| window == said)
    })
}
