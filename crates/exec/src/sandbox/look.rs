//! One walk through the roots of a policy: what may not be read in them, and where git directories are.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::DenyRead;
use rustix::fs::FileType;

use super::git::{is_git, sys};

/// How many entries are looked at. A cell is made once in a session.
const MAX_ENTRIES: usize = 5_000_000;
/// How many paths are hidden; each is a mount.
const MAX_HIDDEN: usize = 20_000;
/// How many working trees are told of.
const MAX_TREES: usize = 20_000;
/// How many files that the user's programs run are watched for changes.
const MAX_CODE: usize = 100;
/// Directories that are large, and whose files others have written.
const OF_OTHERS: &[&str] = &["node_modules", "target", "vendor", ".venv", "venv", "site-packages"];
/// Names in a git directory, of which each has two at least.
const IN_GIT: &[&str] = &["HEAD", "objects", "refs", "commondir"];

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// What globs say may not be read.
    pub(crate) hidden: BTreeSet<PathBuf>,
    /// Directories with something in them that is called `.git`, and those that are git directories of another name.
    pub(crate) trees: Vec<PathBuf>,
    /// Code that the user's programs run, below the top of a root, with the action that makes them.
    pub(crate) code: Vec<(PathBuf, String)>,
    /// There is more than was looked at.
    pub(crate) cut: bool,
}

/// Looks at all that lies below `roots`. Git directories are not looked into.
pub(crate) fn look(roots: impl IntoIterator<Item = PathBuf>, deny: &DenyRead) -> Seen {
    let mut seen = Seen::default();
    let mut left = MAX_ENTRIES;
    let mut walked: Vec<PathBuf> = Vec::new();
    for root in roots {
        if !walked.iter().any(|before| root.starts_with(before)) {
            seen.walk(&root, deny, &mut left);
            walked.push(root);
        }
    }
    seen
}

impl Seen {
    fn walk(&mut self, root: &Path, deny: &DenyRead, left: &mut usize) {
        let Ok(top) = sys::root(root) else { return };
        let mut next = VecDeque::from([PathBuf::new()]);
        // What is large and seldom holds either waits until everything else has been seen.
        let mut last = VecDeque::new();
        // ends: every entry is looked at once, and only so many are
        while let Some(below) = next.pop_front().or_else(|| last.pop_front()) {
            let Ok(directory) = sys::beneath(top.as_fd(), &below, sys::LIST) else { continue };
            let mut of_git = 0;
            // A directory that cannot be listed to its end is taken for what was seen of it.
            let _seen = sys::list(directory.as_fd(), |name, kind| {
                if *left == 0 {
                    self.cut = true;
                    return ControlFlow::Break(());
                }
                *left -= 1;
                let entry = below.join(name);
                let path = root.join(&entry);
                of_git += usize::from(IN_GIT.iter().any(|known| name == *known));
                if deny.denies_entry(&path).is_some() {
                    // A link is not what it leads to.
                    if kind != FileType::Symlink {
                        self.hide(path);
                    }
                } else if name == ".git" {
                    self.tree(root, &below);
                } else if kind == FileType::Directory {
                    let large = OF_OTHERS.iter().any(|other| name == *other);
                    if large { &mut last } else { &mut next }.push_back(entry);
                } else if !below.as_os_str().is_empty() {
                    self.code(&path, name, &below);
                }
                ControlFlow::Continue(())
            });
            if of_git > 1 && !below.as_os_str().is_empty() && is_git(&root.join(&below)) {
                self.tree(root, &below);
            }
        }
    }

    fn hide(&mut self, path: PathBuf) {
        if self.hidden.len() < MAX_HIDDEN {
            self.hidden.insert(path);
        } else {
            self.cut = true;
        }
    }

    /// Notes a file that takes effect by its name. Below the top of a root it is told, not held.
    fn code(&mut self, path: &Path, name: &OsStr, below: &Path) {
        let of_others = || below.iter().any(|part| OF_OTHERS.iter().any(|other| part == *other));
        if self.code.len() < MAX_CODE
            && let Some(file) = policy::host_file_by_name(Path::new(name))
            && !of_others()
        {
            self.code.push((path.to_owned(), file.when));
        }
    }

    fn tree(&mut self, root: &Path, below: &Path) {
        if self.trees.len() < MAX_TREES {
            self.trees.push(if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) });
        } else {
            self.cut = true;
        }
    }
}
