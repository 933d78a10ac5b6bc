//! Watches one run for files that take effect on the user's machine: what it makes is set aside, what it changes is told.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use policy::HostFile;

use super::git::Strays;
use super::scratch::Scratch;
use super::stamp::FileStamp;

/// The watch over one run.
#[derive(Debug)]
pub(crate) struct HostWatch {
    strays: Arc<Strays>,
    /// Configuration that was there when the run began.
    accepted: BTreeSet<PathBuf>,
    /// Code that the user's programs run, as it was when the run began.
    code: Vec<WatchedCode>,
    scratch: Arc<Scratch>,
}

#[derive(Debug)]
struct WatchedCode {
    path: PathBuf,
    when: String,
    before: Option<FileStamp>,
}

impl HostWatch {
    /// A run begins.
    pub(crate) fn begin(strays: Arc<Strays>, code: &[(PathBuf, String)], scratch: Arc<Scratch>) -> Self {
        let watched = |(path, when): &(PathBuf, String)| WatchedCode {
            path: path.clone(),
            when: when.clone(),
            before: FileStamp::of(path),
        };
        let (accepted, code) = (strays.accepted(), code.iter().map(watched).collect());
        Self { strays, accepted, code, scratch }
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
        told.extend(self.changed_code());
        told
    }

    /// The sentences about code that was changed since the last time.
    pub(crate) fn changed_code(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        for WatchedCode { path, when, before } in &mut self.code {
            let after = FileStamp::of(path);
            if after != *before {
                *before = after;
                let file = HostFile::code(when.clone());
                told.extend(
                    after.map(|_| format!("changed: {}", file.sentence(&path.display().to_string()))),
                );
            }
        }
        told
    }
}
