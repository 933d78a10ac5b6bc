//! A tree on disk: reached by open directories, judged by real paths, changed all at once or not at all.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod commit;
mod moves;
mod name;
mod plan;
mod record;
mod recover;
mod resolve;
mod stage;
mod sys;

pub use recover::{Outcome, Recovered, recover};

use crate::tree::Step;

/// What is to be done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its bytes and attributes are read.
    Read,
    /// It is made, changed or removed.
    Write,
}

/// Says whether the file at a real path may be touched; the error is a sentence that says why not.
pub type Judge = Arc<dyn Fn(&Path, Access) -> Result<(), String> + Send + Sync>;

/// What to do about a file that has other names, for whoever has no other way.
const WRITE_IN_PLACE: &str = "change it with a command that writes in place";

/// A tree of files on disk.
pub struct Disk {
    root: PathBuf,
    given: PathBuf,
    fd: OwnedFd,
    judge: Option<Judge>,
    links: HardLinks,
    advice: &'static str,
}

/// What a commit has just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone<'a> {
    /// What will be there is on disk, beside where it will be.
    Written(&'a Step),
    /// It is there, or gone.
    Placed(&'a Step),
}

/// What to do with a file that has other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HardLinks {
    Refuse,
    Break,
}

impl Disk {
    /// The tree in the directory `root`. Nothing outside of it can be touched.
    pub fn at(root: &Path) -> io::Result<Self> {
        let fd = sys::open_dir(rustix::fs::CWD, root, sys::Links::Follow)?;
        let real = sys::real_path(fd.as_fd())?;
        let given = if root.is_absolute() { root.to_owned() } else { real.clone() };
        Ok(Self { root: real, given, fd, judge: None, links: HardLinks::Refuse, advice: WRITE_IN_PLACE })
    }

    /// Lets `judge` say what may be touched, inside the root and outside of it.
    #[must_use]
    pub fn judged_by(mut self, judge: Judge) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Says whether a file that has other names may get a content of its own; the other names keep the old one.
    #[must_use]
    pub fn breaking_links(mut self, may: bool) -> Self {
        self.links = if may { HardLinks::Break } else { HardLinks::Refuse };
        self
    }

    /// Says, in the words of whoever reads it, what to do about a file that has other names.
    #[must_use]
    pub fn advising(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    /// Where the root really is.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("root", &self.root).field("links", &self.links).finish_non_exhaustive()
    }
}
