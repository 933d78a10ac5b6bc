//! Paths in an index: which of them git itself would take, on any file system.
//!
//! git looks at a path when it goes into an index, and never again when it comes out of one. An entry `.git/hooks/x` that
//! is already there is checked out like any other.

/// The longest path that is looked at.
pub(super) const LONGEST: usize = 4096;

/// Letters that HFS+ passes over in a name, as they are in UTF-8.
const IGNORED: [(u32, u32); 4] = [(0x200c, 0x200f), (0x202a, 0x202e), (0x206a, 0x206f), (0xfeff, 0xfeff)];

/// Whether every part of `path` is a name that may be in a working tree.
pub(super) fn is_plain(path: &[u8]) -> bool {
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_part)
}

/// Whether `part` may be a part of a path. On Windows a backslash divides too.
fn is_part(part: &[u8]) -> bool {
    let git = |part: &[u8]| is_git(part) || is_git(&visible(part));
    !matches!(part, b"" | b"." | b"..") && !part.split(|byte| *byte == b'\\').any(git)
}

/// `.git` and `git~1` in any case, also with what NTFS drops or takes for the name of a stream.
fn is_git(part: &[u8]) -> bool {
    let rest = [b".git".as_slice(), b"git~1"].iter().find_map(|name| {
        let (start, rest) = part.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(rest)
    });
    let Some(rest) = rest else { return false };
    let name = rest.split(|byte| *byte == b':').next().unwrap_or_default();
    name.iter().all(|byte| matches!(byte, b'.' | b' '))
}

/// `part` without the letters that HFS+ passes over.
fn visible(part: &[u8]) -> Vec<u8> {
    if part.is_ascii() {
        return part.to_vec();
    }
    let ignored =
        |letter: &char| IGNORED.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(*letter)));
    let text = String::from_utf8_lossy(part);
    text.chars().filter(|letter| !ignored(letter)).collect::<String>().into_bytes()
}
