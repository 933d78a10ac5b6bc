//! Sets a file aside: renames a file that a command created and that no program of the user's may obey.
//!
//! Its content is kept.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, RenameFlags, chmod, fstat, renameat_with, statat};
use rustix::io::{Errno, Result};

use super::git::sys;

/// The maximum number of names to try. Each is random, so the first is free.
const TRIES: usize = 20;

/// Renames `path` within its directory, and returns the new path. A read-only directory is made writable temporarily:
/// it belongs to the user.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let directory = match sys::open_path(above) {
        // A link on the way, in place of a directory: its target may lie anywhere, so the link itself is renamed.
        Err(Errno::LOOP) => {
            let ways: Vec<&Path> = above.ancestors().collect();
            let is_link = |way: &&&Path| sys::kind_of(way) == Some(FileType::Symlink);
            return set_aside(ways.iter().rev().find(is_link).ok_or(Errno::LOOP)?);
        }
        directory => directory?,
    };
    let rename = || {
        for _ in 0..TRIES {
            let mut new = name.to_owned();
            new.push(format!(".untrusted-{:08x}", random()?));
            match renameat_with(&directory, name, &directory, &new, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                done => return done.map(|()| above.join(new)),
            }
        }
        Err(Errno::EXIST)
    };
    match rename() {
        Err(Errno::ACCESS | Errno::PERM) => with_writable(&directory, rename),
        done => done,
    }
}

/// Runs `work` while every directory on the way to `directory`, and itself, is searchable: a command may have revoked
/// that right, and the user may restore it.
pub(crate) fn with_reachable<T>(directory: &Path, work: impl FnOnce() -> T) -> T {
    let is_closed = |at: &&Path| statat(CWD, at.join("."), AtFlags::empty()).err() == Some(Errno::ACCESS);
    // If the directory is searchable, so are all of its ancestors.
    if !is_closed(&directory) {
        return work();
    }
    let mut opened = Vec::new();
    // ends: each turn opens one more directory of the way
    for _ in directory.ancestors() {
        let Some(closed) = directory.ancestors().filter(is_closed).last() else { break };
        // A directory of another user stays closed.
        let Ok(open) = grant_owner_rights(closed) else { break };
        opened.push(open);
    }
    let done = work();
    for (directory, mode) in opened.iter().rev() {
        let _not_ours = chmod(descriptor_path(directory), *mode);
    }
    done
}

/// Gives the owner of a directory all rights; returns it with its previous mode.
fn grant_owner_rights(path: &Path) -> Result<(OwnedFd, Mode)> {
    let directory = sys::open_path(path)?;
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    chmod(descriptor_path(&directory), mode | Mode::RWXU)?;
    Ok((directory, mode))
}

/// Returns a path to the open directory: no process can substitute a link.
fn descriptor_path(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

/// Runs `work` while the directory is writable, which its owner can arrange.
pub(super) fn with_writable<T>(directory: &OwnedFd, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
    chmod(descriptor_path(directory), mode | Mode::RWXU)?;
    let done = work();
    chmod(descriptor_path(directory), mode)?;
    done
}

fn random() -> Result<u32> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u32::from_le_bytes(bytes))
}

/// Describes the file that was created at `path`, and `why` it was renamed.
pub(crate) fn describe_set_aside(path: &Path, outcome: Result<PathBuf>, why: &str) -> String {
    let shown = path.display();
    match outcome {
        Ok(new) => format!("`{shown}` was renamed to `{}`, since a command made it and {why}", new.display()),
        Err(errno) => format!(
            "WARNING: a command made `{shown}`, and {why}; it could not be renamed ({}): remove it before you do that",
            io::Error::from(errno)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn a_file_is_renamed_whatever_its_directory_says() {
        let place = tempfile::tempdir().unwrap();
        for mode in [0o755, 0o555, 0o111] {
            let directory = place.path().join(format!("{mode:o}"));
            std::fs::create_dir(&directory).unwrap();
            let file = directory.join("HEAD");
            std::fs::write(&file, "x").unwrap();
            std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(mode)).unwrap();
            let new = set_aside(&file).unwrap();
            assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, mode);
            std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!((std::fs::read(&new).unwrap(), file.exists()), (b"x".to_vec(), false));
        }
        assert_eq!(set_aside(&place.path().join("none/HEAD")), Err(Errno::NOENT));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn a_link_on_the_way_is_renamed_itself() {
        let place = tempfile::tempdir().unwrap();
        let top = crate::fs::canonicalize(place.path()).unwrap();
        std::fs::create_dir_all(top.join("evil/sub")).unwrap();
        std::fs::write(top.join("evil/sub/my.conf"), "x").unwrap();
        std::os::unix::fs::symlink("evil", top.join("d")).unwrap();
        let new = set_aside(&top.join("d/sub/my.conf")).unwrap();
        assert!(new.is_symlink() && new.display().to_string().contains("/d.untrusted-"), "{}", new.display());
        assert!(!top.join("d").exists() && top.join("evil/sub/my.conf").exists());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn closed_directories_are_opened_for_a_moment() {
        let place = tempfile::tempdir().unwrap();
        let (above, below) = (place.path().join("a"), place.path().join("a/b"));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(below.join("HEAD"), "x").unwrap();
        let close = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        close(&below, 0o644);
        close(&above, 0o000);
        assert!(with_reachable(&below, || sys::is_there(&below.join("HEAD"))));
        assert_eq!(std::fs::metadata(&above).unwrap().permissions().mode() & 0o777, 0o000);
        close(&above, 0o755);
        assert_eq!(std::fs::metadata(&below).unwrap().permissions().mode() & 0o777, 0o644);
        close(&below, 0o755);
    }
}
