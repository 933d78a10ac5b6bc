//! "Did you mean": finds names in a directory that resemble a missing one.

use std::ffi::OsStr;
use std::ops::ControlFlow;

use policy::DenyRead;
use rustix::fs::Mode;

use super::{FileHandle, sys};

/// The maximum number of directory entries that are compared, so a huge directory costs milliseconds.
const MAX_ENTRIES_COMPARED: usize = 4096;
/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// The maximum edit distance.
const MAX_EDIT_DISTANCE: usize = 4;

/// Returns up to three entries of `dir` that resemble `wanted`, the most similar first, without denied ones.
pub(super) fn similar_names(dir: &FileHandle, deny: &DenyRead, wanted: &OsStr) -> Vec<String> {
    let Ok(fd) = rustix::fs::openat(dir.fd(), ".", sys::LIST, Mode::empty()) else { return Vec::new() };
    let wanted = wanted.to_string_lossy();
    let mut alike: Vec<(usize, String)> = Vec::new();
    let mut seen = 0;
    // Names that were read before an error are still worth suggesting.
    let _ = sys::list(std::os::fd::AsFd::as_fd(&fd), &mut sys::DirBuffer::new(), |name, _| {
        seen += 1;
        if let Ok(text) = std::str::from_utf8(name)
            && let Some(typos) = distance(&wanted, text)
            && !text.chars().any(char::is_control)
            && deny.denying_entry_pattern(&dir.path().join(text)).is_none()
        {
            alike.push((typos, text.to_owned()));
        }
        if seen < MAX_ENTRIES_COMPARED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    alike.sort();
    alike.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Returns the distance of two names, or `None` if it is too large for a typo.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (a, b) = (wanted.to_lowercase(), name.to_lowercase());
    // One typo for three letters: shorter names would match anything.
    let limit = (a.chars().count() / 3).min(MAX_EDIT_DISTANCE);
    let by_stem = || match (a.split_once('.')?, b.split_once('.')?) {
        ((x, _), (y, _)) if x == y && !x.is_empty() => Some(limit + 1),
        _ => None,
    };
    edit_distance(&a, &b, limit).or_else(by_stem)
}

/// Returns the edit distance of `a` and `b` up to `limit`. A swap of neighbours counts as one edit.
fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let far = limit + 1;
    let mut before: Vec<usize> = vec![far; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).map(|j| j.min(far)).collect();
    for i in 1..=a.len() {
        let mut row = vec![far; b.len() + 1];
        if i <= limit {
            row[0] = i;
        }
        // Only the band around the diagonal can stay within the limit, so long hostile names stay cheap.
        for j in i.saturating_sub(limit).max(1)..=(i + limit).min(b.len()) {
            let edit = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = edit.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best.min(far);
        }
        before = std::mem::replace(&mut above, row);
    }
    Some(above[b.len()]).filter(|&typos| typos <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_of_names_is_bounded() {
        for (wanted, name, expected) in [
            ("main.rs", "main.rs", Some(0)),
            ("Main.rs", "main.rs", Some(0)),
            ("mian.rs", "main.rs", Some(1)),
            ("main.rs", "man.rs", Some(1)),
            ("scr", "src", Some(1)),
            ("index.js", "index.html", Some(3)),
            ("a", "A", Some(0)),
            ("a", "b", None),
            ("a", "bc", None),
            ("main.rs", "lib.rs", None),
            ("", "x", None),
            (".env", ".git", None),
        ] {
            assert_eq!(distance(wanted, name), expected, "{wanted} {name}");
        }
    }
}
