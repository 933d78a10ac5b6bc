//! Validates the syntax of a path in a patch, without any file access.

use std::path::{Component, Path, PathBuf};

/// The start of a path and its rest, which has at least one part. No part is `.` or `..`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathStart {
    /// Relative to the root of the tree.
    Relative(PathBuf),
    /// Relative to the root of the file system.
    Absolute(PathBuf),
}

/// Parses `text`. Also returns the directories that it enters and leaves again by `..`.
pub(super) fn parse_path(text: &str) -> Result<(PathStart, Vec<PathBuf>), String> {
    if text.is_empty() {
        return Err("the path is empty; name a file".to_owned());
    }
    if text.contains('\0') {
        return Err(format!("the path {text:?} has a NUL in it, which no file name has"));
    }
    if text == "~" || text.starts_with("~/") {
        return Err(format!("`{text}` begins with `~`, which only a shell understands; spell the path out"));
    }
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return Err(format!("`{text}` is a URL; give a plain path"));
    }
    if text.starts_with(r"\\?\") || text.starts_with(r"\\.\") {
        return Err(format!("`{text}` is a Windows device path; give a plain path"));
    }
    match text.rsplit('/').next() {
        Some("") => return Err(format!("`{text}` ends in `/`, so it names a directory; name a file")),
        Some("." | "..") => return Err(format!("`{text}` names a directory; name a file")),
        Some(_) | None => {}
    }
    let absolute = text.starts_with('/');
    let mut left_dirs = Vec::new();
    let mut path = if absolute { PathBuf::from("/") } else { PathBuf::new() };
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                let inside = path.clone();
                if !path.pop() {
                    return Err(format!("`{text}` leaves the directory it starts in; stay inside"));
                }
                left_dirs.push(inside);
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok((if absolute { PathStart::Absolute(path) } else { PathStart::Relative(path) }, left_dirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_names_no_file_is_refused() {
        for (text, why) in [
            ("", "is empty"),
            ("a\0b", "NUL"),
            ("~", "shell"),
            ("~/x", "shell"),
            ("file:///x", "URL"),
            ("FILE:x", "URL"),
            (r"\\?\C:\x", "Windows"),
            ("a/", "directory"),
            ("/", "directory"),
            (".", "directory"),
            ("a/.", "directory"),
            ("a/..", "directory"),
            ("..", "directory"),
            ("../x", "leaves"),
            ("a/../../x", "leaves"),
            ("/../x", "leaves"),
        ] {
            let refused = parse_path(text).unwrap_err();
            assert!(refused.contains(why), "{text:?}: {refused}");
        }
    }

    #[test]
    fn dots_inside_are_worked_out() {
        let rows: [(&str, &str, &[&str]); 4] = [
            ("a/../b", "b", &["a"]),
            ("./a//b", "a/b", &[]),
            ("~x", "~x", &[]),
            ("a/b/../../c", "c", &["a/b", "a"]),
        ];
        for (text, path, left) in rows {
            let left = left.iter().map(PathBuf::from).collect();
            assert_eq!(parse_path(text), Ok((PathStart::Relative(path.into()), left)), "{text}");
        }
        assert_eq!(parse_path("/a/./b/../c"), Ok((PathStart::Absolute("/a/c".into()), vec!["/a/b".into()])));
    }
}
