//! The readable part of the file system: roots, denied paths, and session directories that replace the host's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Denial, DenyRead, WorkspaceView};

/// A directory below which files may be read, with an optional second spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRoot {
    path: PathBuf,
    spelling: Option<PathBuf>,
    listed: bool,
    session_directory: Option<SessionDirectory>,
}

/// Marks a root as the session's own directory, which replaces the host's directory at its spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionDirectory {
    /// Directories below the spelling that remain the host's.
    host_paths: Vec<PathBuf>,
}

/// A directory that the session has for itself, in place of the host's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is private to this session, so files in the host's `{0}` are not visible", place.display())]
pub struct PrivateDirectory {
    /// The host path that it replaces, e.g. `/tmp`.
    pub place: PathBuf,
}

impl ReadRoot {
    /// Creates a root at `path`, which must be absolute and free of symlinks.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), spelling: None, listed: true, session_directory: None }
    }

    /// Adds another `spelling` of the same directory, through a symlink.
    #[must_use]
    pub fn with_spelling(mut self, spelling: impl Into<PathBuf>) -> Self {
        let spelling = spelling.into();
        self.spelling = (spelling != self.path).then_some(spelling);
        self
    }

    /// Omits the root from sentences that list the readable roots: it serves only toolgate's own files.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Marks the root as the session's own directory, which replaces the host's directory at its spelling, e.g. `/tmp`.
    /// It is removed with the session. `host_paths` remain the host's.
    #[must_use]
    pub fn replacing_host_directory(mut self, host_paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.session_directory = Some(SessionDirectory { host_paths: host_paths.into_iter().collect() });
        self
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    /// Returns the real path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn relative_path<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let is_the_hosts = || {
            self.session_directory
                .as_ref()
                .is_some_and(|own| own.host_paths.iter().any(|shown| path.starts_with(shown)))
        };
        let by_name = || path.strip_prefix(self.spelling.as_ref()?).ok().filter(|_| !is_the_hosts());
        path.strip_prefix(&self.path).ok().or_else(by_name)
    }
}

/// The readable part of the file system.
#[derive(Debug, Clone)]
pub struct ReadScope {
    roots: Vec<ReadRoot>,
    deny_read: DenyRead,
    view: Option<Arc<dyn WorkspaceView>>,
}

impl ReadScope {
    /// Allows reading below `roots`, except paths that `deny_read` covers.
    pub fn new(roots: Vec<ReadRoot>, deny_read: DenyRead) -> Self {
        Self { roots, deny_read, view: None }
    }

    /// Sets the directories that are seen in place of the user's.
    #[must_use]
    pub fn with_view(mut self, view: Option<Arc<dyn WorkspaceView>>) -> Self {
        self.view = view;
        self
    }

    /// Returns the directories that are seen in place of the user's.
    pub fn view(&self) -> Option<&Arc<dyn WorkspaceView>> {
        self.view.as_ref()
    }

    /// Returns the real paths of the roots.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(ReadRoot::path)
    }

    /// Returns the deny-read patterns.
    pub fn deny_read(&self) -> &DenyRead {
        &self.deny_read
    }

    /// Finds the innermost root that contains `path`, and the path relative to it.
    pub fn locate<'a>(&self, path: &'a Path) -> Result<(&ReadRoot, &'a Path), Denial> {
        self.roots
            .iter()
            .filter_map(|root| Some((root, root.relative_path(path)?)))
            .min_by_key(|(_, below)| below.components().count())
            .ok_or_else(|| Denial::outside_roots(path.to_owned(), &self.roots))
    }

    /// Returns the real location of `path`: below the real path of its root, in either spelling.
    pub fn real_path(&self, path: &Path) -> PathBuf {
        self.locate(path).map_or_else(|_| path.to_owned(), |(root, below)| root.path().join(below))
    }

    /// Returns the private directory that contains `path`, if a session directory replaces it.
    pub fn private_directory(&self, path: &Path) -> Option<PrivateDirectory> {
        self.replaced_place(path).map(|place| PrivateDirectory { place: place.to_owned() })
    }

    /// Returns the host path that the session directory containing `path` replaces, e.g. `/tmp`.
    pub fn replaced_place(&self, path: &Path) -> Option<&Path> {
        let (root, _) = self.locate(path).ok()?;
        root.session_directory.as_ref().and(root.spelling.as_deref())
    }

    /// Returns `real` as commands of the session spell it: a path in a session directory, below the host path that the
    /// directory replaces.
    pub fn session_spelling(&self, real: &Path) -> PathBuf {
        let spelled = || {
            let (root, below) = self.locate(real).ok()?;
            let place = root.session_directory.as_ref().and(root.spelling.as_deref())?;
            Some(place.components().chain(below.components()).collect())
        };
        spelled().unwrap_or_else(|| real.to_owned())
    }

    /// Returns true if `path` is a root or an ancestor of one.
    pub fn is_above_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.path.starts_with(path))
    }

    /// Checks lexically that `path` may be read; `exec` checks the resolved path.
    pub fn check_read(&self, path: &Path) -> Result<(), Denial> {
        let (root, below) = self.locate(path)?;
        let real = root.path().join(below);
        let spelled = root.spelling.as_ref().map(|spelled| spelled.join(below));
        let spellings = [Some(path), Some(&*real), spelled.as_deref()];
        match spellings.into_iter().flatten().find_map(|way| self.deny_read.denying_pattern(way)) {
            Some(rule) => Err(Denial::DenyRead { path: path.to_owned(), rule: rule.to_owned() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_directory_replaces_the_host_directory() {
        let own = ReadRoot::new("/tmp/s/tmp").with_spelling("/tmp").unlisted();
        let own = own.replacing_host_directory(["/tmp/home".into()]);
        let deny = DenyRead::new(std::iter::empty::<&str>(), None).unwrap();
        let reach = ReadScope::new(vec![ReadRoot::new("/tmp/x/w"), own], deny);
        for (path, place, real) in [
            ("/tmp", Some("/tmp"), "/tmp/s/tmp"),
            ("/tmp/evil", Some("/tmp"), "/tmp/s/tmp/evil"),
            ("/tmp/x/evil", Some("/tmp"), "/tmp/s/tmp/x/evil"),
            ("/tmp/s/tmp/evil", Some("/tmp"), "/tmp/s/tmp/evil"),
            ("/tmp/x/w/a", None, "/tmp/x/w/a"),
            ("/tmp/home/a", None, "/tmp/home/a"),
            ("/etc/a", None, "/etc/a"),
        ] {
            let path = Path::new(path);
            assert_eq!(reach.replaced_place(path), place.map(Path::new), "{path:?}");
            assert_eq!(reach.real_path(path), Path::new(real), "{path:?}");
            let spelled = if path.starts_with("/tmp/s") { Path::new("/tmp/evil") } else { path };
            assert_eq!(reach.session_spelling(&reach.real_path(path)), spelled, "{path:?}");
        }
        assert!(reach.check_read(Path::new("/tmp/home/a")).is_err());
    }
}
