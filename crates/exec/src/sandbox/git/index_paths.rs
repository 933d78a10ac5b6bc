//! Checks paths in an index: accepts only those that git itself would accept, on any file system.
//!
//! Git checks a path when it enters an index, and never again on checkout. An entry `.git/hooks/x` that is already
//! there is checked out like any other.

/// The maximum length of a path.
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// Code points that HFS+ ignores in a name.
const HFS_IGNORED_CODE_POINTS: [(u32, u32); 4] =
    [(0x200c, 0x200f), (0x202a, 0x202e), (0x206a, 0x206f), (0xfeff, 0xfeff)];

/// Returns true if every component of `path` is allowed in a working tree.
pub(super) fn is_safe_tree_path(path: &[u8]) -> bool {
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_part)
}

/// Returns true if `part` may be a component of a path. On Windows a backslash separates too.
fn is_part(part: &[u8]) -> bool {
    let git = |part: &[u8]| is_dot_git(part) || is_dot_git(&without_hfs_ignored(part));
    !matches!(part, b"" | b"." | b"..") && !part.split(|byte| *byte == b'\\').any(git)
}

/// Matches `.git` and `git~1` in any case, also with suffixes that NTFS drops or takes for a stream name.
fn is_dot_git(part: &[u8]) -> bool {
    let rest = [b".git".as_slice(), b"git~1"].iter().find_map(|name| {
        let (start, rest) = part.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(rest)
    });
    let Some(rest) = rest else { return false };
    let name = rest.split(|byte| *byte == b':').next().unwrap_or_default();
    name.iter().all(|byte| matches!(byte, b'.' | b' '))
}

/// Returns `part` without the code points that HFS+ ignores.
fn without_hfs_ignored(part: &[u8]) -> Vec<u8> {
    if part.is_ascii() {
        return part.to_vec();
    }
    let ignored = |letter: &char| {
        HFS_IGNORED_CODE_POINTS.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(*letter)))
    };
    let text = String::from_utf8_lossy(part);
    text.chars().filter(|letter| !ignored(letter)).collect::<String>().into_bytes()
}
