//! How far reading may go: below these roots, but for what is denied.

use std::path::{Path, PathBuf};

use crate::{Denial, DenyRead};

/// A directory below which files may be read, with every way to spell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    spelled: Option<PathBuf>,
    listed: bool,
}

impl Root {
    /// A root at `path`, which must be absolute and free of symbolic links.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), spelled: None, listed: true }
    }

    /// Lets users write the root as `spelled` too: the same directory, through a symbolic link.
    #[must_use]
    pub fn spelled(mut self, spelled: impl Into<PathBuf>) -> Self {
        let spelled = spelled.into();
        self.spelled = (spelled != self.path).then_some(spelled);
        self
    }

    /// Keeps the root out of sentences that list what may be read: it is there for our own files.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    /// Where the root really is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let by_name = || path.strip_prefix(self.spelled.as_ref()?).ok();
        path.strip_prefix(&self.path).ok().or_else(by_name)
    }
}

/// The readable part of the file system.
#[derive(Debug, Clone)]
pub struct Reach {
    roots: Vec<Root>,
    deny: DenyRead,
}

impl Reach {
    /// Reading below `roots`, but for what `deny` covers.
    pub fn new(roots: Vec<Root>, deny: DenyRead) -> Self {
        Self { roots, deny }
    }

    /// Where the roots really are.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(Root::path)
    }

    /// What is denied wherever it lies.
    pub fn deny(&self) -> &DenyRead {
        &self.deny
    }

    /// Finds the innermost root that holds `path`, and where in it `path` is.
    pub fn locate<'a>(&self, path: &'a Path) -> Result<(&Root, &'a Path), Denial> {
        self.roots
            .iter()
            .filter_map(|root| Some((root, root.below(path)?)))
            .min_by_key(|(_, below)| below.components().count())
            .ok_or_else(|| Denial::outside(path.to_owned(), &self.roots))
    }

    /// Where `path` is: below where its root really is, however that was spelled.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.locate(path).map_or_else(|_| path.to_owned(), |(root, below)| root.path().join(below))
    }

    /// Says whether `path` is a directory above a root, on the way to it.
    pub fn leads_to_a_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.path.starts_with(path))
    }

    /// Says whether `path` may be read, judged by its spelling alone; the door judges what it leads to.
    pub fn judge(&self, path: &Path) -> Result<(), Denial> {
        let (root, below) = self.locate(path)?;
        let real = root.path().join(below);
        let spelled = root.spelled.as_ref().map(|spelled| spelled.join(below));
        let ways = [Some(path), Some(&*real), spelled.as_deref()];
        match ways.into_iter().flatten().find_map(|way| self.deny.denies(way)) {
            Some(rule) => Err(Denial::DenyRead { path: path.to_owned(), rule: rule.to_owned() }),
            None => Ok(()),
        }
    }
}
