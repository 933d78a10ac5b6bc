//! Tracks the file changes of a turn, by patches and commands, by comparing snapshots before and after it.

mod file_snapshot;
mod render_diff;

use std::path::{Path, PathBuf};

use exec::fs::ConfinedFs;
use policy::{Gate, Intent, Verdict};

use self::file_snapshot::{ChangedFile, FileSnapshot};

/// Maximum number of lines about host files.
const MAX_HOST_FILE_LINES: usize = 20;

/// Remembers the files below a directory and reports their changes. Skips ignored files and files that rules deny to
/// read.
#[derive(Debug)]
pub struct TurnDiffTracker {
    gate: Gate,
    root: PathBuf,
    snapshot: FileSnapshot,
}

/// The changes of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnDiff {
    /// All changes as a git diff; empty if there are none.
    pub text: String,
    /// Number of changed files.
    pub files: usize,
    /// Some files were not examined, because there are too many.
    pub partial: bool,
}

impl TurnDiffTracker {
    /// Records the files below `root` that `gate` permits to read.
    pub(crate) fn start(gate: &Gate, root: &Path) -> Self {
        let mut tracker =
            Self { gate: gate.clone(), root: root.to_owned(), snapshot: FileSnapshot::default() };
        tracker.rescan();
        tracker
    }

    /// Returns the changes since the last turn, and begins a new one.
    pub fn finish_turn(&mut self) -> TurnDiff {
        let before = self.snapshot.coverage;
        let changed = self.rescan();
        let mut turn = render_diff::diff_between(&changed, before, self.snapshot.coverage);
        if !turn.text.is_empty() {
            turn.text.insert_str(0, &self.host_file_comments(&changed));
        }
        turn
    }

    /// Returns a diff comment for each changed file that takes effect on the user's machine by itself.
    fn host_file_comments(&self, changed: &[ChangedFile]) -> String {
        let sentence = |changed: &ChangedFile| {
            let file = self.gate.host_file(&self.root.join(changed.path()))?;
            changed
                .adds_or_changes()
                .then(|| format!("# {}\n", file.describe_change(&changed.path().to_string_lossy())))
        };
        changed.iter().filter_map(sentence).take(MAX_HOST_FILE_LINES).collect()
    }

    fn rescan(&mut self) -> Vec<ChangedFile> {
        let Verdict::Allow(permit) = self.gate.decide("turn_diff", &Intent::read(&self.root)) else {
            return self.snapshot.clear();
        };
        let fs = ConfinedFs::new(&permit);
        match fs.lookup(&self.root) {
            Ok(start) => self.snapshot.scan(&fs, &start),
            Err(_) => self.snapshot.clear(),
        }
    }
}
