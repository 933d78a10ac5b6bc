//! Damage to line ends, byte order marks and the wrapper of a patch.

use crate::chance::Chance;
use crate::draft::{Cell, Draft, Ending, Sign, There, Wrap};

/// Gives the file Windows line ends.
pub(crate) fn windows_file(draft: &mut Draft, _: &mut Chance) -> bool {
    for cell in &mut draft.cells {
        cell.ending = Ending::Windows;
    }
    true
}

/// Gives the patch Windows line ends.
pub(crate) fn windows_patch(draft: &mut Draft, _: &mut Chance) -> bool {
    draft.manner.windows = true;
    draft.cells.iter().all(|cell| cell.ending == Ending::Unix)
}

/// Mixes both line ends in the file.
pub(crate) fn mixed(draft: &mut Draft, chance: &mut Chance) -> bool {
    let one_in = 2 + chance.below(4);
    draft.manner.ended = true;
    for cell in &mut draft.cells {
        cell.ending = match cell.there {
            There::After => Ending::Any,
            There::Both | There::Before | There::Open if chance.once_in(one_in) => Ending::Windows,
            There::Both | There::Before | There::Open => Ending::Unix,
        };
    }
    true
}

/// Adds a byte order mark to the file.
pub(crate) fn mark(draft: &mut Draft, chance: &mut Chance) -> bool {
    draft.bom = true;
    let rows = draft.rows();
    let first = rows.first().map(|cell| cell.id);
    let at_top = draft.parts.iter().flat_map(|part| &part.lines).any(|said| said.cell == first);
    at_top || chance.once_in(20)
}

/// Removes the file's last newline.
pub(crate) fn bare(draft: &mut Draft, chance: &mut Chance) -> bool {
    draft.bare = true;
    let ends_blank = |cells: Vec<&Cell>| cells.last().is_none_or(|cell| cell.text.is_empty());
    if ends_blank(draft.rows()) || ends_blank(draft.wanted(false)) {
        return false;
    }
    let last = draft.cells.last().map(|cell| cell.id);
    let at_end = draft.parts.iter().flat_map(|part| &part.lines).any(|said| said.cell == last);
    // To append after such a line, a diff removes it and adds it again. Models do not know that.
    let appends = draft.parts.last().is_some_and(|part| {
        let before = part.lines.iter().rfind(|said| said.sign != Sign::Add);
        before.is_some_and(|said| said.sign == Sign::Keep)
            && part.lines.last().is_some_and(|said| said.sign == Sign::Add)
    });
    draft.manner.marks_bare &= !appends;
    at_end || chance.once_in(40)
}

/// Removes the leading space of blank context lines.
pub(crate) fn tight(draft: &mut Draft, _: &mut Chance) -> bool {
    draft.manner.tight = true;
    let mut lines = draft.parts.iter().flat_map(|part| &part.lines);
    lines.any(|said| said.sign == Sign::Keep && said.text.is_empty())
}

/// Wraps the patch in a fence, a here-document or JSON.
pub(crate) fn wrapped(draft: &mut Draft, chance: &mut Chance) -> bool {
    let wraps = [
        Wrap::Fence(""),
        Wrap::Fence("diff"),
        Wrap::Fence("patch"),
        Wrap::Heredoc("<<'EOF'"),
        Wrap::Heredoc("<<EOF"),
        Wrap::Heredoc("<<\"EOF\""),
        Wrap::Heredoc("apply_patch <<'EOF'"),
        Wrap::Json,
    ];
    draft.manner.wrap = chance.of_these(&wraps).unwrap_or(Wrap::None);
    true
}
