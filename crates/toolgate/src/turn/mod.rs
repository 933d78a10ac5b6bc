//! What a turn changed, by a patch or by a command: files are remembered before it, and compared after it.

mod seen;
mod show;

use std::path::{Path, PathBuf};

use exec::fs::Door;
use policy::{Gate, Intent, Verdict};

use self::seen::{Changed, Seen};

/// How many files are named that take effect on the user's machine.
const MAX_SENTENCES: usize = 20;

/// Knows what files below a directory were like, and so what became of them. What ignore files hide, or rules deny to be
/// read, it does not look at.
#[derive(Debug)]
pub struct TurnDiffTracker {
    gate: Gate,
    root: PathBuf,
    seen: Seen,
}

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnDiff {
    /// All of it, as a git diff; empty if nothing has changed.
    pub text: String,
    /// How many files it is about.
    pub files: usize,
    /// Not every file could be looked at: there are too many.
    pub partial: bool,
}

impl TurnDiffTracker {
    /// Remembers what is below `root` now, as far as `gate` lets it be read.
    pub(crate) fn begin(gate: &Gate, root: &Path) -> Self {
        let mut tracker = Self { gate: gate.clone(), root: root.to_owned(), seen: Seen::default() };
        tracker.look();
        tracker
    }

    /// What changed since the last turn, and a new turn begins.
    pub fn turn(&mut self) -> TurnDiff {
        let before = self.seen.reach;
        let changed = self.look();
        let mut turn = show::between(&changed, before, self.seen.reach);
        if !turn.text.is_empty() {
            turn.text.insert_str(0, &self.taking_effect(&changed));
        }
        turn
    }

    /// A line about each changed file that takes effect on the user's machine by itself, as a comment of the diff.
    fn taking_effect(&self, changed: &[Changed]) -> String {
        let sentence = |changed: &Changed| {
            let file = self.gate.host_file(&self.root.join(changed.path()))?;
            changed.differs().then(|| format!("# {}\n", file.sentence(&changed.path().to_string_lossy())))
        };
        changed.iter().filter_map(sentence).take(MAX_SENTENCES).collect()
    }

    fn look(&mut self) -> Vec<Changed> {
        let Verdict::Allow(permit) = self.gate.decide("turn_diff", &Intent::read(&self.root)) else {
            return self.seen.nothing();
        };
        let door = Door::new(&permit);
        match door.look(&self.root) {
            Ok(start) => self.seen.look(&door, &start),
            Err(_) => self.seen.nothing(),
        }
    }
}
