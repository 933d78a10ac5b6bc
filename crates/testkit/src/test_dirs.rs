//! Creates test directories and file copies that confined programs can see, or that every user can enter.
#![expect(clippy::disallowed_methods, reason = "tests set up real files")]

use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::install::{new_command, run_or_panic};

/// Directories that a sandbox replaces by its own, so confined programs do not see the host's files there.
const SANDBOX_REPLACED_DIRS: &[&str] = &["/tmp", "/var/tmp", "/run", "/var/run", "/dev"];
/// Alternatives for root if the checkout is in one of these directories.
const ROOT_FALLBACK_DIRS: &[&str] = &["/var/lib", "/srv", "/opt"];

/// Creates a temporary directory that confined programs see: in the target directory, or elsewhere if that is below
/// `/tmp`.
///
/// # Panics
/// If this user has no such directory; the message tells how to name one.
pub fn visible_tempdir() -> TempDir {
    tempfile::tempdir_in(visible_base_dir()).expect("a directory can be made there")
}

/// Returns the parent of the directories that [`visible_tempdir`] creates. All tests share it, and it is not removed.
///
/// # Panics
/// If this user has no such directory; the message tells how to name one.
pub fn visible_base_dir() -> PathBuf {
    static BASE_DIR: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let named = std::env::var_os("TOOLGATE_TEST_PLACE").map(PathBuf::from);
        let home = std::env::home_dir().map(|home| home.join(".cache/toolgate-tests"));
        let own = [crate::install::target_dir().join("tmp")].into_iter().chain(home);
        let roots = ROOT_FALLBACK_DIRS.iter().map(|place| Path::new(place).join("toolgate-tests"));
        let roots = roots.inspect(|place| {
            // The mode must not depend on the umask of the test run.
            let made = fs::create_dir_all(place);
            let _not_ours = made.and_then(|()| fs::set_permissions(place, Permissions::from_mode(0o755)));
        });
        let fits = |place: &PathBuf| !is_hidden_by_sandbox(place);
        // Tests of root also run programs as another user.
        let is_root = rustix::process::geteuid().is_root();
        let shared = named.into_iter().chain(own.clone()).chain(roots.filter(|_| is_root));
        let mut shared = shared
            .filter_map(canonical_writable)
            .filter(fits)
            .filter(|place| !is_root || is_world_accessible(place));
        shared.next().or_else(|| own.filter_map(canonical_writable).find(fits)).expect(
            "the tests need a directory that is not below /tmp: name one that you may write to with `TOOLGATE_TEST_PLACE`",
        )
    };
    BASE_DIR.get_or_init(find).clone()
}

/// Returns the canonical path of a writable directory, and creates the directory if it is missing.
fn canonical_writable(place: PathBuf) -> Option<PathBuf> {
    fs::create_dir_all(&place).ok()?;
    let place = fs::canonicalize(place).ok()?;
    tempfile::tempfile_in(&place).ok().map(|_| place)
}

/// Returns whether every user may enter the directory.
fn is_world_accessible(place: &Path) -> bool {
    place
        .ancestors()
        .all(|above| fs::metadata(above).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0))
}

/// Returns whether a sandbox hides `path` behind a directory of its own. `path` must be canonical.
pub fn is_hidden_by_sandbox(path: &Path) -> bool {
    SANDBOX_REPLACED_DIRS.iter().any(|place| path.starts_with(place))
}

/// Returns the file at `path`, or a copy if confined programs do not see it there.
///
/// # Panics
/// If the file cannot be copied.
pub fn visible_file(path: impl AsRef<Path>) -> PathBuf {
    let path = fs::canonicalize(path).expect("the file is there");
    if !is_hidden_by_sandbox(&path) {
        return path;
    }
    let bytes = fs::read(&path).expect("the file can be read");
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    let copy = visible_base_dir().join(format!("{:016x}-{name}", hasher.finish()));
    if !copy.exists() {
        // The copy appears atomically, because other tests may be about to read it.
        let mut making =
            tempfile::NamedTempFile::new_in(visible_base_dir()).expect("a file can be made there");
        making.write_all(&bytes).expect("there is room");
        making.persist(&copy).expect("it can be renamed");
    }
    copy
}

/// A copy of a program that every user can execute, wherever the checkout is. Dropping it removes the copy.
#[derive(Debug)]
pub struct WorldExecutableCopy {
    directory: TempDir,
    name: PathBuf,
}

impl WorldExecutableCopy {
    /// Copies the program at `path`.
    ///
    /// # Panics
    /// If the program cannot be copied.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let name = PathBuf::from(path.as_ref().file_name().expect("a program has a name"));
        // A symlink would lead elsewhere from the new directory.
        let path = fs::canonicalize(path).expect("the program is there");
        let directory = visible_tempdir();
        let everybody = Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), everybody.clone()).expect("it is ours");
        let to = directory.path().join(&name);
        let mode = fs::metadata(&path).expect("the program is there").permissions().mode();
        // A hard link is free, if it is possible and every user may run the program. `cp` makes the copy otherwise. If
        // this process did, a child of another test could hold the file open for writing, and exec would fail.
        if mode & 0o005 != 0o005 || fs::hard_link(&path, &to).is_err() {
            run_or_panic("a program is copied for another user", new_command("cp").arg(&path).arg(&to));
            fs::set_permissions(&to, everybody).expect("it is ours");
        }
        Self { directory, name }
    }

    /// Returns the path of the copy.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_place_that_confined_programs_see() {
        let place = visible_tempdir();
        assert!(!is_hidden_by_sandbox(&fs::canonicalize(place.path()).unwrap()));
    }

    #[test]
    fn every_user_may_enter_the_directory_of_a_copy() {
        let copy = WorldExecutableCopy::new("/bin/sh");
        for path in copy.path().ancestors() {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o005, 0o005, "{path:?}");
        }
    }
}
