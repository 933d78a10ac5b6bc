//! Private directories: only this user may enter them.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// Creates `directory` and its missing ancestors with mode 0700. An existing directory is not checked.
pub fn create_private_dir(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Creates `directory` if it is missing. Refuses one that belongs to another user, is open to others or is a symlink.
pub fn ensure_private_dir(directory: &Path) -> io::Result<()> {
    create_private_dir(directory)?;
    if is_private_dir(directory)? {
        return Ok(());
    }
    let path = directory.display();
    Err(io::Error::other(format!("`{path}` is not yours alone; `chmod 700` it, or remove it")))
}

/// Reports whether this is a directory of this user with no access for others, and not a symlink.
pub fn is_private_dir(directory: &Path) -> io::Result<bool> {
    // `O_PATH` opens any file type without side effects.
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let stat = rustix::fs::fstat(rustix::fs::open(directory, flags, Mode::empty())?)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Ok(is_directory && stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o077 == 0)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes a plain file")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_private_directory_is_accepted() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        ensure_private_dir(&path("own/below")).unwrap();
        assert!(is_private_dir(&path("own")).unwrap() && is_private_dir(&path("own/below")).unwrap());
        symlink(path("own"), path("link")).unwrap();
        std::fs::set_permissions(path("own/below"), std::fs::Permissions::from_mode(0o710)).unwrap();
        for name in ["link", "own/below"] {
            let fault = ensure_private_dir(&path(name)).unwrap_err().to_string();
            assert!(fault.ends_with("is not yours alone; `chmod 700` it, or remove it"), "{fault}");
        }
        std::fs::write(path("file"), "").unwrap();
        assert!(!is_private_dir(&path("file")).unwrap());
        assert_eq!(is_private_dir(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
