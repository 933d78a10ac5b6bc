//! Confined file access: resolves a path that the model chose to a file handle, within the roots of a permit.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::{Denial, DenyRead, Permit, ReadScope, WorkspaceView, innermost_root};
use rustix::io::Errno;

use super::sys::{self, LinkHandling};
use super::{FileHandle, FileStat, FsError, explain_failure};

/// The maximum number of links on a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The reason why a lookup failed, before it is explained to the model.
#[derive(Debug)]
pub(super) enum LookupFailure {
    /// The policy decided: this is the error.
    Decided(FsError),
    /// The kernel refused.
    Errno(Errno),
    /// A link leaves its root and its target does not exist. The reply must not reveal what exists outside.
    BrokenOutsideLink,
}

impl From<FsError> for LookupFailure {
    fn from(error: FsError) -> Self {
        Self::Decided(error)
    }
}

/// Opens the files that its permit allows, and no others. All file access by tools goes through this type.
#[derive(Debug, Clone)]
pub struct ConfinedFs {
    permit: Permit,
}

impl ConfinedFs {
    /// Creates the confined access for a call that holds `permit`.
    pub fn new(permit: &Permit) -> Self {
        Self { permit: permit.clone() }
    }

    /// Looks up `path`, which is absolute and free of `.` and `..` (see [`policy::resolve_path`]).
    ///
    /// Links are followed as long as they end beneath the roots. Nothing is opened, so a FIFO does not block.
    pub fn lookup(&self, path: &Path) -> Result<FileHandle, FsError> {
        self.permit.may_read(path)?;
        let found = self.try_lookup(path);
        tracing::debug!(?path, found = found.is_ok(), "looked up a path beneath its root");
        found.map_err(|failure| explain_failure::explain_failure(self, path, failure))
    }

    /// Looks up `path` without checking that the call stated it, and without explaining a failure. `explain_failure`
    /// uses it for the ancestors of a stated path.
    pub(super) fn try_lookup(&self, path: &Path) -> Result<FileHandle, LookupFailure> {
        let (root, below) = self.read_scope().locate(path).map_err(FsError::from)?;
        match self.open_beneath(root.path(), below, LinkHandling::Follow) {
            Ok(fd) => Ok(self.check_opened_file(path, fd)?),
            Err(Errno::XDEV) => self.follow_outside_link(path, root.path(), below),
            Err(errno) => Err(LookupFailure::Errno(errno)),
        }
    }

    pub(super) fn read_scope(&self) -> &ReadScope {
        self.permit.read_scope()
    }

    pub(super) fn deny(&self) -> &DenyRead {
        self.read_scope().deny_read()
    }

    /// Follows a link that leaves its root, since its target may lie in another root. Resolves the target's name,
    /// then opens that name beneath its root without following links: the name needs no trust.
    fn follow_outside_link(
        &self,
        path: &Path,
        root: &Path,
        below: &Path,
    ) -> Result<FileHandle, LookupFailure> {
        let outside = || FsError::Denied(Denial::LeadsOutside { path: path.to_owned() });
        let target = self.link_target(&root.join(below)).map_err(|errno| match errno {
            // A failure of this process, not of the path: it reveals nothing about the target.
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => LookupFailure::Errno(errno),
            _ => LookupFailure::BrokenOutsideLink,
        })?;
        let (root, below) = self.read_scope().locate(&target).map_err(|_| outside())?;
        let fd = self.open_beneath(root.path(), below, LinkHandling::Refuse).map_err(|_| outside())?;
        Ok(self.check_opened_file(path, fd)?)
    }

    /// Checks the opened file itself: its real path must lie in a root and match no deny rule.
    fn check_opened_file(&self, path: &Path, fd: OwnedFd) -> Result<FileHandle, FsError> {
        let unnamed = |_| FsError::Unsupported {
            path: path.to_owned(),
            why: "the real path of an open file is unknown without /proc; mount it",
        };
        let real = sys::real_path(fd.as_fd()).map_err(unnamed)?;
        let stat = rustix::fs::fstat(&fd)
            .map_err(|errno| FsError::Io { path: path.to_owned(), source: errno.into() })?;
        let stat = FileStat::from_stat(&stat);
        let Some((root, below)) =
            self.read_scope().locate(&real).ok().filter(|(root, below)| root.path().join(below) == real)
        else {
            return Err(Denial::LeadsOutside { path: path.to_owned() }.into());
        };
        if let Some(rule) = self.deny().denying_pattern(&real) {
            return Err(Denial::DenyRead { path: path.to_owned(), rule: rule.to_owned() }.into());
        }
        if self.is_deleted(&real, root.path(), below, stat) {
            return Err(FsError::NotFound { path: path.to_owned(), nearest: Vec::new(), exists: None });
        }
        Ok(FileHandle::new(fd, real, stat))
    }
}

impl ConfinedFs {
    /// Opens `below` in `root`: in the view of staged changes, if the file lies in one of its directories.
    fn open_beneath(&self, root: &Path, below: &Path, links: LinkHandling) -> rustix::io::Result<OwnedFd> {
        let Some(view) = self.read_scope().view() else { return open_beneath_root(root, below, links) };
        let path = root.join(below);
        if let Some((staged, below)) = innermost_root(view.roots(), &path) {
            return open_in_view(&**view, staged, below, links);
        }
        let fd = open_beneath_root(root, below, links)?;
        // A link of the user's tree may lead into a staged directory.
        let real = sys::real_path(fd.as_fd())?;
        match innermost_root(view.roots(), &real) {
            Some((staged, below)) => open_in_view(&**view, staged, below, LinkHandling::Refuse),
            None => Ok(fd),
        }
    }

    /// Returns the real path that `path` leads to through links, even outside every root. Nothing is opened.
    fn link_target(&self, path: &Path) -> rustix::io::Result<PathBuf> {
        let Some(view) = self.read_scope().view() else { return sys::target(path) };
        // Links and their targets may exist in the staged changes alone, so the kernel cannot follow them.
        let mut rest: Vec<OsString> =
            path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
        let (mut real, mut links) = (PathBuf::new(), 0);
        // ends: every round takes a name, and links add names only so often
        while let Some(name) = rest.pop() {
            if name == ".." {
                real.pop();
                continue;
            }
            let candidate = real.join(&name);
            match read_link_in(&**view, &candidate) {
                Ok(_) if links == MAX_LINKS => return Err(Errno::LOOP),
                Ok(target) => {
                    links += 1;
                    rest.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
                }
                Err(Errno::INVAL) => real = candidate,
                Err(errno) => return Err(errno),
            }
        }
        Ok(real)
    }

    /// Returns true if the file was deleted. The kernel appends " (deleted)" to the path of a deleted file. A file may
    /// also have that name: then a lookup of the name finds the same file.
    fn is_deleted(&self, real: &Path, root: &Path, below: &Path, stat: FileStat) -> bool {
        if !real.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") {
            return false;
        }
        let again =
            self.open_beneath(root, below, LinkHandling::Refuse).and_then(|fd| rustix::fs::fstat(&fd));
        again.map_or(true, |again| FileStat::from_stat(&again).identity != stat.identity)
    }
}

fn open_beneath_root(root: &Path, below: &Path, links: LinkHandling) -> rustix::io::Result<OwnedFd> {
    let root = match sys::root(root) {
        // The root itself has become a link: treat it like any other link that leaves its root.
        Err(Errno::LOOP) => return Err(Errno::XDEV),
        other => other?,
    };
    sys::beneath(root.as_fd(), below, sys::PEEK, links)
}

fn open_in_view(
    view: &dyn WorkspaceView,
    root: &Path,
    below: &Path,
    links: LinkHandling,
) -> rustix::io::Result<OwnedFd> {
    let root = view.open_root(root).map_err(|error| errno_of(&error))?;
    sys::beneath(root.as_fd(), below, sys::PEEK, links)
}

/// Reads the link at `path`, which is free of other links. Anything else is `EINVAL`.
fn read_link_in(view: &dyn WorkspaceView, path: &Path) -> rustix::io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    match innermost_root(view.roots(), parent) {
        Some((root, below)) => {
            sys::read_link(open_in_view(view, root, below, LinkHandling::Refuse)?.as_fd(), name)
        }
        None => sys::read_link(rustix::fs::CWD, path.as_os_str()),
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
