//! Characters that look like those of the file and are others.

use crate::chance::Chance;
use crate::draft::{Draft, Said, Sign};

/// A line as a printer sets it.
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

/// Quotes and dashes of the lines that should be there are set as a printer does.
pub(crate) fn quotes_in_old(draft: &mut Draft, chance: &mut Chance) -> bool {
    set(draft, chance, |said| said.sign != Sign::Add)
}

/// Quotes and dashes of all lines are set as a printer does.
pub(crate) fn quotes(draft: &mut Draft, chance: &mut Chance) -> bool {
    if !set(draft, chance, |_| true) {
        return false;
    }
    // What no old line shows, an added line may be meant to have.
    let odd = |said: &Said| said.text.chars().filter(|char| !char.is_ascii()).map(family).collect::<Vec<_>>();
    let lines = || draft.parts.iter().flat_map(|part| &part.lines);
    let shown: Vec<char> = lines().filter(|said| said.sign != Sign::Add).flat_map(odd).collect();
    lines().filter(|said| said.sign == Sign::Add).flat_map(odd).all(|char| shown.contains(&char))
}

fn family(char: char) -> char {
    match char {
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        other => other,
    }
}

fn set(draft: &mut Draft, chance: &mut Chance, which: impl Fn(&Said) -> bool) -> bool {
    let lines = || draft.parts.iter().flat_map(|part| &part.lines);
    if lines().any(|said| !said.text.is_ascii()) {
        return false;
    }
    let dashes = chance.once_in(2);
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines).filter(|said| which(said)) {
        let text = printed(&said.text, dashes);
        changed |= said.sign != Sign::Add && text != said.text;
        said.text = text;
    }
    changed
}

/// Spaces of lines that should be there do not break.
pub(crate) fn hard_spaces(draft: &mut Draft, chance: &mut Chance) -> bool {
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines) {
        if said.sign != Sign::Add && said.text.contains(' ') && !chance.once_in(3) {
            let depth = crate::draft::indent(&said.text).len();
            let (blanks, rest) = said.text.split_at(depth);
            let rest = rest.replace(' ', "\u{a0}");
            changed |= said.text[depth..] != rest;
            said.text = format!("{blanks}{rest}");
        }
    }
    changed
}

/// Lines of the patch end with blanks.
pub(crate) fn trailing_in_patch(draft: &mut Draft, chance: &mut Chance) -> bool {
    let mut changed = false;
    for said in draft.parts.iter_mut().flat_map(|part| &mut part.lines) {
        if said.sign != Sign::Add && chance.once_in(2) {
            said.text.push_str(if chance.once_in(3) { "\t" } else { "  " });
            changed = true;
        }
    }
    changed
}

/// Lines of the file end with blanks that the patch has not.
pub(crate) fn trailing_in_file(draft: &mut Draft, chance: &mut Chance) -> bool {
    let ids: Vec<usize> = draft
        .parts
        .iter()
        .flat_map(|part| &part.lines)
        .filter(|said| said.sign != Sign::Add)
        .filter_map(|said| said.cell)
        .filter(|_| chance.once_in(2))
        .collect();
    for id in &ids {
        if let Some(cell) = draft.cell_mut(*id) {
            cell.text.push_str("  ");
        }
    }
    // Without its newline a text ends before them.
    draft.manner.ended = true;
    !ids.is_empty()
}
