//! The file tree trait that a plan reads, the steps of a commit to it, and a file tree in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tree of files, addressed by the paths that a patch uses.
pub trait FileTree {
    /// Looks up `path`, as the patch spells it. Returns an error if a patch may not touch it, or cannot.
    fn look_up(&self, path: &str) -> Result<FileLookup, FileRefusal>;

    /// Returns the diff name of the file at the real path `real`, since git follows no symlinks. `None`: as the patch
    /// spells it.
    fn diff_name(&self, real: &Path) -> Option<String> {
        let _ = real;
        None
    }

    /// Returns the symlink at `path`. A delete removes the symlink instead of its target.
    fn find_symlink(&self, path: &str) -> Option<SymbolicLink> {
        let _ = path;
        None
    }
}

/// A symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolicLink {
    /// Its name in a diff.
    pub name: String,
    /// Its target, as written in the link.
    pub target: String,
}

/// The result of looking up a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLookup {
    /// The real path, with every symlink followed. Two names of one file give the same path.
    pub real_path: PathBuf,
    /// The file, if it exists.
    pub file: Option<FoundFile>,
}

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The content.
    pub bytes: Arc<Vec<u8>>,
    /// The executable bit.
    pub executable: bool,
    /// The file's version, to detect changes before the commit.
    pub version: FileVersion,
}

/// Metadata that changes whenever the file changes. Equal stamps of one file mean no write in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileVersion {
    /// The device number of the file system.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// The modification time, in nanoseconds.
    pub mtime: i128,
    /// The time of the last change to content or metadata, in nanoseconds.
    pub ctime: i128,
}

/// The change of one file in a commit. All steps of a commit are done, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitStep {
    /// The path of the file, as the patch spells it.
    pub path: String,
    /// The version that was found; `None` if there was no file. The commit fails if it differs now.
    pub found_version: Option<FileVersion>,
    /// The new file; `None` deletes the file.
    pub new_file: Option<NewFile>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// The complete content.
    pub bytes: Arc<Vec<u8>>,
    /// The executable bit; `None` keeps it, and a new file gets none.
    pub executable: Option<bool>,
    /// The path of the file whose mode, owner and attributes are copied. `None`: the replaced file.
    pub attributes_from: Option<String>,
}

/// The reason why a file cannot be touched, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FileRefusal {
    /// The path of the file, as the patch spells it.
    pub path: String,
    /// The error, with what to try.
    pub what: String,
}

/// A file tree in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTree {
    /// The files: content and executable bit by path.
    pub files: BTreeMap<String, (Arc<Vec<u8>>, bool)>,
}

impl MemoryTree {
    /// Creates a tree of these files.
    pub fn from_files<N: Into<String>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (N, B)>) -> Self {
        Self {
            files: files
                .into_iter()
                .map(|(name, bytes)| (name.into(), (Arc::new(bytes.into()), false)))
                .collect(),
        }
    }

    /// Applies all `steps`.
    pub fn commit(&mut self, steps: &[CommitStep]) {
        let before = self.files.clone();
        for step in steps {
            match &step.new_file {
                None => drop(self.files.remove(&step.path)),
                Some(new_file) => {
                    let like = before.get(new_file.attributes_from.as_ref().unwrap_or(&step.path));
                    let executable =
                        new_file.executable.unwrap_or(like.is_some_and(|(_, executable)| *executable));
                    self.files.insert(step.path.clone(), (new_file.bytes.clone(), executable));
                }
            }
        }
    }
}

impl FileTree for MemoryTree {
    fn look_up(&self, path: &str) -> Result<FileLookup, FileRefusal> {
        let file = self.files.get(path).map(|(bytes, executable)| FoundFile {
            bytes: bytes.clone(),
            executable: *executable,
            version: FileVersion { size: bytes.len() as u64, ..FileVersion::default() },
        });
        Ok(FileLookup { real_path: path.into(), file })
    }
}
