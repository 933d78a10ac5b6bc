//! A temporary copy of a workspace, removed on drop.
#![expect(
    clippy::disallowed_methods,
    reason = "the user's own workspace, for the user; nothing in it is followed"
)]

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// Limits of a copy: files and bytes.
const MAX_FILES: usize = 200_000;
const MAX_BYTES: u64 = 8 << 30;

/// The temporary directory with the copy.
pub struct WorkspaceCopy {
    path: PathBuf,
    files: usize,
    bytes: u64,
}

impl WorkspaceCopy {
    /// Copies the files, directories and symlinks of `from`, and skips everything else.
    pub fn create(from: &Path) -> io::Result<Self> {
        let parent = std::env::temp_dir();
        let path = parent.join(format!("toolgate-replay-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let mut copy = Self { path: path.canonicalize().unwrap_or(path), files: 0, bytes: 0 };
        let to = copy.root();
        fs::create_dir(&to)?;
        copy.copy_directory(from, &to)?;
        Ok(copy)
    }

    /// Returns the root of the copied workspace.
    pub fn root(&self) -> PathBuf {
        self.path.join("workspace")
    }

    /// Returns the number of copied files.
    pub fn file_count(&self) -> usize {
        self.files
    }

    fn copy_directory(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (from, to, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() {
                fs::create_dir(&to)?;
                self.copy_directory(&from, &to)?;
                fs::set_permissions(&to, entry.metadata()?.permissions())?;
            } else if kind.is_symlink() {
                symlink(fs::read_link(&from)?, &to)?;
            } else if kind.is_file() {
                self.copy_file(&from, &to)?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.files += 1;
        self.bytes += fs::copy(from, to)?;
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(io::Error::other(format!(
                "it is larger than {MAX_FILES} files or {} GiB",
                MAX_BYTES >> 30
            )));
        }
        let modified = fs::metadata(from)?.modified()?;
        fs::File::options().append(true).open(to).and_then(|file| file.set_modified(modified)).or(Ok(()))
    }
}

impl Drop for WorkspaceCopy {
    fn drop(&mut self) {
        let _stays = fs::remove_dir_all(&self.path);
    }
}
