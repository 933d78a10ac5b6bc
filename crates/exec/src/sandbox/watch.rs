//! Watches one run for files that take effect on the user's machine: what it makes is set aside, what it changes is told.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use policy::HostFile;

use super::changed::ChangedSince;
use super::git::Strays;
use super::scratch::Scratch;
use super::stamp::FileStamp;

/// How many changed files an answer names; the others are counted.
const MAX_NAMED: usize = 20;

/// The watch over one run. Dropping it ends the run's part in the overlap with others.
#[derive(Debug)]
pub(crate) struct HostWatch {
    strays: Arc<Strays>,
    /// Configuration that the user has made since the session began.
    accepted: BTreeSet<PathBuf>,
    /// Files that are told when they change, as they were when the run began.
    known: Vec<WatchedFile>,
    /// Finds such files that are made anew.
    new: ChangedSince,
    scratch: Arc<Scratch>,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    file: HostFile,
    before: Option<FileStamp>,
}

impl HostWatch {
    /// A run begins, in the writable `roots`. Changes of the files in `known` are told.
    pub(crate) fn begin(
        strays: Arc<Strays>,
        known: &[(PathBuf, HostFile)],
        roots: &[PathBuf],
        scratch: Arc<Scratch>,
    ) -> Self {
        strays.begin();
        let accepted = scratch.overlap.begin();
        let watched = |(path, file): &(PathBuf, HostFile)| WatchedFile {
            path: path.clone(),
            file: file.clone(),
            before: FileStamp::of(path),
        };
        let known = known.iter().map(watched).collect();
        Self { strays, accepted, known, new: ChangedSince::now(roots), scratch }
    }

    /// Sets aside what was made by now, and says so.
    pub(crate) fn look(&self) -> Vec<String> {
        self.scratch.touch();
        self.strays.defuse(&self.accepted, false)
    }

    /// The run is over, and has `changed` git directories or not.
    pub(crate) fn finish(&mut self, changed: bool) -> Vec<String> {
        self.scratch.touch();
        let mut told = self.strays.defuse(&self.accepted, changed);
        told.extend(self.changed_files());
        told
    }

    /// The sentences about files that were changed or made since the last time.
    pub(crate) fn changed_files(&mut self) -> Vec<String> {
        for (path, file) in self.new.look() {
            if !self.known.iter().any(|known| known.path == path) {
                self.known.push(WatchedFile { path, file, before: None });
            }
        }
        let (mut told, mut others) = (Vec::new(), 0);
        for WatchedFile { path, file, before } in &mut self.known {
            let after = FileStamp::of(path);
            if after == *before {
                continue;
            }
            *before = after;
            match after {
                // Another run of the session has told it.
                Some(stamp) if !self.scratch.overlap.tell(path, stamp) => {}
                Some(_) if told.len() < MAX_NAMED => {
                    told.push(format!("changed: {}", file.sentence(&path.display().to_string())));
                }
                Some(_) => others += 1,
                None => {}
            }
        }
        if others > 0 {
            told.push(format!("changed: {others} more files that take effect on your machine"));
        }
        told
    }
}

impl Drop for HostWatch {
    fn drop(&mut self) {
        self.scratch.overlap.end();
    }
}
