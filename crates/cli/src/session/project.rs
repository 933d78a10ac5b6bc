//! What a project tells models about itself: its `AGENTS.md`, read as the tools read.

use std::io::Read;
use std::path::{Path, PathBuf};

use agent::INSTRUCTIONS;
use toolgate::fs::{Door, Kind};
use toolgate::{Gate, Intent, Verdict};

/// The file.
const NAME: &str = "AGENTS.md";
/// Bytes of all of them together.
const MOST: usize = 32 << 10;

/// What a model in `cwd` is told: our own words, and those of the project, from its top down. Only what tools may read is read.
pub(super) fn instructions(gate: &Gate, cwd: &Path) -> String {
    let mut text = INSTRUCTIONS.to_owned();
    let mut room = MOST;
    for file in files(cwd) {
        let Some(words) = read(gate, &file, room) else { continue };
        room -= words.len();
        let name = file.display();
        text.push_str(&format!(
            "\n\nWhat the project says in {name}, which the user wants you to heed:\n{words}"
        ));
    }
    text
}

/// Where such files may be: in `cwd` and above it, up to where the repository begins.
fn files(cwd: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for above in cwd.ancestors() {
        files.push(above.join(NAME));
        if toolgate::fs::real(&above.join(".git")).is_ok() {
            files.reverse();
            return files;
        }
    }
    vec![cwd.join(NAME)]
}

fn read(gate: &Gate, file: &Path, room: usize) -> Option<String> {
    let Verdict::Allow(permit) = gate.decide("instructions", &Intent::read(file)) else { return None };
    let found = Door::new(&permit).look(file).ok()?;
    if found.kind() != Kind::File {
        return None;
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(room).unwrap_or(u64::MAX);
    found.open().ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text).filter(|text| !text.trim().is_empty() && text.len() <= room)
}
