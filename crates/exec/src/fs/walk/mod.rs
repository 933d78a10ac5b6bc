//! Directory walk: options, results and shared state.
//!
//! Each directory is opened when its turn comes, by its path relative to the start's descriptor, beneath it and
//! without links. The alternative keeps each parent open and uses `openat`. That holds one descriptor for each level
//! of each thread, too many for a limit of 256 and deep trees. It would also follow a directory that was moved away
//! during the walk. The kernel resolves a cached path of ten names in about a microsecond.

mod directory_entries;
mod parallel;
mod sequential;
mod work_queue;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use policy::DenyRead;
use rustix::fs::Mode;

use super::ignore_rules::{IgnoreBudget, IgnoreRules};
use super::{ConfinedFs, FileHandle, FileKind, FsError, WalkEntry, ignore_rules, sys};

/// The maximum depth of a listed directory. A deeper tree can only be an attack on recursive programs.
const MAX_DEPTH: usize = 512;

/// The number of entries between two checks of `stop`, which may take a lock.
const ENTRIES_PER_STOP_CHECK: usize = 16;

/// The treatment of ignore files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IgnoreFiles {
    /// Hides the entries that `.gitignore`, `.ignore` and `.git/info/exclude` match, and does not descend into
    /// `.git`.
    #[default]
    Respect,
    /// Shows every entry that may be read.
    Everything,
}

/// Options of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOptions {
    /// The treatment of ignore files.
    pub ignore: IgnoreFiles,
    /// The number of levels to show; `Some(1)` shows only the entries of the start directory.
    pub max_depth: Option<usize>,
    /// The number of threads. A single thread visits in order: by name, depth first.
    pub threads: usize,
}

/// A visitor's decision about the rest of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkControl {
    /// Continue, and descend into this entry if it is a directory.
    Continue,
    /// Continue, but do not descend into this entry.
    Skip,
    /// End the walk in all threads.
    Stop,
}

/// Counts of the entries that a walk did not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalkSummary {
    /// The number of directories and entries that could not be read or were too deep.
    pub unreadable: u64,
    /// The number of entries that a deny-read rule hid, not counting their descendants.
    pub denied: u64,
    /// True if the walk ended before it visited everything.
    pub stopped: bool,
}

impl ConfinedFs {
    /// Visits everything below the directory `start`, excluding `start`. Links are shown, never followed.
    ///
    /// Each thread visits with its own `visitor()`, which can hold buffers. `stop` is called often; once it returns
    /// true, the walk ends. With one thread, the visits are ordered and run in the caller's thread.
    pub fn walk<V: FnMut(&WalkEntry<'_>) -> WalkControl>(
        &self,
        start: &FileHandle,
        options: &WalkOptions,
        stop: &(dyn Fn() -> bool + Sync),
        visitor: impl Fn() -> V + Sync,
    ) -> Result<WalkSummary, FsError> {
        let walk = SharedWalk::new(self, start, options, stop)?;
        let top = PendingDirectory { path: Vec::new(), depth: 0, rules: walk.ancestor_rules(self, start) };
        if options.threads <= 1 {
            sequential::run(&walk, top, &mut visitor());
        } else {
            parallel::run(&walk, top, options.threads, &visitor);
        }
        Ok(walk.summary())
    }
}

/// A directory that is queued for listing.
#[derive(Debug, Clone)]
struct PendingDirectory {
    /// Relative to the start; empty for the start itself.
    path: Vec<u8>,
    depth: usize,
    /// The rules of its ancestors. Its own rules are added when it is listed.
    rules: Option<Arc<IgnoreRules>>,
}

/// The state shared by all threads of one walk.
struct SharedWalk<'a> {
    start: OwnedFd,
    /// The real path of the start, ending with `/`.
    prefix: Vec<u8>,
    deny: &'a DenyRead,
    budget: IgnoreBudget,
    ignore: IgnoreFiles,
    max_depth: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: AtomicBool,
    unreadable: AtomicU64,
    denied: AtomicU64,
}

impl<'a> SharedWalk<'a> {
    fn new(
        fs: &'a ConfinedFs,
        start: &FileHandle,
        options: &WalkOptions,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, FsError> {
        let path = || start.path().to_owned();
        if start.kind() != FileKind::Directory {
            return Err(FsError::NotADirectory { path: path(), kind: start.kind() });
        }
        // "." is the directory itself, even if it was moved: this cannot be redirected.
        let fd = rustix::fs::openat(start.fd(), ".", sys::LIST, Mode::empty())
            .map_err(|errno| FsError::Io { path: path(), source: errno.into() })?;
        let mut prefix = start.path().as_os_str().as_encoded_bytes().to_vec();
        prefix.resize(ignore_rules::relative_offset(start.path()), b'/');
        Ok(Self {
            start: fd,
            prefix,
            deny: fs.deny(),
            budget: IgnoreBudget::default(),
            ignore: options.ignore,
            max_depth: options.max_depth.unwrap_or(usize::MAX),
            stop,
            stopped: AtomicBool::new(false),
            unreadable: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        })
    }

    fn ancestor_rules(&self, fs: &ConfinedFs, start: &FileHandle) -> Option<Arc<IgnoreRules>> {
        match self.ignore {
            IgnoreFiles::Everything => None,
            IgnoreFiles::Respect => {
                let (root, _) = fs.read_scope().locate(start.path()).ok()?;
                IgnoreRules::for_ancestors(start, root.path(), (self.deny, &self.budget))
            }
        }
    }

    fn halt(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_halted(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn should_stop(&self) -> bool {
        if !self.is_halted() && (self.stop)() {
            self.halt();
        }
        self.is_halted()
    }

    fn count_unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    fn summary(&self) -> WalkSummary {
        WalkSummary {
            unreadable: self.unreadable.load(Ordering::Relaxed),
            denied: self.denied.load(Ordering::Relaxed),
            stopped: self.is_halted(),
        }
    }
}
