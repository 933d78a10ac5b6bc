//! From trouble met by `look` to the error that helps: what exists, what was meant, what is in the way.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use policy::Denial;
use rustix::io::Errno;

use super::door::Trouble;
use super::sys::{self, Links};
use super::{Door, Found, FsError, Kind, nearest};

/// Explains why looking at `path` came to nothing.
pub(super) fn trouble(door: &Door, path: &Path, trouble: Trouble) -> FsError {
    let error = match trouble {
        Trouble::Judged(error) => error,
        Trouble::Errno(Errno::NOENT | Errno::NOTDIR) | Trouble::Vague => missing(door, path),
        Trouble::Errno(errno) => refused(path, errno),
    };
    about(path, error)
}

/// A denial names what was asked for, not how far one could get: that would tell what exists behind it.
fn about(path: &Path, error: FsError) -> FsError {
    let path = path.to_owned();
    match error {
        FsError::Denied(Denial::LeadsOutside { .. }) => Denial::LeadsOutside { path }.into(),
        FsError::Denied(Denial::DenyRead { rule, .. }) => Denial::DenyRead { path, rule }.into(),
        other => other,
    }
}

fn refused(path: &Path, errno: Errno) -> FsError {
    let path = path.to_owned();
    match errno {
        Errno::LOOP => FsError::Loop { path },
        Errno::NAMETOOLONG => FsError::TooLong { length: path.as_os_str().len() },
        sys::LINK_UNSAFE => FsError::Unsupported {
            path,
            why: "it goes through a symbolic link, and following one needs `openat2` (Linux 5.6, and a seccomp \
                  profile that allows it); give the path without the link",
        },
        sys::LOOK_UNSAFE => FsError::Unsupported {
            path,
            why: "it is neither a file nor a directory, and looking at it would open it",
        },
        _ => FsError::Io { path, source: errno.into() },
    }
}

/// Climbs to the deepest thing above `path` that exists and says what is wrong below it.
fn missing(door: &Door, path: &Path) -> FsError {
    let mut below = path;
    // ends: a path has finitely many ancestors
    while let (Some(above), Some(name)) = (below.parent(), below.file_name()) {
        if door.reach().locate(above).is_err() {
            break;
        }
        match door.attempt(above) {
            Ok(found) if found.kind() == Kind::Directory => {
                return missing_in(door, path, &found, (below, name));
            }
            Ok(found) => return FsError::NotADirectory { path: above.to_owned(), kind: found.kind() },
            // What is missing in a denied or outer place is not told either.
            Err(Trouble::Judged(error)) => return error,
            Err(Trouble::Errno(Errno::NOENT | Errno::NOTDIR) | Trouble::Vague) => below = above,
            Err(Trouble::Errno(errno)) => return refused(above, errno),
        }
    }
    FsError::NotFound { path: path.to_owned(), nearest: Vec::new(), exists: None }
}

/// `at` is missing in `dir`, by this name: there is no such entry, or it is a link to nowhere.
fn missing_in(door: &Door, path: &Path, dir: &Found, (at, name): (&Path, &OsStr)) -> FsError {
    if let Ok(target) = sys::link(dir.fd(), name) {
        let inside = if target.is_absolute() {
            door.reach().judge(&target).is_ok()
        } else {
            // A relative link that leaves its root is never called missing by the kernel, but "leads outside".
            beneath_root(door, dir, name)
        };
        let at = at.to_owned();
        return if inside {
            FsError::BrokenLink { path: at, target }
        } else {
            Denial::LeadsOutside { path: at }.into()
        };
    }
    let is_parent = at == path;
    FsError::NotFound {
        path: path.to_owned(),
        nearest: nearest::names(dir, door.deny(), name),
        exists: (!is_parent).then(|| dir.path().to_owned()),
    }
}

/// Says whether following `name` in `dir` stays in the root, wherever it fails to end.
fn beneath_root(door: &Door, dir: &Found, name: &OsStr) -> bool {
    let whole = dir.path().join(name);
    let Ok((root, below)) = door.reach().locate(&whole) else { return false };
    let followed =
        sys::root(root.path()).and_then(|root| sys::beneath(root.as_fd(), below, sys::PEEK, Links::Follow));
    !matches!(followed, Err(Errno::XDEV))
}
