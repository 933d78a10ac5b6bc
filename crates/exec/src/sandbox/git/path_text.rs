//! Lexical path functions: normalization and display.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Normalizes `path` relative to `base`: resolves `.` and `..` lexically. Returns `None` if it climbs above the root.
pub(super) fn normalize(base: &Path, path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::RootDir => whole.push("/"),
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !whole.pop() {
                    return None;
                }
            }
            Component::Prefix(_) => return None,
        }
    }
    whole.is_absolute().then_some(whole)
}

/// Returns the components of a relative path.
pub(super) fn parts(path: &Path) -> Vec<&[u8]> {
    path.as_os_str().as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect()
}

/// Formats `path` for people: on one line, with a maximum length.
pub(super) fn display_path(path: &Path) -> String {
    const MAX_DISPLAY_CHARS: usize = 200;
    let text = path.to_string_lossy();
    let mut plain: String = text
        .chars()
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .take(MAX_DISPLAY_CHARS)
        .collect();
    if text.chars().nth(MAX_DISPLAY_CHARS).is_some() {
        plain.push('…');
    }
    plain
}
