//! Checks of file content before it lands in the host's git directory: object ids, reference names, magic bytes.

use std::path::Path;

use super::allowlist::ContentForm;
use super::index_paths;
use super::object_format::ObjectFormat;
use super::path_text::{normalize, parts};

/// The maximum size of a reference, including the name in a symbolic one.
const MAX_REFERENCE_BYTES: u64 = 1024;
const MAX_CONFIG_BYTES: u64 = 1 << 20;
const MAX_TEXT_BYTES: u64 = 16 << 20;
const MAX_PACK_BYTES: u64 = 4 << 30;

/// The method of checking a form's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentCheck {
    /// The complete content, in memory.
    Whole,
    /// Its first bytes.
    Start,
}

impl ContentForm {
    /// Returns the maximum size.
    pub(super) fn size_limit(self) -> u64 {
        match self {
            Self::Ref | Self::Head | Self::BranchOrId | Self::Commondir => MAX_REFERENCE_BYTES,
            Self::Gitdir => 2 * 4096,
            Self::Config => MAX_CONFIG_BYTES,
            Self::ObjectIds | Self::Promisor | Self::PackedRefs => MAX_TEXT_BYTES,
            Self::Reflog | Self::Text | Self::Rerere => MAX_TEXT_BYTES,
            Self::Index => super::index::MAX_INDEX_BYTES,
            Self::LooseObject | Self::Pack => MAX_PACK_BYTES,
            Self::PackIndex => super::pack_index::MAX_PACK_INDEX_BYTES,
        }
    }

    /// Returns the method of checking.
    pub(super) fn check(self) -> ContentCheck {
        match self {
            Self::Ref | Self::Head | Self::BranchOrId | Self::Commondir | Self::Gitdir => ContentCheck::Whole,
            Self::ObjectIds | Self::Config | Self::PackedRefs | Self::Promisor => ContentCheck::Whole,
            Self::Reflog | Self::Text | Self::Rerere | Self::Index => ContentCheck::Start,
            Self::LooseObject | Self::Pack | Self::PackIndex => ContentCheck::Start,
        }
    }

    /// Returns true if a file of this form may begin with `start`, which holds at least four bytes unless the file is
    /// shorter.
    pub(super) fn is_valid_start(self, start: &[u8]) -> bool {
        match self {
            Self::LooseObject => is_zlib_start(start),
            Self::Pack => start.starts_with(b"PACK"),
            Self::PackIndex => start.starts_with(b"\xfftOc"),
            Self::Index => start.starts_with(b"DIRC"),
            _ => true,
        }
    }
}

/// Checks the two bytes that a zlib stream begins with.
fn is_zlib_start(start: &[u8]) -> bool {
    matches!(start, [first, second, ..] if first & 0x0f == 8 && (u32::from(*first) << 8 | u32::from(*second)) % 31 == 0)
}

/// Returns true if `text` may be the content of a reference. Git substitutes the objects in `refs/replace` for
/// others, so a symbolic reference must not lead there.
pub(super) fn is_reference(text: &[u8]) -> bool {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    match line.strip_prefix(b"ref: ") {
        Some(target) => {
            target.strip_prefix(b"refs/").is_some_and(|name| is_ref_name(name) && !is_replace_ref(name))
        }
        None => is_object_id(line),
    }
}

/// Returns true if `text` may be the content of `HEAD`: a branch, or an object id.
pub(super) fn is_head(text: &[u8]) -> bool {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    match line.strip_prefix(b"ref: ") {
        Some(target) => target.strip_prefix(b"refs/heads/").is_some_and(is_ref_name),
        None => is_object_id(line),
    }
}

/// Returns true if a reference of this name, without `refs/`, substitutes one object for another.
pub(super) fn is_replace_ref(name: &[u8]) -> bool {
    const REPLACE: &[u8] = b"replace";
    let first = name.split(|byte| *byte == b'/').next().unwrap_or_default();
    first.eq_ignore_ascii_case(REPLACE)
}

/// Returns true if `text` is a reflog: two ids, the person, time and zone; then a message.
pub(super) fn is_reflog(text: &[u8], format: ObjectFormat) -> bool {
    let entry = |line: &[u8]| {
        let end = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
        let mut words = line[..end].splitn(3, |byte| *byte == b' ');
        let id = |word: Option<&[u8]>| word.is_some_and(|word| format.is_id(word));
        id(words.next()) && id(words.next()) && words.next().is_some_and(is_person)
    };
    let ended = text.is_empty() || text.ends_with(b"\n") && text != b"\n";
    ended && !text.contains(&0) && lines(text).all(entry)
}

/// Checks `name <mail> time zone`.
fn is_person(text: &[u8]) -> bool {
    let Some(end) = text.iter().rposition(|byte| *byte == b'>') else { return false };
    let (who, when) = text.split_at(end);
    let mut words = when[1..].split(|byte| *byte == b' ');
    let digits = |word: &[u8]| !word.is_empty() && word.len() < 20 && word.iter().all(u8::is_ascii_digit);
    let zone = |word: &[u8]| matches!(word, [b'+' | b'-', rest @ ..] if digits(rest));
    who.contains(&b'<')
        && !who.iter().any(u8::is_ascii_control)
        && words.next() == Some(b"".as_slice())
        && words.next().is_some_and(digits)
        && words.next().is_some_and(zone)
        && words.next().is_none()
}

/// Returns true if `text` is a list of recorded conflicts: a hash and a path for each, to which git may write.
pub(super) fn is_rerere(text: &[u8]) -> bool {
    let entry = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'\t').unwrap_or(0);
        let (id, path) = entry.split_at(end);
        let id = id.split(|byte| *byte == b'.').next().unwrap_or_default();
        is_object_id(id) && path.get(1..).is_some_and(index_paths::is_safe_tree_path)
    };
    text.strip_suffix(b"\0").map_or(text.is_empty(), |text| text.split(|byte| *byte == 0).all(entry))
}

/// Returns true if `text` is object ids, one per line.
pub(super) fn is_id_list(text: &[u8]) -> bool {
    lines(text).all(is_object_id)
}

/// Returns true if `text` is an object id or the name of a branch.
pub(super) fn is_name_or_id(text: &[u8]) -> bool {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    is_object_id(line) || is_ref_name(line)
}

/// Returns true if `text` has the format of `git pack-refs`.
pub(super) fn is_packed_refs(text: &[u8]) -> bool {
    lines(text).enumerate().all(|(number, line)| match line {
        [b'#', ..] => number == 0,
        [b'^', peeled @ ..] => is_object_id(peeled),
        line => {
            let length = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
            let (id, name) = line.split_at(length);
            is_object_id(id)
                && name.strip_prefix(b" refs/").is_some_and(|name| is_ref_name(name) && !is_replace_ref(name))
        }
    })
}

/// Returns true if `text` leads from the worktree directory `at` to a `.git` inside `root`, judged by spelling alone.
pub(super) fn is_worktree_inside(text: &[u8], at: &Path, root: &Path) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let line = text.strip_suffix('\n').unwrap_or(text);
    if line.is_empty() || line.chars().any(char::is_control) {
        return false;
    }
    normalize(at, Path::new(line)).is_some_and(|tree| {
        let below = tree.strip_prefix(root).ok();
        // Excludes the root's own: that is the main tree, or the linked one by which this repository was found.
        let below = below.filter(|below| below.components().count() > 1);
        below.is_some_and(|below| {
            let names = parts(below);
            names.last() == Some(&b".git".as_slice())
                && names.iter().filter(|name| **name == b".git").count() == 1
        })
    })
}

/// Returns the lines of `text`; none if it is empty.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').filter(move |_| !text.is_empty())
}

/// Returns true if `text` is an object id.
pub(super) fn is_object_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns true if `name` is a reference name, without `refs/`.
pub(super) fn is_ref_name(name: &[u8]) -> bool {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    is_ref_name_parts(&parts)
}

/// Returns true if `parts` form a reference name, by the rules of `git check-ref-format`.
pub(super) fn is_ref_name_parts(parts: &[&[u8]]) -> bool {
    let length: usize = parts.iter().map(|part| part.len() + 1).sum();
    // The name must not look like an option, as in `git log -x`. Git itself refuses to create such a branch.
    let option = |number: usize, part: &[u8]| number <= 1 && part.starts_with(b"-");
    length < 1000
        && parts.iter().enumerate().all(|(number, part)| is_ref_component(part) && !option(number, part))
}

fn is_ref_component(part: &[u8]) -> bool {
    let odd = |byte: &u8| byte.is_ascii_control() || b" ~^:?*[\\".contains(byte);
    let pair = |two: &[u8]| two == b".." || two == b"@{";
    !part.is_empty()
        && part != b"@"
        && !part.starts_with(b".")
        && !part.ends_with(b".")
        && !part.ends_with(b".lock")
        && !part.iter().any(odd)
        && !part.windows(2).any(pair)
}
