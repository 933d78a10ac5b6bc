//! Damage to line ends, byte order marks and the wrapper of a patch.

use crate::case_draft::{CaseDraft, DraftLine, DraftLineEnd, LinePresence, LineSign, PatchWrapper};
use crate::seeded_random::CaseRandom;

/// Gives the file Windows line ends.
pub(crate) fn crlf_file(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    for cell in &mut draft.cells {
        cell.ending = DraftLineEnd::Windows;
    }
    true
}

/// Gives the patch Windows line ends.
pub(crate) fn crlf_patch(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    draft.manner.windows = true;
    draft.cells.iter().all(|cell| cell.ending == DraftLineEnd::Unix)
}

/// Mixes both line ends in the file.
pub(crate) fn mixed_line_ends(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let one_in = 2 + chance.below(4);
    draft.manner.ended = true;
    for cell in &mut draft.cells {
        cell.ending = match cell.there {
            LinePresence::After => DraftLineEnd::Any,
            LinePresence::Both | LinePresence::Before | LinePresence::Open if chance.once_in(one_in) => {
                DraftLineEnd::Windows
            }
            LinePresence::Both | LinePresence::Before | LinePresence::Open => DraftLineEnd::Unix,
        };
    }
    true
}

/// Adds a byte order mark to the file.
pub(crate) fn add_bom(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    draft.bom = true;
    let rows = draft.rows();
    let first = rows.first().map(|cell| cell.id);
    let at_top = draft.parts.iter().flat_map(|part| &part.lines).any(|said| said.cell == first);
    at_top || chance.once_in(20)
}

/// Removes the file's last newline.
pub(crate) fn drop_last_newline(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    draft.bare = true;
    let ends_blank = |cells: Vec<&DraftLine>| cells.last().is_none_or(|cell| cell.text.is_empty());
    if ends_blank(draft.rows()) || ends_blank(draft.expected_lines(false)) {
        return false;
    }
    let last = draft.cells.last().map(|cell| cell.id);
    let at_end = draft.parts.iter().flat_map(|part| &part.lines).any(|said| said.cell == last);
    // To append after such a line, a diff removes it and adds it again. Models do not know that.
    let appends = draft.parts.last().is_some_and(|part| {
        let before = part.lines.iter().rfind(|said| said.sign != LineSign::Add);
        before.is_some_and(|said| said.sign == LineSign::Keep)
            && part.lines.last().is_some_and(|said| said.sign == LineSign::Add)
    });
    draft.manner.marks_bare &= !appends;
    at_end || chance.once_in(40)
}

/// Removes the leading space of blank context lines.
pub(crate) fn drop_blank_prefix(draft: &mut CaseDraft, _: &mut CaseRandom) -> bool {
    draft.manner.tight = true;
    let mut lines = draft.parts.iter().flat_map(|part| &part.lines);
    lines.any(|said| said.sign == LineSign::Keep && said.text.is_empty())
}

/// Wraps the patch in a fence, a here-document or JSON.
pub(crate) fn wrap_patch(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let wraps = [
        PatchWrapper::Fence(""),
        PatchWrapper::Fence("diff"),
        PatchWrapper::Fence("patch"),
        PatchWrapper::Heredoc("<<'EOF'"),
        PatchWrapper::Heredoc("<<EOF"),
        PatchWrapper::Heredoc("<<\"EOF\""),
        PatchWrapper::Heredoc("apply_patch <<'EOF'"),
        PatchWrapper::Json,
    ];
    draft.manner.wrap = chance.pick(&wraps).unwrap_or(PatchWrapper::None);
    true
}
