//! Rejects edits that add escapes or entities which a repair of another edit in the patch proves to be mistakes.

use std::collections::HashSet;

use super::{RepairKind, entities, escapes};
use crate::edit::{EditAction, FileEdit, Hunk, HunkLine};
use crate::engine_part::EnginePart;
use crate::fault::PatchFault;
use crate::matching::MatchPass;
use crate::search_replace;

/// The number of characters of a line that an error shows.
const MAX_SHOWN_CHARS: usize = 60;
/// The mistakes that one edit can prove for others. Line numbers and missing prefixes concern each file alone.
const SHARED_REPAIRS: [RepairKind; 2] = [RepairKind::Escapes, RepairKind::Entities];

/// The edits of a patch that matched only after a repair, with its kind.
#[derive(Debug, Default)]
pub(crate) struct RepairEvidence(HashSet<(usize, RepairKind)>);

impl RepairEvidence {
    /// Records the repairs of the edit with this index, from its match passes.
    pub(crate) fn record_edit(&mut self, edit: usize, passes: impl Iterator<Item = MatchPass>) {
        let read = passes
            .filter_map(|pass| SHARED_REPAIRS.into_iter().find(|how| pass == MatchPass::Repaired(*how)));
        self.0.extend(read.map(|how| (edit, how)));
    }

    /// Returns errors for edits that would add text with a mistake that another edit proves.
    pub(crate) fn unrepaired_edits(&self, edits: &[FileEdit]) -> Vec<PatchFault> {
        let proven: HashSet<RepairKind> = self.0.iter().map(|(_, how)| *how).collect();
        let fault = |(index, edit): (usize, &FileEdit)| {
            let read = |how: &RepairKind| self.0.contains(&(index, *how));
            let mut ways = SHARED_REPAIRS.into_iter().filter(|how| proven.contains(how) && !read(how));
            let (kind, line) = ways
                .find_map(|how| Some((how, find_unrepaired_line(edit, how)?)))
                .filter(|_| EnginePart::SharedEvidence.is_on())?;
            let (line, what): (String, _) =
                (line.trim().chars().take(MAX_SHOWN_CHARS).collect(), kind.ignored_difference());
            let what = format!(
                "would get `{line}` as the patch has it, and another edit of the patch proves that it is written with {what}; write all of it without"
            );
            Some(PatchFault::for_path(edit, &edit.path, what))
        };
        edits.iter().enumerate().filter_map(fault).collect()
    }
}

/// Returns a line that `edit` adds and that contains the mistake, unless its old lines contain it too.
fn find_unrepaired_line(edit: &FileEdit, kind: RepairKind) -> Option<String> {
    let whole = |content: &str| {
        let lines = content.lines().map(|line| HunkLine::Add(line.to_owned())).collect();
        vec![Hunk { lines, ..Hunk::default() }]
    };
    let hunks = match &edit.action {
        EditAction::Write { content, .. } | EditAction::Create { content, .. } => whole(content),
        EditAction::Update { hunks, .. } => hunks.clone(),
        EditAction::Replace { old, new, .. } => vec![search_replace::hunk_from_texts(old, new)],
        EditAction::Delete { .. } => return None,
    };
    let is_raw = |line: &&str| match kind {
        RepairKind::Entities => entities::decode_line(line) != **line,
        RepairKind::Escapes => escapes::unescape_quotes(line) != **line,
        RepairKind::MissingPrefix | RepairKind::LineNumbers => false,
    };
    if super::all_old_lines(&hunks).any(|line| is_raw(&line)) {
        return None;
    }
    super::all_added_lines(&hunks).find(is_raw).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the errors for edits that replace `old` by `new`, if the first was repaired as `how`.
    fn faults_for(how: RepairKind, edits: &[(&str, &str)]) -> Vec<String> {
        let edit = |(old, new): &(&str, &str)| {
            let action = EditAction::Replace { old: (*old).to_owned(), new: (*new).to_owned(), all: false };
            FileEdit { path: "f".to_owned(), line: 1, action, blob_ids: None }
        };
        let edits: Vec<FileEdit> = edits.iter().map(edit).collect();
        let landed: Vec<(usize, MatchPass)> = (0..edits.len())
            .map(|at| (at, if at == 0 { MatchPass::Repaired(how) } else { MatchPass::Exact }))
            .collect();
        let mut proofs = RepairEvidence::default();
        landed.iter().for_each(|(at, pass)| proofs.record_edit(*at, [*pass].into_iter()));
        proofs.unrepaired_edits(&edits).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn what_one_edit_proves_holds_for_the_others() {
        let entities = ("a -&gt; b", "a -&gt; c");
        assert_eq!(faults_for(RepairKind::Entities, &[entities, ("one();", "two::&lt;u8&gt;();")]).len(), 1);
        assert_eq!(
            faults_for(RepairKind::Escapes, &[("f(\\\"a\\\")", "f()"), ("x", "f(\\\"b\\\")")]).len(),
            1
        );
    }

    #[test]
    fn what_is_plain_or_the_files_own_is_left() {
        let entities = ("a -&gt; b", "a -&gt; c");
        assert_eq!(faults_for(RepairKind::Entities, &[entities, ("one();", "two();")]), [""; 0]);
        assert_eq!(faults_for(RepairKind::Entities, &[entities, ("<p>&lt;</p>", "<p>&gt;</p>")]), [""; 0]);
        assert_eq!(faults_for(RepairKind::Entities, &[entities, ("x", "f(\\\"b\\\")")]), [""; 0]);
        assert_eq!(faults_for(RepairKind::LineNumbers, &[("1: a", "1: b"), ("c", "2: d")]), [""; 0]);
    }
}
