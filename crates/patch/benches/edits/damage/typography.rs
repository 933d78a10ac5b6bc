//! Damage to typography: quotes, dashes, spaces and trailing whitespace that differ from the file's.

use crate::case_draft::{CaseDraft, LineSign, PatchLine};
use crate::seeded_random::CaseRandom;

/// Replaces quotes, and dashes if `dashes`, by typographic ones.
fn printed(line: &str, dashes: bool) -> String {
    let mut open = false;
    let mut before = ' ';
    let mut out = String::new();
    for char in line.chars() {
        out.push(match char {
            '"' => {
                open = !open;
                if open { '“' } else { '”' }
            }
            '\'' if before.is_alphanumeric() => '’',
            '\'' => '‘',
            '-' if dashes => '–',
            other => other,
        });
        before = char;
    }
    out
}

/// Makes the quotes and dashes of old lines typographic.
pub(crate) fn curly_quotes_in_old(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    set(draft, chance, |said| said.sign != LineSign::Add)
}

/// Makes the quotes and dashes of all lines typographic.
pub(crate) fn curly_quotes(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    if !set(draft, chance, |_| true) {
        return false;
    }
    // Without an old line as evidence, the typography of an added line may be meant literally.
    let odd =
        |said: &PatchLine| said.text.chars().filter(|char| !char.is_ascii()).map(family).collect::<Vec<_>>();
    let lines = || draft.parts.iter().flat_map(|part| &part.lines);
    let shown: Vec<char> = lines().filter(|said| said.sign != LineSign::Add).flat_map(odd).collect();
    lines().filter(|said| said.sign == LineSign::Add).flat_map(odd).all(|char| shown.contains(&char))
}

fn family(char: char) -> char {
    match char {
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        other => other,
    }
}

fn set(draft: &mut CaseDraft, chance: &mut CaseRandom, which: impl Fn(&PatchLine) -> bool) -> bool {
    let lines = || draft.parts.iter().flat_map(|part| &part.lines);
    if lines().any(|said| !said.text.is_ascii()) {
        return false;
    }
    let dashes = chance.once_in(2);
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines).filter(|said| which(said)) {
        let text = printed(&said.text, dashes);
        changed |= said.sign != LineSign::Add && text != said.text;
        said.text = text;
    }
    changed
}

/// Makes spaces in old lines no-break spaces.
pub(crate) fn no_break_spaces(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines) {
        if said.sign != LineSign::Add && said.text.contains(' ') && !chance.once_in(3) {
            let depth = crate::case_draft::indent(&said.text).len();
            let (blanks, rest) = said.text.split_at(depth);
            let rest = rest.replace(' ', "\u{a0}");
            changed |= said.text[depth..] != rest;
            said.text = format!("{blanks}{rest}");
        }
    }
    changed
}

/// Adds trailing whitespace to lines of the patch.
pub(crate) fn trailing_blanks_in_patch(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines) {
        if said.sign != LineSign::Add && chance.once_in(2) {
            said.text.push_str(if chance.once_in(3) { "\t" } else { "  " });
            changed = true;
        }
    }
    changed
}

/// Adds trailing whitespace to lines of the file.
pub(crate) fn trailing_blanks_in_file(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let ids: Vec<usize> = draft
        .parts
        .iter()
        .flat_map(|part| &part.lines)
        .filter(|said| said.sign != LineSign::Add)
        .filter_map(|said| said.cell)
        .filter(|_| chance.once_in(2))
        .collect();
    for id in &ids {
        if let Some(cell) = draft.cell_mut(*id) {
            cell.text.push_str("  ");
        }
    }
    // Without its newline, a text would end before them.
    draft.manner.ended = true;
    !ids.is_empty()
}
