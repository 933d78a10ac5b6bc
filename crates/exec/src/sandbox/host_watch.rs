//! Watches one run for files that take effect on the user's machine: sets created ones aside, reports changed ones.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use policy::{HostFile, HostFileRole};

use super::changed_files::{ChangedSince, DirectoryIndex};
use super::file_stamp::FileStamp;
use super::git::PlantedFileWatch;
use super::scratch::Scratch;

/// The maximum number of changed files named in a reply; the others are counted.
const MAX_REPORTED_FILES: usize = 20;

/// The watch over one run. Dropping it ends the run's part in the overlap with others.
#[derive(Debug)]
pub(crate) struct HostFileWatch {
    planted_files: Arc<PlantedFileWatch>,
    /// Configuration that the user has created since the session began.
    accepted: BTreeSet<PathBuf>,
    /// Files whose changes are reported, with their state at the start of the run.
    watched_files: Vec<WatchedFile>,
    /// Finds new files of this kind.
    changed_since: ChangedSince,
    scratch: Arc<Scratch>,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    file: HostFile,
    before: Option<FileStamp>,
}

/// The watched writable roots, with their known files and directories.
#[derive(Debug)]
pub(crate) struct WatchedRoots<'a> {
    pub(crate) roots: &'a [PathBuf],
    /// Files whose changes are reported.
    pub(crate) watched_files: Vec<(PathBuf, HostFile)>,
    pub(crate) directories: Arc<Mutex<DirectoryIndex>>,
}

impl HostFileWatch {
    /// Begins to watch a run in the `watched` roots.
    pub(crate) fn begin(
        planted_files: Arc<PlantedFileWatch>,
        watched: WatchedRoots<'_>,
        scratch: Arc<Scratch>,
    ) -> Self {
        let WatchedRoots { roots, watched_files, directories } = watched;
        planted_files.begin_run();
        let accepted = scratch.overlap.begin();
        let watched = |(path, file): (PathBuf, HostFile)| {
            let before = FileStamp::read(&path);
            WatchedFile { path, file, before }
        };
        let watched_files = watched_files.into_iter().map(watched).collect();
        Self {
            planted_files,
            accepted,
            watched_files,
            changed_since: ChangedSince::start(roots, directories),
            scratch,
        }
    }

    /// Sets aside files that were planted by now, and returns notes about it.
    pub(crate) fn set_aside_new(&self) -> Vec<String> {
        self.scratch.mark_used();
        self.planted_files.defuse(&self.accepted, false)
    }

    /// Finishes the watch. `changed`: the run has changed git directories.
    pub(crate) fn finish(&mut self, changed: bool) -> Vec<String> {
        self.scratch.mark_used();
        let mut notes = self.planted_files.defuse(&self.accepted, changed);
        notes.extend(self.changed_files());
        notes
    }

    /// Returns notes about files that were changed or created since the last call, configuration first.
    pub(crate) fn changed_files(&mut self) -> Vec<String> {
        let known: HashSet<PathBuf> = self.watched_files.iter().map(|known| known.path.clone()).collect();
        let new = self.changed_since.find().into_iter().filter(|(path, _)| !known.contains(path));
        self.watched_files.extend(new.map(|(path, file)| WatchedFile { path, file, before: None }));
        let (mut configuration, mut code) = (Vec::new(), Vec::new());
        for WatchedFile { path, file, before } in &mut self.watched_files {
            let after = FileStamp::read(path);
            if after == *before {
                continue;
            }
            *before = after;
            // Another run of the session may have reported it.
            if after.is_some_and(|stamp| self.scratch.overlap.record_change(path, stamp)) {
                let sentence = format!("changed: {}", file.describe_change(&path.display().to_string()));
                match file.role {
                    HostFileRole::Configuration => configuration.push(sentence),
                    HostFileRole::Code => code.push(sentence),
                }
            }
        }
        let mut notes: Vec<String> = configuration.into_iter().chain(code).collect();
        let others = notes.len().saturating_sub(MAX_REPORTED_FILES);
        notes.truncate(MAX_REPORTED_FILES);
        if others > 0 {
            notes.push(format!("changed: {others} more files that take effect on your machine"));
        }
        notes
    }
}

impl Drop for HostFileWatch {
    fn drop(&mut self) {
        self.scratch.overlap.end();
    }
}
