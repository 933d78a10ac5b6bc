//! Git index: validated to its last byte before it lands, and compared with another.
//!
//! Git trusts an index. Misleading data does not land, and data that git can compute itself is omitted: a false tree
//! cache (`TREE`) would be committed instead of the staged files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::index_paths;
use super::object_format::ObjectFormat;

/// The maximum size of an index.
pub(super) const MAX_INDEX_BYTES: u64 = 64 << 20;

const HEADER_BYTES: usize = 12;
/// Offsets in an entry: times, device and inode come before the mode; owner and size before the id.
const MODE_OFFSET: usize = 24;
const ID_OFFSET: usize = 40;

const ASSUME_VALID_FLAG: u16 = 0x8000;
const EXTENDED_FLAG: u16 = 0x4000;
const STAGE_MASK: u16 = 0x3000;
const NAME_LENGTH_MASK: u16 = 0x0fff;
/// Bits of the extended flags.
const SKIP_WORKTREE_FLAG: u16 = 0x4000;
const INTENT_TO_ADD_FLAG: u16 = 0x2000;

const GITLINK_MODE: u32 = 0o160_000;
const DIRECTORY_MODE: u32 = 0o40_000;

/// One entry.
#[derive(Debug)]
pub(super) struct IndexEntry<'a> {
    pub(super) path: &'a [u8],
    mode: u32,
    /// The offset of its flags.
    flags_offset: usize,
    flags: u16,
    extended_flags: u16,
}

/// Paths of the host's index with properties that a sandbox may not add.
#[derive(Debug, Default)]
pub(super) struct HostIndexPaths {
    /// Other repositories (gitlinks).
    pub(super) gitlinks: HashSet<Vec<u8>>,
    /// Entries that git is told to assume unchanged or to skip.
    assume_valid: HashSet<Vec<u8>>,
    skip_worktree: HashSet<Vec<u8>>,
    /// The host has a sparse checkout.
    pub(super) sparse: bool,
}

/// An index reduced to its entries.
#[derive(Debug)]
pub(super) struct CheckedIndex {
    pub(super) bytes: Vec<u8>,
    /// Paths of gitlinks that the host's index does not have.
    pub(super) gitlinks: Vec<Vec<u8>>,
}

impl HostIndexPaths {
    /// Reads the host's index. Returns the default if it is malformed.
    pub(super) fn from_index(index: &[u8], format: ObjectFormat) -> Self {
        let mut known = Self::default();
        let read = for_each_entry(index, format, |entry| {
            let path = || entry.path.to_vec();
            if entry.mode == GITLINK_MODE {
                known.gitlinks.insert(path());
            }
            if entry.flags & ASSUME_VALID_FLAG != 0 {
                known.assume_valid.insert(path());
            }
            if entry.extended_flags & SKIP_WORKTREE_FLAG != 0 {
                known.skip_worktree.insert(path());
            }
            Some(())
        });
        if read.is_some() { known } else { Self::default() }
    }
}

/// Validates `index` and reduces it to the part that may land. Returns `None` if it is malformed, or contains an
/// entry that must not land.
pub(super) fn check_index(
    mut index: Vec<u8>,
    format: ObjectFormat,
    known: &HostIndexPaths,
) -> Option<CheckedIndex> {
    let mut gitlinks = Vec::new();
    let mut changed = Vec::new();
    let (end, sparse) = for_each_entry(&index, format, |entry| {
        if entry.mode == GITLINK_MODE && !known.gitlinks.contains(entry.path) {
            gitlinks.push(entry.path.to_vec());
        }
        // The flag could hide that a file was changed.
        if entry.flags & ASSUME_VALID_FLAG != 0 && !known.assume_valid.contains(entry.path) {
            changed.push((entry.flags_offset, entry.flags & !ASSUME_VALID_FLAG));
        }
        if entry.extended_flags & SKIP_WORKTREE_FLAG != 0
            && !known.sparse
            && !known.skip_worktree.contains(entry.path)
        {
            changed.push((entry.flags_offset + 2, entry.extended_flags & !SKIP_WORKTREE_FLAG));
            (entry.mode != DIRECTORY_MODE).then_some(())?;
        }
        Some(())
    })?;
    for (at, flags) in changed {
        index.get_mut(at..at + 2)?.copy_from_slice(&flags.to_be_bytes());
    }
    index.truncate(end);
    if sparse {
        index.extend(b"sdir\0\0\0\0");
    }
    let sum = format.hash_bytes(&index);
    index.extend(sum);
    Some(CheckedIndex { bytes: index, gitlinks })
}

/// Calls `each` with every entry. Returns the end of the entries, and whether the index is sparse.
fn for_each_entry(
    index: &[u8],
    format: ObjectFormat,
    mut each: impl FnMut(IndexEntry<'_>) -> Option<()>,
) -> Option<(usize, bool)> {
    let id = format.id_length();
    let body = index.get(..index.len().checked_sub(id)?)?;
    let sum = &index[body.len()..];
    // All zeros: `index.skipHash`.
    if sum.iter().any(|byte| *byte != 0) && sum != format.hash_bytes(body) {
        return None;
    }
    let version =
        read_u32(body, 4).filter(|version| body.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = read_u32(body, 8)?;
    let (mut at, mut path, mut stage) = (HEADER_BYTES, Vec::new(), 0);
    let mut directories = false;
    // ends: every entry takes bytes of `body`
    for _ in 0..count {
        let entry = IndexEntryHeader::read(body, at, (id, version))?;
        let relation;
        (relation, at) = entry.parse_path(body, at, &mut path, version == 4)?;
        // An unmerged path may have several entries.
        let other = relation.is_same && stage > 0 && entry.flags & STAGE_MASK > stage;
        if !relation.is_after && !other {
            return None;
        }
        stage = entry.flags & STAGE_MASK;
        let plain = if entry.mode == DIRECTORY_MODE { path.strip_suffix(b"/")? } else { &path };
        directories |= entry.mode == DIRECTORY_MODE;
        if !index_paths::is_safe_tree_path(plain.get(relation.checked_length..)?) {
            return None;
        }
        each(IndexEntry {
            path: &path,
            mode: entry.mode,
            flags_offset: entry.flags_offset,
            flags: entry.flags,
            extended_flags: entry.extended_flags,
        })?;
    }
    let sparse = check_extensions(body, at)?;
    (sparse || !directories).then_some((at, sparse))
}

/// The header of an entry, before its path.
struct IndexEntryHeader {
    mode: u32,
    flags_offset: usize,
    flags: u16,
    extended_flags: u16,
    path_offset: usize,
}

/// The relation of a path to the previous one.
struct PathRelation {
    /// The path sorts after the previous one.
    is_after: bool,
    is_same: bool,
    /// The length of the leading components that were checked with the previous path.
    checked_length: usize,
}

impl IndexEntryHeader {
    fn read(body: &[u8], start: usize, (id, version): (usize, u32)) -> Option<Self> {
        let mode = read_u32(body, start + MODE_OFFSET)?;
        if !matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | DIRECTORY_MODE | GITLINK_MODE) {
            return None;
        }
        let flags_offset = start + ID_OFFSET + id;
        let flags = read_u16(body, flags_offset)?;
        let (extended_flags, path_offset) = if flags & EXTENDED_FLAG == 0 {
            (0, flags_offset + 2)
        } else {
            (read_u16(body, flags_offset + 2)?, flags_offset + 4)
        };
        let fits = extended_flags & !(SKIP_WORKTREE_FLAG | INTENT_TO_ADD_FLAG) == 0
            && (version > 2 || flags & EXTENDED_FLAG == 0);
        // Git collapses a directory only if it is marked as skipped.
        let looked_at = mode == DIRECTORY_MODE && extended_flags & SKIP_WORKTREE_FLAG == 0;
        (fits && !looked_at).then_some(Self { mode, flags_offset, flags, extended_flags, path_offset })
    }

    /// Sets `path` to the path of this entry, and returns the offset of the next one.
    fn parse_path(
        &self,
        body: &[u8],
        start: usize,
        path: &mut Vec<u8>,
        is_compressed: bool,
    ) -> Option<(PathRelation, usize)> {
        let (drop, from) =
            if is_compressed { varint(body, self.path_offset)? } else { (path.len(), self.path_offset) };
        let keep = path.len().checked_sub(drop)?;
        let rest = body.get(from..)?;
        let length = rest.iter().take(index_paths::MAX_PATH_BYTES + 1).position(|byte| *byte == 0)?;
        let rest = &rest[..length];
        let order = rest.cmp(&path[keep..]);
        let shared = path[keep..].iter().zip(rest).take_while(|(old, new)| old == new).count();
        let checked_length =
            path[..keep + shared].iter().rposition(|byte| *byte == b'/').map_or(0, |last| last + 1);
        path.truncate(keep);
        path.extend(rest);
        // The length is stated twice, and git trusts the other one.
        let stated_length = usize::from(self.flags & NAME_LENGTH_MASK);
        if path.is_empty()
            || path.len() > index_paths::MAX_PATH_BYTES
            || stated_length != path.len().min(usize::from(NAME_LENGTH_MASK))
        {
            return None;
        }
        let end = from + length;
        let next = if is_compressed { end + 1 } else { start + (end - start) / 8 * 8 + 8 };
        let relation = PathRelation { is_after: order.is_gt(), is_same: order.is_eq(), checked_length };
        body.get(end..next)?.iter().all(|byte| *byte == 0).then_some((relation, next))
    }
}

/// Validates the extensions after the entries. Returns whether the index is sparse.
fn check_extensions(body: &[u8], mut at: usize) -> Option<bool> {
    let mut sparse = false;
    // ends: `at` grows
    while at < body.len() {
        let name = body.get(at..at + 4)?;
        let length = usize::try_from(read_u32(body, at + 4)?).ok()?;
        at = at.checked_add(8)?.checked_add(length).filter(|end| *end <= body.len())?;
        match name {
            b"sdir" if length == 0 => sparse = true,
            // Lower case: an extension that git must understand. `link` has entries elsewhere.
            _ if !name[0].is_ascii_uppercase() => return None,
            _ => {}
        }
    }
    Some(sparse)
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Reads a variable-length number, and returns it with its end.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0;
    // ends: `at` grows
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value = value << 7 | usize::from(byte & 0x7f);
        if value > index_paths::MAX_PATH_BYTES {
            return None;
        }
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value += 1;
    }
}

/// Returns true if `new` includes every change of paths, objects and flags from `then` to `now`.
pub(super) fn includes_changes(then: &File, now: &File, new: &File) -> bool {
    let (Some(then), Some(now)) = (read_index_file(then), read_index_file(now)) else { return false };
    let mut new_bytes = None;
    [20, 32].into_iter().any(|id| {
        let (Some(then), Some(now)) = (parse_entries(&then, id), parse_entries(&now, id)) else {
            return false;
        };
        if then == now {
            return true;
        }
        let new = new_bytes.get_or_insert_with(|| read_index_file(new));
        let Some(new) = new.as_ref().and_then(|new| parse_entries(new, id)) else { return false };
        let changed = now.keys().chain(then.keys()).filter(|path| then.get(*path) != now.get(*path));
        changed.into_iter().all(|path| new.get(path) == now.get(path))
    })
}

/// Reads the file from its start, independent of the position of other readers.
pub(super) fn read_index_file(file: &File) -> Option<Vec<u8>> {
    let size = rustix::fs::fstat(file).ok().map(|stat| super::sys::size(&stat))?;
    let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= MAX_INDEX_BYTES)?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Mode, id and flags by path and stage.
type IndexEntryMap<'a> = HashMap<(&'a [u8], u8), (&'a [u8], &'a [u8])>;

/// Returns the entries of an index whose object ids have `id` bytes, without cached file metadata. Returns `None` if
/// it is malformed, or if some entries are stored elsewhere.
fn parse_entries(index: &[u8], id: usize) -> Option<IndexEntryMap<'_>> {
    let version = read_u32(index, 4).filter(|_| index.starts_with(b"DIRC"))?;
    // Version 4 compresses paths, which is not worth the effort.
    let count = read_u32(index, 8).filter(|_| matches!(version, 2 | 3))?;
    let mut found = HashMap::new();
    let mut at = HEADER_BYTES;
    for _ in 0..count {
        // Layout: two times, device and inode; the mode; owner and size; the id; flags; the path and one to eight
        // zeros.
        let path = at + ID_OFFSET + id + 2;
        let flags = index.get(path - 2..path)?;
        let extended = usize::from(flags[0] & 0x40 != 0) * 2;
        let path = path + extended;
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        let known = (index.get(at + MODE_OFFSET..at + MODE_OFFSET + 4)?, index.get(at + ID_OFFSET..path)?);
        found.insert((index.get(path..path + length)?, flags[0] & 0x30), known);
        at += (path + length - at) / 8 * 8 + 8;
    }
    // The extensions must fill the rest exactly, otherwise the ids have another length.
    while at + id < index.len() {
        let name = index.get(at..at + 4)?;
        // Lower case: an extension without which the entries cannot be understood.
        if !name[0].is_ascii_uppercase() {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(read_u32(index, at + 4)?).ok()?)?;
    }
    (at + id == index.len()).then_some(found)
}
