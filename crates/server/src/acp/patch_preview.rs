//! Computes the file diffs of a patch before it is applied, so that the editor can show them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use runtime::fs::{ConfinedFs, FileKind, FsError};
use runtime::patch::{self, FileChange, FileContent, MemoryTree, PatchPlan};
use runtime::{Gate, Intent, PlannedCall, Verdict, WorkingDir};

use super::protocol::EditorFileDiff;

/// The tool whose calls are patches.
const PATCH_TOOL: &str = "apply_patch";
/// Maximum bytes of all old and new texts of a call: the editor receives and holds them in one message.
const MAX_TOTAL_BYTES: usize = 1 << 20;

/// Computes diffs from the files that the gate permits tools to read.
#[derive(Default)]
pub(super) struct PatchPreview(OnceLock<Gate>);

impl PatchPreview {
    /// Sets the gate. Without a gate there are no diffs.
    pub(super) fn set_gate(&self, gate: &Gate) {
        let _set_once = self.0.set(gate.clone());
    }

    /// Returns the diffs of `call`. Returns `None` if the call is not a patch, does not apply, exceeds the size
    /// limit, or touches files that may not be read.
    pub(super) fn preview_diffs(&self, call: PlannedCall<'_>) -> Option<Vec<EditorFileDiff>> {
        let gate = self.0.get().filter(|_| call.tool == PATCH_TOOL)?;
        let patch = patch::parse(&call.call.payload.arguments()).ok()?;
        let mut files = Vec::new();
        let mut room = MAX_TOTAL_BYTES;
        for path in patch.paths() {
            let whole = resolve_path(call.working_dir, path)?;
            match read_before(gate, &whole, room) {
                FileBefore::Absent => {}
                FileBefore::Text(text) => {
                    room -= text.len();
                    files.push((path.to_owned(), text));
                }
                FileBefore::Unknown => return None,
            }
        }
        let plan = PatchPlan::build(&patch, &MemoryTree::from_files(files)).ok()?;
        let diffs = plan.changes.iter().map(|change| file_diff(change, call.working_dir));
        let diffs: Vec<EditorFileDiff> = diffs.collect::<Option<_>>()?;
        let bytes: usize = diffs.iter().map(|diff| diff.new_text.len()).sum();
        (bytes <= MAX_TOTAL_BYTES).then_some(diffs)
    }
}

fn resolve_path(working_dir: &WorkingDir, path: &str) -> Option<PathBuf> {
    working_dir.resolve_path("input", path).ok()
}

fn file_diff(change: &FileChange, working_dir: &WorkingDir) -> Option<EditorFileDiff> {
    let text = |content: &FileContent| String::from_utf8(content.bytes.to_vec()).ok();
    let old_text = change.before.as_ref().map(text).map_or(Some(None), |text| text.map(Some))?;
    let new_text = change.after.as_ref().map_or_else(|| Some(String::new()), text)?;
    Some(EditorFileDiff { path: resolve_path(working_dir, &change.path)?, old_text, new_text })
}

/// The file at a path before the patch.
enum FileBefore {
    Absent,
    Text(String),
    /// The gate denies reading it, or it is no UTF-8 text file within the size limit.
    Unknown,
}

fn read_before(gate: &Gate, file: &Path, room: usize) -> FileBefore {
    let Verdict::Allow(permit) = gate.decide(PATCH_TOOL, &Intent::read(file)) else {
        return FileBefore::Unknown;
    };
    let found = match ConfinedFs::new(&permit).lookup(file) {
        Ok(found) if found.kind() == FileKind::File => found,
        Err(FsError::NotFound { .. }) => return FileBefore::Absent,
        Ok(_) | Err(_) => return FileBefore::Unknown,
    };
    let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let is_read = found.open().is_ok_and(|file| file.take(limit).read_to_end(&mut bytes).is_ok());
    match String::from_utf8(bytes) {
        Ok(text) if is_read && text.len() <= room => FileBefore::Text(text),
        _ => FileBefore::Unknown,
    }
}
