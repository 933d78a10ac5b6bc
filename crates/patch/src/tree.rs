//! Where the files of a patch are: what planning looks at, and what a commit is made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by the names that a patch calls them.
pub trait Tree {
    /// What is at `path`, as the patch spells it; an error if a patch may not touch it, or cannot.
    fn look(&self, path: &str) -> Result<Spot, Refusal>;

    /// What a diff calls the file that really is at `real`: git follows no links. `None`: as the patch spells it.
    fn name(&self, real: &Path) -> Option<String> {
        let _ = real;
        None
    }

    /// The link that `path` itself is, which goes in place of the file that it leads to.
    fn link(&self, path: &str) -> Option<Link> {
        let _ = path;
        None
    }
}

/// A symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What a diff calls it.
    pub name: String,
    /// What it says.
    pub to: String,
}

/// A place where a file is or can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Where it really is, with every link followed: two names of one place give the same.
    pub real: PathBuf,
    /// The file there, if there is one.
    pub file: Option<Held>,
}

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What is in it.
    pub bytes: Arc<Vec<u8>>,
    /// Whether it can be run.
    pub executable: bool,
    /// What to know it by when it is to be written.
    pub stamp: Stamp,
}

/// What changes when a file changes. Two stamps of one file are equal if nobody wrote to it in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamp {
    /// The file system.
    pub dev: u64,
    /// The file.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// When its bytes changed, in nanoseconds.
    pub mtime: i128,
    /// When anything about it changed, in nanoseconds.
    pub ctime: i128,
}

/// One file that a commit changes. All steps of a commit are done, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The file, as the patch spells it.
    pub path: String,
    /// What was found there; `None`: nothing. If it is no longer so, nothing is done.
    pub found: Option<Stamp>,
    /// What shall be there; `None`: nothing.
    pub put: Option<Put>,
}

/// A file to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// All that will be in it.
    pub bytes: Arc<Vec<u8>>,
    /// Whether it can be run; `None`: as before, and not if it is new.
    pub executable: Option<bool>,
    /// The file whose mode, owner and attributes it gets, as the patch spells it; `None`: that which it replaces.
    pub like: Option<String>,
}

/// Why a file cannot be touched: one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refusal {
    /// The file, as the patch spells it.
    pub path: String,
    /// What is wrong, with what to try.
    pub what: String,
}

/// A tree in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The files, with whether they can be run.
    pub files: BTreeMap<String, (Arc<Vec<u8>>, bool)>,
}

impl Memory {
    /// A tree of these files.
    pub fn of<N: Into<String>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (N, B)>) -> Self {
        Self {
            files: files
                .into_iter()
                .map(|(name, bytes)| (name.into(), (Arc::new(bytes.into()), false)))
                .collect(),
        }
    }

    /// Does all `steps`.
    pub fn commit(&mut self, steps: &[Step]) {
        let before = self.files.clone();
        for step in steps {
            match &step.put {
                None => drop(self.files.remove(&step.path)),
                Some(put) => {
                    let like = before.get(put.like.as_ref().unwrap_or(&step.path));
                    let executable =
                        put.executable.unwrap_or(like.is_some_and(|(_, executable)| *executable));
                    self.files.insert(step.path.clone(), (put.bytes.clone(), executable));
                }
            }
        }
    }
}

impl Tree for Memory {
    fn look(&self, path: &str) -> Result<Spot, Refusal> {
        let file = self.files.get(path).map(|(bytes, executable)| Held {
            bytes: bytes.clone(),
            executable: *executable,
            stamp: Stamp { size: bytes.len() as u64, ..Stamp::default() },
        });
        Ok(Spot { real: path.into(), file })
    }
}
