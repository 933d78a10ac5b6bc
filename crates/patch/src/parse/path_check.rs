//! Rejects paths in a patch that are surely mistakes: empty, NUL, a directory, `~/`, `file:/`, `\\?\`, quoted.

use super::{PatchSyntaxError, clip};

/// Returns the path if a file can have it. The tree decides whether a patch may touch it.
pub(super) fn check_path(path: &str, line: usize) -> Result<String, PatchSyntaxError> {
    let shown = clip(path);
    let (what, hint) = if path.is_empty() {
        ("no file is named".to_owned(), "name it by its path from the working directory")
    } else if path.contains('\0') {
        ("the path holds a NUL character".to_owned(), "no file can have that name: leave it out")
    } else if path.ends_with('/') || matches!(path.rsplit('/').next(), Some("." | "..")) {
        (format!("`{shown}` is a directory's name"), "name the file itself")
    } else if path.starts_with("~/") {
        (format!("`~` in `{shown}` stands for nothing here"), "write the path in full")
    } else if path.starts_with("file:/") || path.starts_with(r"\\?\") {
        (format!("`{shown}` is not a path"), "write a path from the working directory")
    } else {
        return Ok(path.to_owned());
    };
    Err(PatchSyntaxError::new(line, what, hint))
}

/// Returns the path if it is not quoted. A quoted path would create a file with quotes in its name.
pub(super) fn check_unquoted_path(path: &str, line: usize) -> Result<String, PatchSyntaxError> {
    let quoted = |quote: char| path.len() > 1 && path.starts_with(quote) && path.ends_with(quote);
    if ['"', '\'', '`'].into_iter().any(quoted) {
        let what = format!("the path {} is in quotes", clip(path));
        return Err(PatchSyntaxError::new(line, what, "write it without quotes"));
    }
    check_path(path, line)
}
