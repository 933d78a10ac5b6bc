//! What a patch makes of files, worked out before it is applied, for whoever is to see it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use toolgate::fs::{Door, FsError, Kind};
use toolgate::patch::{self, Change, Content, Memory, Plan};
use toolgate::{Gate, Intent, Place, Planned, Verdict};

use super::protocol::Diff;

/// The tool whose calls are patches.
const PATCH: &str = "apply_patch";
/// Bytes of all old and new texts of a call: an editor has to hold them, and read them in one message.
const MOST: usize = 1 << 20;

/// Reads what tools may read.
#[derive(Default)]
pub(super) struct Edits(OnceLock<Gate>);

impl Edits {
    /// Reads what `gate` lets through; nothing before.
    pub(super) fn within(&self, gate: &Gate) {
        let _set_once = self.0.set(gate.clone());
    }

    /// What `call` makes of files: nothing if it is no patch, does not fit, or is about files that may not be read.
    pub(super) fn of(&self, call: Planned<'_>) -> Option<Vec<Diff>> {
        let gate = self.0.get().filter(|_| call.tool == PATCH)?;
        let patch = patch::parse(&call.call.payload.arguments()).ok()?;
        let mut files = Vec::new();
        let mut room = MOST;
        for path in patch.paths() {
            let whole = located(call.place, path)?;
            match read(gate, &whole, room) {
                Before::Nothing => {}
                Before::Text(text) => {
                    room -= text.len();
                    files.push((path.to_owned(), text));
                }
                Before::Unknown => return None,
            }
        }
        let plan = Plan::of(&patch, &Memory::of(files)).ok()?;
        let diffs = plan.changes.iter().map(|change| diff(change, call.place));
        let diffs: Vec<Diff> = diffs.collect::<Option<_>>()?;
        let bytes: usize = diffs.iter().map(|diff| diff.new_text.len()).sum();
        (bytes <= MOST).then_some(diffs)
    }
}

fn located(place: &Place, path: &str) -> Option<PathBuf> {
    place.path("input", path).ok()
}

fn diff(change: &Change, place: &Place) -> Option<Diff> {
    let text = |content: &Content| String::from_utf8(content.bytes.to_vec()).ok();
    let old_text = change.before.as_ref().map(text).map_or(Some(None), |text| text.map(Some))?;
    let new_text = change.after.as_ref().map_or_else(|| Some(String::new()), text)?;
    Some(Diff { path: located(place, &change.path)?, old_text, new_text })
}

/// What is at a path.
enum Before {
    Nothing,
    Text(String),
    /// Nobody may know, or it is no text.
    Unknown,
}

fn read(gate: &Gate, file: &Path, room: usize) -> Before {
    let Verdict::Allow(permit) = gate.decide(PATCH, &Intent::read(file)) else { return Before::Unknown };
    let found = match Door::new(&permit).look(file) {
        Ok(found) if found.kind() == Kind::File => found,
        Err(FsError::NotFound { .. }) => return Before::Nothing,
        Ok(_) | Err(_) => return Before::Unknown,
    };
    let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let is_read = found.open().is_ok_and(|file| file.take(limit).read_to_end(&mut bytes).is_ok());
    match String::from_utf8(bytes) {
        Ok(text) if is_read && text.len() <= room => Before::Text(text),
        _ => Before::Unknown,
    }
}
