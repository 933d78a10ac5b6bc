//! File name patterns in the text of a command: `hooks.d/*.sh`, `tools/$name.sh`, `x.{sh,py}`.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::sys;

/// The maximum number of directory entries.
const MAX_ENTRIES: usize = 2_000;

/// Replaces every expansion in the word by `*` or `?`. Returns `None` if there is none.
pub(super) fn to_pattern(word: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = word;
    // ends: each turn takes at least a byte
    while let Some((&byte, tail)) = rest.split_first() {
        let closing = match byte {
            b'[' => Some(b']'),
            b'{' => Some(b'}'),
            b'$' if tail.first() == Some(&b'{') => Some(b'}'),
            b'$' if tail.first() == Some(&b'(') => Some(b')'),
            _ => None,
        };
        let end = closing.and_then(|close| tail.iter().position(|&byte| byte == close));
        rest = match (byte, end) {
            (_, Some(end)) => {
                out.push(b'*');
                &tail[end + 1..]
            }
            (b'$', None) => {
                out.push(b'*');
                let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                &tail[tail.iter().position(|byte| !is_name(byte)).unwrap_or(tail.len())..]
            }
            _ => {
                out.push(byte);
                tail
            }
        };
    }
    out.iter().any(|byte| b"*?".contains(byte)).then_some(out)
}

/// Splits a pattern: the directory before its first `*` or `?`, the name with it, and the rest.
pub(super) fn split_pattern(pattern: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let first = pattern.iter().position(|byte| b"*?".contains(byte)).unwrap_or(pattern.len());
    let begin = pattern[..first].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let end = pattern[first..].iter().position(|&byte| byte == b'/').map_or(pattern.len(), |at| first + at);
    (&pattern[..begin], &pattern[begin..end], &pattern[end..])
}

/// Returns true if `name` matches the pattern.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut name_at, mut star) = (0, 0, None);
    // ends: each turn advances in the name, or advances the position after the last star
    while name_at < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, name_at));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[name_at] => {
                at += 1;
                name_at += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, name_at) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// Returns the entries of a directory whose names match the pattern.
pub(super) fn matching_entries(directory: &Path, pattern: &[u8]) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    let Ok(real) = crate::fs::canonicalize(directory) else { return found };
    let Ok(open) = sys::root(&real) else { return found };
    let _seen = sys::list(open.as_fd(), |name, _| {
        if matches_pattern(pattern, name.as_bytes()) {
            found.push(directory.join(name));
        }
        left -= 1;
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_patterns() {
        for (word, expected) in [
            ("a/b.sh", None),
            ("./h.s?", Some("./h.s?")),
            ("tools/$x.sh", Some("tools/*.sh")),
            ("tools/${x}/$(y z).sh", Some("tools/*/*.sh")),
            ("h.{sh,py}", Some("h.*")),
            ("h.[sx]h", Some("h.*h")),
        ] {
            let found = to_pattern(word.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{word}");
        }
        assert_eq!(split_pattern(b"a/b*/c"), (&b"a/"[..], &b"b*"[..], &b"/c"[..]));
        assert_eq!(split_pattern(b"h.?"), (&b""[..], &b"h.?"[..], &b""[..]));
    }

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in
            [("*.sh", "a.sh", true), ("*.sh", "a.shx", false), ("a*b*c", "aXbbYc", true), ("?", "", false)]
        {
            assert_eq!(matches_pattern(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
