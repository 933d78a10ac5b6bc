//! A temporary workspace directory with files, for tests.
#![expect(clippy::disallowed_methods, reason = "tests set up real files")]

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory that is removed when the test ends, beside a directory that must never be read.
#[derive(Debug)]
pub struct TestWorkspace {
    dir: TempDir,
}

impl TestWorkspace {
    /// Creates an empty workspace. Its parent contains `outside/secret.txt`.
    pub fn new() -> Self {
        crate::restore_signals();
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        fs::create_dir(dir.path().join("work")).expect("it is empty");
        fs::create_dir(dir.path().join("outside")).expect("it is empty");
        fs::write(dir.path().join("outside/secret.txt"), "SECRET\n").expect("it is ours");
        Self { dir }
    }

    /// Returns the canonical path of the workspace.
    pub fn path(&self) -> PathBuf {
        fs::canonicalize(self.dir.path().join("work")).expect("it exists")
    }

    /// Returns the directory outside the workspace that contains `secret.txt`.
    pub fn outside_dir(&self) -> PathBuf {
        fs::canonicalize(self.dir.path().join("outside")).expect("it exists")
    }

    /// Writes a file, and creates its parent directories.
    pub fn write_file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it is ours");
        fs::write(path, content).expect("it is ours");
        self
    }

    /// Creates a symlink at `path` to `target`.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        std::os::unix::fs::symlink(target, self.path().join(path)).expect("it is ours");
        self
    }

    /// Returns `text` with the path of the workspace replaced by `$DIR`, and the outside directory by `$OUTSIDE`.
    pub fn normalize(&self, text: &str) -> String {
        let inside = text.replace(&*self.path().to_string_lossy(), "$DIR");
        inside.replace(&*self.outside_dir().to_string_lossy(), "$OUTSIDE")
    }
}

impl Default for TestWorkspace {
    fn default() -> Self {
        Self::new()
    }
}
