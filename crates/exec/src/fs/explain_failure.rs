//! Turns a failed lookup into a helpful error: the deepest existing directory, similar names, the obstacle.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use policy::Denial;
use rustix::io::Errno;

use super::confined_fs::LookupFailure;
use super::sys;
use super::{ConfinedFs, FileHandle, FileKind, FsError, similar_names};

/// Explains why the lookup of `path` failed.
pub(super) fn explain_failure(fs: &ConfinedFs, path: &Path, failure: LookupFailure) -> FsError {
    let error = match failure {
        LookupFailure::Decided(error) => error,
        LookupFailure::Errno(Errno::NOENT | Errno::NOTDIR) | LookupFailure::BrokenOutsideLink => {
            explain_missing(fs, path)
        }
        LookupFailure::Errno(errno) => errno_error(path, errno),
    };
    with_requested_path(path, error)
}

/// Makes a denial name the requested path, not the ancestor that was reached: that would reveal which files exist
/// behind it.
fn with_requested_path(path: &Path, error: FsError) -> FsError {
    let path = path.to_owned();
    match error {
        FsError::Denied(Denial::LeadsOutside { .. }) => Denial::LeadsOutside { path }.into(),
        FsError::Denied(Denial::DenyRead { rule, .. }) => Denial::DenyRead { path, rule }.into(),
        other => other,
    }
}

fn errno_error(path: &Path, errno: Errno) -> FsError {
    let path = path.to_owned();
    match errno {
        Errno::LOOP => FsError::Loop { path },
        Errno::NAMETOOLONG => FsError::TooLong { length: path.as_os_str().len() },
        sys::LINK_UNSAFE => FsError::Unsupported {
            path,
            why: "it goes through a symbolic link, and following one needs `openat2` (Linux 5.6, and a seccomp \
                  profile that allows it); give the path without the link",
        },
        sys::LOOKUP_UNSAFE => FsError::Unsupported {
            path,
            why: "it is neither a file nor a directory, and looking at it would open it",
        },
        _ => FsError::Io { path, source: errno.into() },
    }
}

/// Finds the deepest existing ancestor of `path`, and explains what is missing below it.
fn explain_missing(fs: &ConfinedFs, path: &Path) -> FsError {
    // Checked first, so that a denial does not reveal what exists behind it.
    if let Some(denial) = find_denial(fs, path) {
        return denial.into();
    }
    let mut below = path;
    // ends: a path has finitely many ancestors
    while let (Some(above), Some(name)) = (below.parent(), below.file_name()) {
        if fs.read_scope().locate(above).is_err() {
            break;
        }
        match fs.try_lookup(above) {
            Ok(found) if found.kind() == FileKind::Directory => {
                return explain_missing_entry(fs, path, &found, (below, name));
            }
            Ok(found) => return FsError::NotADirectory { path: above.to_owned(), kind: found.kind() },
            // A file that is missing in a denied or outside directory is not reported as missing.
            Err(LookupFailure::Decided(error)) => return error,
            Err(LookupFailure::Errno(Errno::NOENT | Errno::NOTDIR) | LookupFailure::BrokenOutsideLink) => {
                below = above;
            }
            Err(LookupFailure::Errno(errno)) => return errno_error(above, errno),
        }
    }
    FsError::NotFound { path: path.to_owned(), nearest: Vec::new(), exists: None }
}

/// Explains why `name`, at the path `at`, is missing in `dir`: there is no such entry, or it is a broken symlink.
fn explain_missing_entry(
    fs: &ConfinedFs,
    path: &Path,
    dir: &FileHandle,
    (at, name): (&Path, &OsStr),
) -> FsError {
    if let Ok(target) = sys::read_link(dir.fd(), name) {
        return FsError::BrokenLink { path: at.to_owned(), target };
    }
    let is_parent = at == path;
    FsError::NotFound {
        path: path.to_owned(),
        nearest: similar_names::similar_names(dir, fs.deny(), name),
        exists: (!is_parent).then(|| fs.read_scope().session_spelling(dir.path())),
    }
}

/// Follows the symlinks in `path` name by name, and returns a denial if they lead to a denied path. The answer does
/// not depend on the existence of the target. Only links that lie in a root are read.
fn find_denial(fs: &ConfinedFs, path: &Path) -> Option<Denial> {
    /// The number of links that the kernel follows.
    const MAX_LINK_HOPS: usize = 40;
    let read_scope = fs.read_scope();
    let (root, below) = read_scope.locate(path).ok()?;
    let mut left = reversed_components(&root.path().join(below));
    let (mut at, mut hops) = (PathBuf::from("/"), 0);
    // ends: every round takes a name, and links add more at most `MAX_LINK_HOPS` times
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(&name);
        if let Some(rule) = fs.deny().denying_pattern(&at) {
            return Some(Denial::DenyRead { path: path.to_owned(), rule: rule.to_owned() });
        }
        let inside = read_scope.locate(&at).is_ok();
        if !inside && !read_scope.is_above_root(&at) {
            return Some(Denial::LeadsOutside { path: path.to_owned() });
        }
        if let Some(target) = inside.then(|| sys::read_link(rustix::fs::CWD, at.as_os_str()).ok()).flatten() {
            hops += 1;
            if hops > MAX_LINK_HOPS {
                return None;
            }
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(reversed_components(&target));
        }
    }
    None
}

/// Returns the names in a path in reverse order.
fn reversed_components(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(named).collect()
}
