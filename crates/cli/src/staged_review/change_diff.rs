//! The staged changes as a git diff.

use std::path::Path;

use runtime::patch::{FileContent, diff};
use staging::{Change, ChangeList, EntryKind, Stage};

use super::change_table::shown;
use config::OperationFault;
use session::staged_changes::stage_fault;

/// A larger file is not shown as text.
const MAX_SHOWN_BYTES: u64 = 4 << 20;

pub(crate) fn print_diff(stage: &Stage, list: &ChangeList) -> Result<(), OperationFault> {
    let directory = stage.working_directory();
    for change in &list.changes {
        terminal::print_diff(&diff_of(stage, change, &directory)?)?;
    }
    for folded in &list.folded {
        let files = folded.added + folded.modified + folded.removed;
        let name = shown(&folded.path, &directory);
        terminal::print_hint(&format!(
            "{name}/ has {files} more changed files, which are counted and not shown"
        ));
    }
    Ok(())
}

/// Returns the diff of one change.
pub(super) fn diff_of(stage: &Stage, change: &Change, directory: &Path) -> Result<String, OperationFault> {
    let name = shown(&change.path, directory);
    if change.entry != EntryKind::File {
        return Ok(format!("# {} {name}: {:?}\n", change.kind.as_str(), change.entry));
    }
    let Some((before, after)) = stage.texts(change, MAX_SHOWN_BYTES).map_err(|fault| stage_fault(&fault))?
    else {
        return Ok(format!("diff --git a/{name} b/{name}\nBinary files a/{name} and b/{name} differ\n"));
    };
    let content = |text: String, executable| FileContent { bytes: text.into_bytes().into(), executable };
    let before = change.old_size.map(|_| content(before, false));
    let after = change.new_size.map(|_| content(after, change.becomes_executable));
    Ok(diff(&name, None, before.as_ref(), after.as_ref()))
}
