//! Renames a file that a command has made and that no program of the user's is to obey. Nothing is lost.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, RenameFlags, chmod, fstat, renameat_with};
use rustix::io::{Errno, Result};

use super::git::sys;

/// How many names are tried. Each is a random one, so the first is free.
const TRIES: usize = 20;

/// Gives what is at `path` another name in the same directory, and returns that name. A directory that is not writable is made
/// so for a moment: it is the user's.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let directory = sys::place(above)?;
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
        Err(Errno::ACCESS | Errno::PERM) => writable(&directory, rename),
        done => done,
    }
}

/// Does `work` while the directory can be written: whoever owns it can make it so.
pub(super) fn writable<T>(directory: &OwnedFd, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
    // By the descriptor: nobody can put a link in its place.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    chmod(&path, mode | Mode::RWXU)?;
    let done = work();
    chmod(&path, mode)?;
    done
}

fn random() -> Result<u32> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u32::from_le_bytes(bytes))
}

/// The sentence about what was made at `path`, and `why` it was renamed.
pub(crate) fn told(path: &Path, outcome: Result<PathBuf>, why: &str) -> String {
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
}
