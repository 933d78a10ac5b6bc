//! Damage: indentation that differs from the file's.

use crate::case_draft::{CaseDraft, DraftHunk, LineSign, PatchLine, indent};
use crate::seeded_random::CaseRandom;

fn is_blank(said: &PatchLine) -> bool {
    said.text.trim().is_empty()
}

fn lines(draft: &mut CaseDraft) -> impl Iterator<Item = &mut PatchLine> {
    draft.parts.iter_mut().flat_map(|part| &mut part.lines).filter(|said| !is_blank(said))
}

/// Indents every line of the patch too much or too little, by the same amount.
pub(crate) fn shift_all_lines(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
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
    draft.doubt |= draft.parts.iter().any(|part| part.old_lines().all(is_blank));
    true
}

/// Indents one context line too much or too little.
pub(crate) fn shift_one_line(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let part = chance.below(draft.parts.len());
    let part = &mut draft.parts[part];
    let Some(at) = chance.pick(&part.telling_lines(LineSign::Keep)) else { return false };
    let text = &part.lines[at].text;
    let by = 1 << chance.below(3);
    let text = match chance.once_in(2) {
        true => format!("{}{text}", " ".repeat(by)),
        false if text.starts_with(&" ".repeat(by)) => text[by..].to_owned(),
        false => return false,
    };
    part.lines[at].text = text;
    // Other lines are needed to show which is wrong, this line or all the others.
    draft.doubt |= part.old_lines().filter(|said| !is_blank(said)).count() < 3;
    true
}

/// Indents the patch with tabs for a file with spaces.
pub(crate) fn tabs_for_spaces(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
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
    // Without an old line as evidence, the tabs of an added line may be meant literally.
    let lines = || draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.text.starts_with('\t'));
    let shown = lines().any(|said| said.sign != LineSign::Add);
    changed > 0 && shown
}

/// Indents the patch with spaces for a file with tabs.
pub(crate) fn spaces_for_tabs(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let width = chance.pick(&[2, 4, 4, 8]).unwrap_or(4);
    let tabbed = |said: &PatchLine| said.text.starts_with('\t');
    let pure = |said: &PatchLine| tabbed(said) && indent(&said.text).bytes().all(|byte| byte == b'\t');
    // Only a line indented purely with tabs shows the width of a tab.
    if !draft.parts.iter().flat_map(DraftHunk::old_lines).any(pure) {
        return false;
    }
    let (mut doubt, mut changed) = (false, 0);
    for part in &mut draft.parts {
        for said in &mut part.lines {
            let blanks = indent(&said.text);
            let tabs = blanks.bytes().take_while(|byte| *byte == b'\t').count();
            let rest = blanks.len() - tabs;
            // The file's own spaces could not be told from converted tabs.
            if rest >= width || blanks[tabs..].contains('\t') {
                if said.sign == LineSign::Add {
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
