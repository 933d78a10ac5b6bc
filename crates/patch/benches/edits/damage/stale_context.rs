//! Damage: context that differs from the file, because the file was edited or the patch is careless.

use crate::case_draft::{
    CaseDraft, CaseGoal, DraftHunk, DraftLine, DraftLineEnd, LinePresence, LineSign, PatchLine, indent,
};
use crate::place_evidence::normalize_line;
use crate::seeded_random::CaseRandom;

/// Words for reworded lines.
const WORDS: &[&str] = &[
    "value", "result", "buffer", "index", "options", "current", "previous", "length", "handle", "state",
    "request", "offset", "entry", "config", "source", "target",
];

/// Lines to insert into the file.
const LINES: &[&str] = &[
    "let extra = self.compute(7);",
    "// Checked by the caller.",
    "trace_point(42);",
    "debug_assert!(ready);",
    "if (verbose) report_progress(step);",
];

/// The share of a line that is reworded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RewordAmount {
    Word,
    Half,
}

/// Rewords a line, if it has words.
fn reword(line: &str, much: RewordAmount, chance: &mut CaseRandom) -> Option<String> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut pieces: Vec<String> = Vec::new();
    for char in line.chars() {
        match pieces.last_mut() {
            Some(last) if is_word(char) && last.ends_with(is_word) => last.push(char),
            _ => pieces.push(char.to_string()),
        }
    }
    let words: Vec<usize> = (0..pieces.len()).filter(|at| pieces[*at].len() > 2).collect();
    let changes = match much {
        RewordAmount::Word => 1,
        RewordAmount::Half => words.len().div_ceil(2),
    };
    for _ in 0..changes {
        let at = chance.pick(&words)?;
        pieces[at] = if pieces[at].chars().all(|char| char.is_ascii_digit()) {
            (chance.below(9000) + 100).to_string()
        } else {
            (*chance.pick(WORDS)?).to_owned()
        };
    }
    let new = pieces.concat();
    (normalize_line(&new) != normalize_line(line)).then_some(new)
}

/// Picks a hunk and one of its context lines.
fn context_line(draft: &CaseDraft, chance: &mut CaseRandom) -> Option<(usize, usize)> {
    let part = chance.below(draft.parts.len());
    Some((part, chance.pick(&draft.parts[part].telling_lines(LineSign::Keep))?))
}

/// Returns true if the line at `at` is the only neighbour of added lines.
fn is_only_neighbour(part: &DraftHunk, at: usize) -> bool {
    let is_add = |at: usize| part.lines.get(at).is_some_and(|said| said.sign == LineSign::Add);
    let after = is_add(at + 1) && part.lines[at + 1..].iter().all(|said| said.sign == LineSign::Add);
    let before = at > 0 && is_add(at - 1) && part.lines[..at].iter().all(|said| said.sign == LineSign::Add);
    after || before
}

fn how_much(chance: &mut CaseRandom) -> RewordAmount {
    if chance.once_in(5) { RewordAmount::Half } else { RewordAmount::Word }
}

/// Edits a context line in the file.
pub(crate) fn edit_context_in_file(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let Some((part, at)) = context_line(draft, chance) else { return false };
    let much = how_much(chance);
    draft.doubt |= much == RewordAmount::Half && is_only_neighbour(&draft.parts[part], at);
    let Some(id) = draft.parts[part].lines[at].cell else { return false };
    let Some(cell) = draft.cell_mut(id).filter(|cell| cell.there == LinePresence::Both) else { return false };
    let Some(text) = reword(&cell.text, much, chance) else { return false };
    cell.text = text;
    true
}

/// Rewords a context line of the patch.
pub(crate) fn reword_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let Some((part, at)) = context_line(draft, chance) else { return false };
    let much = how_much(chance);
    draft.doubt |= much == RewordAmount::Half && is_only_neighbour(&draft.parts[part], at);
    let said = &mut draft.parts[part].lines[at];
    let Some(text) = reword(&said.text, much, chance) else { return false };
    said.text = text;
    true
}

/// Rewords a removed line of the patch, so that it is unclear whether the file's line is to be removed.
pub(crate) fn reword_dropped(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let Some(at) = chance.pick(&part.telling_lines(LineSign::Drop)) else { return false };
    let much = how_much(chance);
    let Some(text) = reword(&part.lines[at].text, much, chance) else { return false };
    if part.lines.iter().any(|said| normalize_line(&said.text) == normalize_line(&text)) {
        return false;
    }
    part.lines[at].text = text;
    draft.goal = CaseGoal::Refused;
    true
}

/// Inserts lines among the context in the file.
pub(crate) fn insert_into_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &draft.parts[part];
    let old: Vec<usize> = (0..part.lines.len()).filter(|at| part.lines[*at].sign != LineSign::Add).collect();
    let is_keep = |at: usize| part.lines[at].sign == LineSign::Keep;
    let gaps: Vec<(usize, usize)> = old
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .filter(|(above, below)| is_keep(*above) || is_keep(*below))
        .collect();
    let Some((above, below)) = chance.pick(&gaps) else { return false };
    // Between two context lines with added lines between them, the side of the inserted line is unclear.
    let doubt = is_keep(above) && is_keep(below) && below > above + 1;
    let Some(id) = part.lines[below].cell else { return false };
    let Some(at) = draft.cells.iter().position(|cell| cell.id == id) else { return false };
    let blanks = indent(&draft.cells[at].text).to_owned();
    let ending = if draft.cells[at].ending == DraftLineEnd::Windows {
        DraftLineEnd::Windows
    } else {
        DraftLineEnd::Unix
    };
    for _ in 0..=usize::from(chance.once_in(3)) {
        let text = blanks.clone() + chance.pick(LINES).unwrap_or("x();");
        draft.cells.insert(at, DraftLine { id: draft.next_id(), text, there: LinePresence::Both, ending });
    }
    draft.doubt |= doubt;
    true
}

/// Deletes a context line from the file.
pub(crate) fn delete_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let Some((part, at)) = context_line(draft, chance) else { return false };
    draft.doubt |= is_only_neighbour(&draft.parts[part], at);
    let id = draft.parts[part].lines[at].cell;
    let before = draft.cells.len();
    draft.cells.retain(|cell| Some(cell.id) != id || cell.there != LinePresence::Both);
    draft.cells.len() < before
}

/// Reduces the context to at most one line on at least one side.
pub(crate) fn truncate_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let sides = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (1, 3), (3, 1), (0, 0)];
    let (above, below) = chance.pick(&sides).unwrap_or((1, 1));
    let mut changed = false;
    for part in &mut draft.parts {
        let is_change = |said: &PatchLine| said.sign != LineSign::Keep;
        let first = part.lines.iter().position(is_change).unwrap_or(0);
        let last = part.lines.iter().rposition(is_change).unwrap_or(0);
        let (start, end) = (first.saturating_sub(above), (last + 1 + below).min(part.lines.len()));
        changed |= end - start < part.lines.len();
        part.lines = part.lines[start..end].to_vec();
        if part.old_lines().next().is_none() {
            return false;
        }
    }
    changed
}

/// Truncates a context line.
pub(crate) fn cut_off_lines(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let Some((part, at)) = context_line(draft, chance) else { return false };
    let said = &mut draft.parts[part].lines[at];
    let depth = indent(&said.text).len();
    let rest = said.text[depth..].chars().count();
    if rest < 20 {
        return false;
    }
    let kept = rest * (50 + chance.below(31)) / 100;
    let cut: String = said.text[depth..].chars().take(kept).collect();
    let end = chance.pick(&["", "...", " ..."]).unwrap_or("");
    said.text = format!("{}{}{end}", &said.text[..depth], cut.trim_end());
    true
}

/// Replaces context lines by `...`.
pub(crate) fn elide_context(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in 0..part.lines.len() {
        match runs.last_mut() {
            _ if part.lines[at].sign != LineSign::Keep => {}
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    // The line next to a change stays.
    let inner = |(start, end): (usize, usize)| {
        (start + usize::from(start > 0), end - usize::from(end < part.lines.len()))
    };
    let runs: Vec<(usize, usize)> =
        runs.into_iter().map(inner).filter(|(start, end)| start + 1 < *end).collect();
    let Some((start, end)) = chance.pick(&runs) else { return false };
    let mark = chance.pick(&["...", "// ...", "…"]).unwrap_or("...");
    let text = indent(&part.lines[start].text).to_owned() + mark;
    part.lines.splice(start..end, [PatchLine { sign: LineSign::Keep, text, cell: None }]);
    true
}
