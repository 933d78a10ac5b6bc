//! Memories that persist across sessions: one plain text file each, which a user can read and edit.
#![expect(clippy::disallowed_methods, reason = "our own files, in the user's own state directory")]

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum bytes of one memory, and the maximum number of memories in one scope.
pub(crate) const MAX_MEMORY_BYTES: usize = 16 << 10;
pub(crate) const MAX_MEMORIES: usize = 200;
/// Maximum length of a name.
const MAX_NAME_LENGTH: usize = 64;

/// Whose a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryScope {
    Project,
    // Of the user, in every project.
    User,
}

impl MemoryScope {
    pub(crate) const ALL: [Self; 2] = [Self::Project, Self::User];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// The directories that hold memories.
#[derive(Debug)]
pub struct MemoryStore {
    project_dir: PathBuf,
    user_dir: PathBuf,
}

impl MemoryStore {
    /// Returns the memories of the user and of the project in `cwd`, below `state`.
    pub fn new(state: &Path, cwd: &Path) -> Self {
        let all = state.join("memories");
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = cwd.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
        let name: String =
            cwd.file_name().unwrap_or_default().to_string_lossy().chars().take(MAX_NAME_LENGTH).collect();
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.chars().map(plain).collect();
        Self {
            project_dir: all.join("projects").join(format!("{name}-{hash:016x}")),
            user_dir: all.join("user"),
        }
    }

    fn scope_dir(&self, scope: MemoryScope) -> &Path {
        match scope {
            MemoryScope::Project => &self.project_dir,
            MemoryScope::User => &self.user_dir,
        }
    }

    /// Saves `text` under `name` and replaces an earlier text.
    pub(crate) fn save(&self, scope: MemoryScope, name: &str, text: &str) -> io::Result<PathBuf> {
        let directory = self.scope_dir(scope);
        let file = directory.join(format!("{name}.md"));
        if !file.exists() && self.names(scope).len() >= MAX_MEMORIES {
            return Err(io::Error::other(format!(
                "there are {MAX_MEMORIES} memories already; replace one of them"
            )));
        }
        private_files::replace_file(&file, text)?;
        Ok(file)
    }

    /// Returns the text saved under `name`.
    pub(crate) fn get(&self, scope: MemoryScope, name: &str) -> Option<String> {
        let file = fs::File::open(self.scope_dir(scope).join(format!("{name}.md"))).ok()?;
        let mut text = Vec::new();
        file.take(u64::try_from(MAX_MEMORY_BYTES).ok()?).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the names of all memories, sorted.
    pub(crate) fn names(&self, scope: MemoryScope) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.scope_dir(scope)) else { return Vec::new() };
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".md").filter(|name| is_valid_name(name)).map(str::to_owned)
        };
        let mut names: Vec<String> = entries.filter_map(name).take(10 * MAX_MEMORIES).collect();
        names.sort();
        names.truncate(MAX_MEMORIES);
        names
    }
}

/// Returns whether `name` is a safe file name: ASCII letters, digits, `-` and `_`.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_scoped_limited_and_safely_named() {
        let state = tempfile::tempdir().unwrap();
        let memories = MemoryStore::new(state.path(), Path::new("/work/my project"));
        memories.save(MemoryScope::Project, "build", "use make").unwrap();
        memories.save(MemoryScope::Project, "build", "use ninja").unwrap();
        memories.save(MemoryScope::User, "style", "tabs").unwrap();
        assert_eq!(memories.get(MemoryScope::Project, "build").as_deref(), Some("use ninja"));
        assert_eq!(memories.names(MemoryScope::Project), ["build"]);
        let other = MemoryStore::new(state.path(), Path::new("/work/other"));
        assert_eq!((other.names(MemoryScope::Project).len(), other.names(MemoryScope::User).len()), (0, 1));
        for name in ["", "..", "a/b", "../x", "a.b", "é", &"x".repeat(65)] {
            assert!(!is_valid_name(name), "{name}");
        }
        for number in 0..MAX_MEMORIES - 1 {
            memories.save(MemoryScope::User, &format!("m{number}"), "x").unwrap();
        }
        assert!(memories.save(MemoryScope::User, "one-more", "x").is_err());
        assert!(memories.save(MemoryScope::User, "style", "spaces").is_ok());
    }
}
