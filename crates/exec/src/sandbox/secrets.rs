//! What may not be read, found on this machine: the paths that deny-read rules mean now.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::{Confinement, Reach};
use rustix::fs::FileType;

use super::git::sys;

/// How many entries are looked at. A cell is made once in a session.
const MAX_ENTRIES: usize = 100_000;
/// How many paths are hidden; each is a mount.
const MAX_HIDDEN: usize = 500;

/// What is to be hidden.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    pub(crate) paths: BTreeSet<PathBuf>,
    /// There is more than was looked at.
    pub(crate) cut: bool,
}

/// Rules that are paths hold everywhere; globs hold below the roots.
pub(crate) fn hidden(reach: &Reach, confinement: &Confinement) -> Hidden {
    let mut hidden = Hidden::default();
    for path in reach.deny().paths() {
        if let Ok(real) = crate::fs::real(path) {
            hidden.add(real);
        }
    }
    let mut left = MAX_ENTRIES;
    let mut walked: Vec<PathBuf> = Vec::new();
    let roots = confinement.writable.iter().cloned().chain(reach.roots().map(Path::to_owned));
    for root in roots {
        if !walked.iter().any(|before| root.starts_with(before)) {
            walk(&root, reach, &mut hidden, &mut left);
            walked.push(root);
        }
    }
    // What lies in a hidden directory needs no mount of its own.
    let covered = |path: &PathBuf| path.ancestors().skip(1).any(|above| hidden.paths.contains(above));
    let paths = hidden.paths.iter().filter(|path| !covered(path)).cloned().collect();
    Hidden { paths, cut: hidden.cut }
}

impl Hidden {
    fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_HIDDEN {
            self.paths.insert(path);
        } else {
            self.cut = true;
        }
    }
}

fn walk(root: &Path, reach: &Reach, hidden: &mut Hidden, left: &mut usize) {
    let Ok(top) = sys::root(root) else { return };
    let mut todo = VecDeque::from([PathBuf::new()]);
    // ends: every entry is looked at once, and only so many are
    while let Some(below) = todo.pop_front() {
        let Ok(directory) = sys::beneath(top.as_fd(), &below, sys::LIST) else { continue };
        // A directory that cannot be listed to its end is taken for what was seen of it.
        let _seen = sys::list(directory.as_fd(), |name, kind| {
            if *left == 0 {
                hidden.cut = true;
                return ControlFlow::Break(());
            }
            *left -= 1;
            let entry = below.join(name);
            let path = root.join(&entry);
            if reach.deny().denies_entry(&path).is_some() {
                // A link is not what it leads to.
                if kind != FileType::Symlink {
                    hidden.add(path);
                }
            } else if kind == FileType::Directory && name != ".git" {
                todo.push_back(entry);
            }
            ControlFlow::Continue(())
        });
    }
}
