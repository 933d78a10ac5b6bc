//! Resolves a path written by a model to an absolute path without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// The reason why a path was rejected before any lookup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelPathFault {
    /// The path is empty.
    #[error("the path is empty; give a file or directory, e.g. `src/main.rs` or `.`")]
    Empty,
    /// The path contains a NUL.
    #[error("the path contains a NUL character, which no file name can")]
    Nul,
    /// The path starts with `~`, which only a shell expands.
    #[error("`~` is not expanded here; write the whole path")]
    Home,
    /// The text is a URL.
    #[error("`{0}` is a URL; give a plain path")]
    Url(String),
}

/// Makes `text` absolute against `cwd` and removes `.` and `..` lexically.
///
/// The policy and the kernel see the same resolved path. A `..` behind a symlink therefore has one meaning.
///
/// ```
/// use std::path::Path;
/// let path = toolgate_policy::resolve_path(Path::new("/work"), "a/../b/./c").unwrap();
/// assert_eq!(path, Path::new("/work/b/c"));
/// ```
pub fn resolve_path(cwd: &Path, text: &str) -> Result<PathBuf, ModelPathFault> {
    if text.trim().is_empty() {
        return Err(ModelPathFault::Empty);
    }
    if text.contains('\0') {
        return Err(ModelPathFault::Nul);
    }
    if text == "~" || text.starts_with("~/") {
        return Err(ModelPathFault::Home);
    }
    if text.contains("://") {
        return Err(ModelPathFault::Url(text.to_owned()));
    }
    Ok(normalize_path(&cwd.join(text)))
}

/// Returns the absolute path without `.` and `..`, resolved lexically.
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_paths_as_models_write_them() {
        let ok = |text: &str| resolve_path(Path::new("/w/d"), text).unwrap().to_string_lossy().into_owned();
        for (text, expected) in [
            (".", "/w/d"),
            ("a", "/w/d/a"),
            ("a/", "/w/d/a"),
            ("./a//b", "/w/d/a/b"),
            ("../x", "/w/x"),
            ("a/../../x", "/w/x"),
            ("../../../../x", "/x"),
            ("/etc/x", "/etc/x"),
            ("/", "/"),
            ("./~", "/w/d/~"),
            ("~user", "/w/d/~user"),
        ] {
            assert_eq!(ok(text), expected, "{text}");
        }
    }

    #[test]
    fn rejects_text_that_is_no_path() {
        for (text, fault) in [
            ("", ModelPathFault::Empty),
            ("  ", ModelPathFault::Empty),
            ("a\0b", ModelPathFault::Nul),
            ("~/x", ModelPathFault::Home),
            ("file:///x", ModelPathFault::Url("file:///x".into())),
        ] {
            assert_eq!(resolve_path(Path::new("/w"), text), Err(fault), "{text:?}");
        }
    }
}
