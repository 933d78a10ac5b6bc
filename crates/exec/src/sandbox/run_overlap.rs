//! Tracks overlapping runs of a session, so that a file created by one is not mistaken for the user's by the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::file_stamp::FileStamp;
use super::git::sys;
use super::placeholder;

/// The maximum number of remembered changes; a repeated report is better than a missed one.
const MAX_REMEMBERED_CHANGES: usize = 10_000;

/// The runs of one session, and the configuration that was missing when one of its cells was created.
#[derive(Debug, Default)]
pub(crate) struct RunOverlap(Mutex<OverlapState>);

#[derive(Debug, Default)]
struct OverlapState {
    /// The number of runs in progress.
    running: usize,
    /// Configuration that was missing once, with the user action that makes it take effect.
    missing: BTreeMap<PathBuf, String>,
    /// Missing configuration that existed when the first of the running commands began: the user has created it
    /// since.
    accepted: BTreeSet<PathBuf>,
    /// Changed files that were reported, with their state.
    reported_changes: BTreeMap<PathBuf, FileStamp>,
}

impl RunOverlap {
    /// Adds the `missing` configuration of another cell, and returns all of the session. A file that a running
    /// command has just created looks like the user's to the next cell.
    pub(crate) fn add_missing(&self, missing: Vec<(PathBuf, String)>) -> Vec<(PathBuf, String)> {
        let mut state = self.0.lock();
        state.missing.extend(missing);
        state.missing.iter().map(|(path, when)| (path.clone(), when.clone())).collect()
    }

    /// Begins a run. Returns the configuration that the user has created, i.e. that existed before the first of the
    /// overlapping runs.
    pub(crate) fn begin(&self) -> BTreeSet<PathBuf> {
        let mut state = self.0.lock();
        if state.running == 0 {
            let there = state.missing.keys().filter(|path| is_made(path)).cloned().collect();
            state.accepted = there;
        }
        state.running += 1;
        state.accepted.clone()
    }

    /// Records that the change of `path` to `stamp` is reported. Returns true if it is new.
    pub(crate) fn record_change(&self, path: &Path, stamp: FileStamp) -> bool {
        let mut state = self.0.lock();
        if state.reported_changes.len() >= MAX_REMEMBERED_CHANGES {
            state.reported_changes.clear();
        }
        state.reported_changes.insert(path.to_owned(), stamp) != Some(stamp)
    }

    /// Ends a run.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        state.running = state.running.saturating_sub(1);
    }
}

/// Returns true if `path` exists and is more than an empty placeholder directory.
pub(crate) fn is_made(path: &Path) -> bool {
    sys::is_there(path) && !placeholder::is_placeholder(path)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_running_command_makes_is_never_accepted() {
        let place = tempfile::tempdir().unwrap();
        let [mcp, agents, other] = [".mcp.json", "AGENTS.md", "x"].map(|name| place.path().join(name));
        let overlap = RunOverlap::default();
        overlap.add_missing(vec![(mcp.clone(), String::new()), (agents.clone(), String::new())]);
        std::fs::write(&agents, "the user's").unwrap();
        assert_eq!(overlap.begin(), BTreeSet::from([agents.clone()]));
        std::fs::write(&mcp, "of the first command").unwrap();
        assert_eq!(overlap.begin(), BTreeSet::from([agents.clone()]));
        // A cell that is created meanwhile knows of it, though it exists by now.
        assert_eq!(overlap.add_missing(vec![(other, String::new())]).len(), 3);
        overlap.end();
        assert_eq!(overlap.begin(), BTreeSet::from([agents.clone()]));
        overlap.end();
        overlap.end();
        assert_eq!(overlap.begin(), BTreeSet::from([agents, mcp]));
    }
}
