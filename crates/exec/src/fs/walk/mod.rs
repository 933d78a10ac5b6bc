//! Walking below a directory: what a walk is asked for, and how it goes about it.
//!
//! Directories are opened when their turn comes, from the descriptor of the start by their relative path, beneath
//! it and without links. The alternative, to keep each parent open and use `openat`, holds one descriptor for each
//! level of each thread, too many when only 256 are allowed and trees are deep; and it would follow a directory
//! that was moved away during the walk. The kernel resolves a cached path of ten names in about a microsecond.

mod alone;
mod listing;
mod queue;
mod together;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use policy::DenyRead;
use rustix::fs::Mode;

use super::ignores::{Budget, Layer};
use super::{Door, Entry, Found, FsError, Kind, ignores, sys};

/// The deepest directory that is listed. Below it lies nothing but an attack on whoever recurses.
const MAX_DEPTH: usize = 512;

/// After how many entries the caller is asked whether to stop: asking may take a lock.
const STOP_EVERY: usize = 16;

/// Whether a walk obeys ignore files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IgnoreFiles {
    /// Hides what `.gitignore`, `.ignore` and `.git/info/exclude` say, and does not descend into `.git`.
    #[default]
    Respect,
    /// Shows everything that may be read.
    Everything,
}

/// How a walk goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkOptions {
    /// Whether ignore files hide entries.
    pub ignore: IgnoreFiles,
    /// How many levels to show; `Some(1)` is what lies in the start itself.
    pub max_depth: Option<usize>,
    /// How many threads visit. One visits in order: by name, each directory followed by what is in it.
    pub threads: usize,
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on, into this entry if it is a directory.
    Continue,
    /// Go on, but not into this entry.
    Skip,
    /// End the walk, in all threads.
    Stop,
}

/// What a walk did not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walked {
    /// How many directories and entries could not be read, or lay too deep.
    pub unreadable: u64,
    /// How many entries a deny-read rule hid; what is below them is not counted.
    pub denied: u64,
    /// Whether it ended before everything was visited.
    pub stopped: bool,
}

impl Door {
    /// Visits everything below `start`, a directory, but not `start` itself. Links are shown, never followed.
    ///
    /// Each thread visits with its own `visitor()`, so that can hold buffers. `stop` is asked often; once it says
    /// yes the walk ends. With one thread the visits come in order and in the caller's thread.
    pub fn walk<V: FnMut(&Entry<'_>) -> Flow>(
        &self,
        start: &Found,
        options: &WalkOptions,
        stop: &(dyn Fn() -> bool + Sync),
        visitor: impl Fn() -> V + Sync,
    ) -> Result<Walked, FsError> {
        let walk = Walk::new(self, start, options, stop)?;
        let top = Dir { path: Vec::new(), depth: 0, rules: walk.rules_above(self, start) };
        if options.threads <= 1 {
            alone::run(&walk, top, &mut visitor());
        } else {
            together::run(&walk, top, options.threads, &visitor);
        }
        Ok(walk.outcome())
    }
}

/// A directory whose turn is to come.
#[derive(Debug, Clone)]
struct Dir {
    /// Relative to the start; empty for the start itself.
    path: Vec<u8>,
    depth: usize,
    /// The rules that hold around it; its own come on top when it is listed.
    rules: Option<Arc<Layer>>,
}

/// What all threads of one walk share.
struct Walk<'a> {
    start: OwnedFd,
    /// The real path of the start, ending with `/`.
    prefix: Vec<u8>,
    deny: &'a DenyRead,
    budget: Budget,
    ignore: IgnoreFiles,
    max_depth: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: AtomicBool,
    unreadable: AtomicU64,
    denied: AtomicU64,
}

impl<'a> Walk<'a> {
    fn new(
        door: &'a Door,
        start: &Found,
        options: &WalkOptions,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, FsError> {
        let path = || start.path().to_owned();
        if start.kind() != Kind::Directory {
            return Err(FsError::NotADirectory { path: path(), kind: start.kind() });
        }
        // "." is the directory itself wherever it is now, so this cannot be led astray.
        let fd = rustix::fs::openat(start.fd(), ".", sys::LIST, Mode::empty())
            .map_err(|errno| FsError::Io { path: path(), source: errno.into() })?;
        let mut prefix = start.path().as_os_str().as_encoded_bytes().to_vec();
        prefix.resize(ignores::offset(start.path()), b'/');
        Ok(Self {
            start: fd,
            prefix,
            deny: door.deny(),
            budget: Budget::default(),
            ignore: options.ignore,
            max_depth: options.max_depth.unwrap_or(usize::MAX),
            stop,
            stopped: AtomicBool::new(false),
            unreadable: AtomicU64::new(0),
            denied: AtomicU64::new(0),
        })
    }

    fn rules_above(&self, door: &Door, start: &Found) -> Option<Arc<Layer>> {
        match self.ignore {
            IgnoreFiles::Everything => None,
            IgnoreFiles::Respect => {
                let (root, _) = door.reach().locate(start.path()).ok()?;
                Layer::above(start, root.path(), (self.deny, &self.budget))
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

    fn outcome(&self) -> Walked {
        Walked {
            unreadable: self.unreadable.load(Ordering::Relaxed),
            denied: self.denied.load(Ordering::Relaxed),
            stopped: self.is_halted(),
        }
    }
}
