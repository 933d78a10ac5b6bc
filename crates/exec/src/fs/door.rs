//! The door: from a path that the model chose to a thing that may be read.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use policy::{Denial, DenyRead, Permit, Reach};
use rustix::io::Errno;

use super::sys::{self, Links};
use super::{Found, FsError, Stat, explain};

/// Why an attempt came to nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It was judged: this is the answer.
    Judged(FsError),
    /// The kernel would not go there.
    Errno(Errno),
    /// A link leaves its root and ends nowhere. Whether something exists out there is not ours to tell.
    Vague,
}

impl From<FsError> for Trouble {
    fn from(error: FsError) -> Self {
        Self::Judged(error)
    }
}

/// The only way to files: it opens what its permit allows, and nothing else.
#[derive(Debug, Clone)]
pub struct Door {
    permit: Permit,
}

impl Door {
    /// A door for the call that holds `permit`.
    pub fn new(permit: &Permit) -> Self {
        Self { permit: permit.clone() }
    }

    /// Looks at `path`, which is absolute and free of `.` and `..` (see [`policy::resolve`]).
    ///
    /// Links are followed as long as they end beneath the roots. Nothing is opened: a FIFO does not block.
    pub fn look(&self, path: &Path) -> Result<Found, FsError> {
        self.permit.may_read(path)?;
        self.attempt(path).map_err(|trouble| explain::trouble(self, path, trouble))
    }

    /// Looks at `path` without asking whether the call stated it, and without explaining what is wrong: for
    /// [`explain`], which asks about what lies above a path that was stated.
    pub(super) fn attempt(&self, path: &Path) -> Result<Found, Trouble> {
        let (root, below) = self.reach().locate(path).map_err(FsError::from)?;
        match enter(root.path(), below, Links::Follow) {
            Ok(fd) => Ok(self.judge(path, fd)?),
            Err(Errno::XDEV) => self.chase(path, root.path(), below),
            Err(errno) => Err(Trouble::Errno(errno)),
        }
    }

    pub(super) fn reach(&self) -> &Reach {
        self.permit.reach()
    }

    pub(super) fn deny(&self) -> &DenyRead {
        self.reach().deny()
    }

    /// A link leaves its root. Where it ends may still lie in a root: find out its name, then go there anew,
    /// beneath that root and without links, so the name needs no trust.
    fn chase(&self, path: &Path, root: &Path, below: &Path) -> Result<Found, Trouble> {
        let outside = || FsError::Denied(Denial::LeadsOutside { path: path.to_owned() });
        let target = sys::target(&root.join(below)).map_err(|errno| match errno {
            // Trouble of ours, not of the path: it says nothing about what is out there.
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Trouble::Errno(errno),
            _ => Trouble::Vague,
        })?;
        let (root, below) = self.reach().locate(&target).map_err(|_| outside())?;
        let fd = enter(root.path(), below, Links::Refuse).map_err(|_| outside())?;
        Ok(self.judge(path, fd)?)
    }

    /// Judges the thing itself: where it really is must lie in a root and be denied by no rule.
    fn judge(&self, path: &Path, fd: OwnedFd) -> Result<Found, FsError> {
        let unnamed = |_| FsError::Unsupported {
            path: path.to_owned(),
            why: "the real path of an open file is unknown without /proc; mount it",
        };
        let real = sys::real_path(fd.as_fd()).map_err(unnamed)?;
        let stat = rustix::fs::fstat(&fd)
            .map_err(|errno| FsError::Io { path: path.to_owned(), source: errno.into() })?;
        let stat = Stat::of(&stat);
        let Some((root, below)) =
            self.reach().locate(&real).ok().filter(|(root, below)| root.path().join(below) == real)
        else {
            return Err(Denial::LeadsOutside { path: path.to_owned() }.into());
        };
        if let Some(rule) = self.deny().denies(&real) {
            return Err(Denial::DenyRead { path: path.to_owned(), rule: rule.to_owned() }.into());
        }
        if is_gone(&real, root.path(), below, stat) {
            return Err(FsError::NotFound { path: path.to_owned(), nearest: Vec::new(), exists: None });
        }
        Ok(Found::new(fd, real, stat))
    }
}

fn enter(root: &Path, below: &Path, links: Links) -> rustix::io::Result<OwnedFd> {
    let root = match sys::root(root) {
        // The root itself has become a link: judge where that leads like any other link out.
        Err(Errno::LOOP) => return Err(Errno::XDEV),
        other => other?,
    };
    sys::beneath(root.as_fd(), below, sys::PEEK, links)
}

/// The kernel marks the path of a deleted file like this, and then nobody can say what its path would be. A file
/// may also really be called that: then the same file is found by this name.
fn is_gone(real: &Path, root: &Path, below: &Path, stat: Stat) -> bool {
    if !real.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") {
        return false;
    }
    let again = enter(root, below, Links::Refuse).and_then(|fd| rustix::fs::fstat(&fd));
    again.map_or(true, |again| Stat::of(&again).identity != stat.identity)
}
