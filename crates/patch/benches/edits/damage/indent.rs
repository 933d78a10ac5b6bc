//! Indentation that is not the file's.

use crate::chance::Chance;
use crate::draft::{Draft, Part, Said, Sign, indent};

fn is_blank(said: &Said) -> bool {
    said.text.trim().is_empty()
}

fn lines(draft: &mut Draft) -> impl Iterator<Item = &mut Said> {
    draft.parts.iter_mut().flat_map(|part| &mut part.lines).filter(|said| !is_blank(said))
}

/// Every line of the patch is indented by the same too much or too little.
pub(crate) fn shifted(draft: &mut Draft, chance: &mut Chance) -> bool {
    let tabs = lines(draft).filter(|said| said.text.starts_with('\t')).count();
    let spaces = lines(draft).filter(|said| said.text.starts_with(' ')).count();
    let by = if tabs > spaces { "\t".to_owned() } else { " ".repeat(1 << chance.below(4)) };
    let deeper = chance.once_in(2);
    if !deeper && !lines(draft).all(|said| said.text.starts_with(&by)) {
        return false;
    }
    for said in lines(draft) {
        said.text = if deeper { format!("{by}{}", said.text) } else { said.text[by.len()..].to_owned() };
    }
    draft.doubt |= draft.parts.iter().any(|part| part.old().all(is_blank));
    true
}

/// One line of context is indented too much or too little.
pub(crate) fn one_line(draft: &mut Draft, chance: &mut Chance) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let Some(at) = chance.of_these(&part.telling(Sign::Keep)) else { return false };
    let text = &part.lines[at].text;
    let by = 1 << chance.below(3);
    let text = match chance.once_in(2) {
        true => format!("{}{text}", " ".repeat(by)),
        false if text.starts_with(&" ".repeat(by)) => text[by..].to_owned(),
        false => return false,
    };
    part.lines[at].text = text;
    // What is wrong, one line or all the others, shows only where there are others.
    draft.doubt |= part.old().filter(|said| !is_blank(said)).count() < 3;
    true
}

/// The file is indented with spaces, and the patch with tabs.
pub(crate) fn tabs(draft: &mut Draft, chance: &mut Chance) -> bool {
    let width = if chance.once_in(4) { 2 } else { 4 };
    if lines(draft).any(|said| indent(&said.text).contains('\t')) {
        return false;
    }
    let mut changed = 0;
    for said in lines(draft) {
        let depth = indent(&said.text).len();
        changed += depth / width;
        let rest = &said.text[depth..];
        said.text = "\t".repeat(depth / width) + &" ".repeat(depth % width) + rest;
    }
    // What no old line shows, an added line may be meant to have.
    let lines = || draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.text.starts_with('\t'));
    let shown = lines().any(|said| said.sign != Sign::Add);
    changed > 0 && shown
}

/// The file is indented with tabs, and the patch with spaces.
pub(crate) fn spaces(draft: &mut Draft, chance: &mut Chance) -> bool {
    let width = chance.of_these(&[2, 4, 4, 8]).unwrap_or(4);
    let tabbed = |said: &Said| said.text.starts_with('\t');
    let pure = |said: &Said| tabbed(said) && indent(&said.text).bytes().all(|byte| byte == b'\t');
    // A line shows how wide a tab is if it has nothing but tabs.
    if !draft.parts.iter().flat_map(Part::old).any(pure) {
        return false;
    }
    let (mut doubt, mut changed) = (false, 0);
    for part in &mut draft.parts {
        for said in &mut part.lines {
            let blanks = indent(&said.text);
            let tabs = blanks.bytes().take_while(|byte| *byte == b'\t').count();
            let rest = blanks.len() - tabs;
            // Spaces that are the file's own could not be told from those of tabs.
            if rest >= width || blanks[tabs..].contains('\t') {
                if said.sign == Sign::Add {
                    return false;
                }
                doubt = true;
            }
            changed += tabs;
            said.text = " ".repeat(tabs * width) + &said.text[tabs..];
        }
    }
    draft.doubt |= doubt;
    changed > 0
}
