//! Builds a model's instructions from Toolgate's own and the project's `AGENTS.md` files.
//!
//! The files are read with the tools' permissions.

use std::io::Read;
use std::path::{Path, PathBuf};

use agent::INSTRUCTIONS;
use runtime::fs::{ConfinedFs, FileKind};
use runtime::{Gate, Intent, Verdict};

/// The file name.
const FILE_NAME: &str = "AGENTS.md";
/// Bytes of all files together.
const MAX_TOTAL_BYTES: usize = 32 << 10;

/// Returns the instructions for a model in `cwd`: Toolgate's own, then the project's, from its top down. Only files
/// that tools may read are included.
pub(crate) fn model_instructions(gate: &Gate, cwd: &Path) -> String {
    let mut text = INSTRUCTIONS.to_owned();
    let mut room = MAX_TOTAL_BYTES;
    for file in candidate_files(cwd) {
        let Some(words) = read_file(gate, &file, room) else { continue };
        room -= words.len();
        let name = file.display();
        text.push_str(&format!(
            "\n\nWhat the project says in {name}, which the user wants you to heed:\n{words}"
        ));
    }
    text
}

/// Returns the candidate files: in `cwd` and above it, up to the top of the repository.
fn candidate_files(cwd: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for above in cwd.ancestors() {
        files.push(above.join(FILE_NAME));
        if runtime::fs::canonicalize(&above.join(".git")).is_ok() {
            files.reverse();
            return files;
        }
    }
    vec![cwd.join(FILE_NAME)]
}

fn read_file(gate: &Gate, file: &Path, room: usize) -> Option<String> {
    let Verdict::Allow(permit) = gate.decide("instructions", &Intent::read(file)) else { return None };
    let found = ConfinedFs::new(&permit).lookup(file).ok()?;
    if found.kind() != FileKind::File {
        return None;
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(room).unwrap_or(u64::MAX);
    found.open().ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text).filter(|text| !text.trim().is_empty() && text.len() <= room)
}
