//! Tests of trees on disk: refused paths, kept attributes, concurrent changes and recovery.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, start themselves again and look at their own trees"
)]

mod crash_recovery;
mod model;
mod path_rules;
mod preserved_attributes;
mod racing;
mod unprivileged_user;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolgate_patch::DiskTree;
use toolgate_patch::{CommitStep, FileRefusal, FileTree, FileVersion, NewFile};

/// A tree, a file outside of it, and a directory for records.
struct DiskFixture {
    temp: TempDir,
}

impl DiskFixture {
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// Creates the tree in memory if possible, for tests that commit thousands of times.
    fn quick() -> Self {
        let shm = Path::new("/dev/shm");
        if shm.is_dir() { Self::within(shm) } else { Self::new() }
    }

    fn within(base: &Path) -> Self {
        let temp = tempfile::tempdir_in(base).unwrap();
        let ground = Self { temp };
        fs::create_dir(ground.base().join("in")).unwrap();
        fs::create_dir(ground.base().join("out")).unwrap();
        fs::write(ground.out("secret"), "secret").unwrap();
        ground
    }

    fn base(&self) -> PathBuf {
        fs::canonicalize(self.temp.path()).unwrap()
    }

    fn path(&self, below: &str) -> PathBuf {
        self.base().join("in").join(below)
    }

    fn out(&self, below: &str) -> PathBuf {
        self.base().join("out").join(below)
    }

    fn records(&self) -> PathBuf {
        self.base().join("records")
    }

    fn disk(&self) -> DiskTree {
        DiskTree::open_at(&self.path("")).unwrap()
    }

    fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    fn stamp(&self, below: &str) -> Option<FileVersion> {
        self.disk().look_up(below).unwrap().file.map(|file| file.version)
    }

    fn commit(&self, steps: &[CommitStep]) -> Result<(), FileRefusal> {
        self.disk().commit(steps, &self.records())
    }

    /// Returns all names below the base except the records. Asserts that no leftovers of a commit remain.
    #[track_caller]
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut dirs = vec![self.base()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    dirs.push(path.clone());
                }
                names.push(path.strip_prefix(self.base()).unwrap().to_str().unwrap().to_owned());
            }
        }
        let left = |name: &&String| {
            name.contains(".toolgate-") || name.ends_with(".json") || name.ends_with(".done")
        };
        assert_eq!(names.iter().find(left), None);
        names.retain(|name| !name.starts_with("records"));
        names.sort();
        names
    }
}

fn put_step(path: &str, found: Option<FileVersion>, text: &str) -> CommitStep {
    let put = NewFile { bytes: Vec::from(text).into(), executable: None, attributes_from: None };
    CommitStep { path: path.to_owned(), found_version: found, new_file: Some(put) }
}

fn delete(path: &str, found: Option<FileVersion>) -> CommitStep {
    CommitStep { path: path.to_owned(), found_version: found, new_file: None }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
