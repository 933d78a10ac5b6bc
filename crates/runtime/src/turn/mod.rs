//! Tracks the file changes of a turn, by patches and commands, by comparing snapshots before and after it.

mod file_snapshot;
mod render_diff;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use exec::fs::ConfinedFs;
use policy::{Gate, Intent, Verdict};

use self::file_snapshot::{ChangedFile, FileSnapshot, ScanCoverage, SnapshotFile};

/// Maximum number of lines about host files.
const MAX_HOST_FILE_LINES: usize = 20;

/// Remembers the files below a directory and reports their changes. Skips ignored files and files that rules deny to
/// read.
#[derive(Debug)]
pub struct TurnDiffTracker {
    gate: Gate,
    root: PathBuf,
    snapshot: FileSnapshot,
    /// The files of this turn that may have changed.
    changed: BTreeMap<OsString, FileHistory>,
    /// The coverage of the last scan of the earlier turn.
    coverage_before: ScanCoverage,
}

/// A file before the turn and at the last scan.
#[derive(Debug)]
struct FileHistory {
    before: Option<SnapshotFile>,
    after: Option<SnapshotFile>,
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
        let mut tracker = Self {
            gate: gate.clone(),
            root: root.to_owned(),
            snapshot: FileSnapshot::default(),
            changed: BTreeMap::new(),
            coverage_before: ScanCoverage::default(),
        };
        tracker.rescan();
        tracker.begin_turn();
        tracker
    }

    /// Returns the changes since the last turn, and begins a new one.
    pub fn finish_turn(&mut self) -> TurnDiff {
        let turn = self.peek_turn();
        self.begin_turn();
        turn
    }

    /// Returns the changes since the last turn, which goes on.
    pub fn peek_turn(&mut self) -> TurnDiff {
        for ChangedFile { path, before, after } in self.rescan() {
            self.changed.entry(path).or_insert(FileHistory { before, after: None }).after = after;
        }
        // A file that was made and removed again is no change.
        let of_turn = self.changed.iter().filter(|(_, file)| file.before.is_some() || file.after.is_some());
        let changed: Vec<ChangedFile> = of_turn
            .map(|(path, FileHistory { before, after })| {
                let (before, after) = (before.clone(), after.clone());
                ChangedFile { path: path.clone(), before, after }
            })
            .collect();
        let mut turn = render_diff::diff_between(&changed, self.coverage_before, self.snapshot.coverage);
        if !turn.text.is_empty() {
            turn.text.insert_str(0, &self.host_file_comments(&changed));
        }
        turn
    }

    fn begin_turn(&mut self) {
        self.changed.clear();
        self.coverage_before = self.snapshot.coverage;
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
