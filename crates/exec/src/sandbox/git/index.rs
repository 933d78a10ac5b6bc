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
pub(super) const LARGEST: u64 = 64 << 20;

const START: usize = 12;
/// Offsets in an entry: times, device and inode come before the mode; owner and size before the id.
const MODE: usize = 24;
const ID: usize = 40;

const ASSUMED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
/// Bits of the extended flags.
const SKIPPED: u16 = 0x4000;
const INTENDED: u16 = 0x2000;

const GITLINK: u32 = 0o160_000;
const DIRECTORY: u32 = 0o40_000;

/// One entry.
#[derive(Debug)]
pub(super) struct IndexEntry<'a> {
    pub(super) path: &'a [u8],
    mode: u32,
    /// The offset of its flags.
    at: usize,
    flags: u16,
    more: u16,
}

/// Paths of the host's index with properties that a sandbox may not add.
#[derive(Debug, Default)]
pub(super) struct HostIndexPaths {
    /// Other repositories (gitlinks).
    pub(super) links: HashSet<Vec<u8>>,
    /// Entries that git is told to assume unchanged or to skip.
    assumed: HashSet<Vec<u8>>,
    skipped: HashSet<Vec<u8>>,
    /// The host has a sparse checkout.
    pub(super) sparse: bool,
}

/// An index reduced to its entries.
#[derive(Debug)]
pub(super) struct CheckedIndex {
    pub(super) bytes: Vec<u8>,
    /// Paths of gitlinks that the host's index does not have.
    pub(super) links: Vec<Vec<u8>>,
}

impl HostIndexPaths {
    /// Reads the host's index. Returns the default if it is malformed.
    pub(super) fn from_index(index: &[u8], format: ObjectFormat) -> Self {
        let mut known = Self::default();
        let read = walk(index, format, |entry| {
            let path = || entry.path.to_vec();
            if entry.mode == GITLINK {
                known.links.insert(path());
            }
            if entry.flags & ASSUMED != 0 {
                known.assumed.insert(path());
            }
            if entry.more & SKIPPED != 0 {
                known.skipped.insert(path());
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
    let mut links = Vec::new();
    let mut changed = Vec::new();
    let (end, sparse) = walk(&index, format, |entry| {
        if entry.mode == GITLINK && !known.links.contains(entry.path) {
            links.push(entry.path.to_vec());
        }
        // The flag could hide that a file was changed.
        if entry.flags & ASSUMED != 0 && !known.assumed.contains(entry.path) {
            changed.push((entry.at, entry.flags & !ASSUMED));
        }
        if entry.more & SKIPPED != 0 && !known.sparse && !known.skipped.contains(entry.path) {
            changed.push((entry.at + 2, entry.more & !SKIPPED));
            (entry.mode != DIRECTORY).then_some(())?;
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
    Some(CheckedIndex { bytes: index, links })
}

/// Calls `each` with every entry. Returns the end of the entries, and whether the index is sparse.
fn walk(
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
    let version = number(body, 4).filter(|version| body.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = number(body, 8)?;
    let (mut at, mut path, mut stage) = (START, Vec::new(), 0);
    let mut directories = false;
    // ends: every entry takes bytes of `body`
    for _ in 0..count {
        let entry = IndexEntryHeader::read(body, at, (id, version))?;
        let kept;
        (kept, at) = entry.name(body, at, &mut path, version == 4)?;
        // An unmerged path may have several entries.
        let other = kept.same && stage > 0 && entry.flags & STAGE > stage;
        if !kept.after && !other {
            return None;
        }
        stage = entry.flags & STAGE;
        let plain = if entry.mode == DIRECTORY { path.strip_suffix(b"/")? } else { &path };
        directories |= entry.mode == DIRECTORY;
        if !index_paths::is_safe_tree_path(plain.get(kept.known..)?) {
            return None;
        }
        each(IndexEntry {
            path: &path,
            mode: entry.mode,
            at: entry.at,
            flags: entry.flags,
            more: entry.more,
        })?;
    }
    let sparse = extensions(body, at)?;
    (sparse || !directories).then_some((at, sparse))
}

/// The header of an entry, before its path.
struct IndexEntryHeader {
    mode: u32,
    at: usize,
    flags: u16,
    more: u16,
    path: usize,
}

/// The relation of a path to the previous one.
struct PathRelation {
    /// The path sorts after the previous one.
    after: bool,
    same: bool,
    /// The length of the leading components that were checked with the previous path.
    known: usize,
}

impl IndexEntryHeader {
    fn read(body: &[u8], start: usize, (id, version): (usize, u32)) -> Option<Self> {
        let mode = number(body, start + MODE)?;
        if !matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | DIRECTORY | GITLINK) {
            return None;
        }
        let at = start + ID + id;
        let flags = half(body, at)?;
        let (more, path) = if flags & EXTENDED == 0 { (0, at + 2) } else { (half(body, at + 2)?, at + 4) };
        let fits = more & !(SKIPPED | INTENDED) == 0 && (version > 2 || flags & EXTENDED == 0);
        // Git collapses a directory only if it is marked as skipped.
        let looked_at = mode == DIRECTORY && more & SKIPPED == 0;
        (fits && !looked_at).then_some(Self { mode, at, flags, more, path })
    }

    /// Sets `path` to the path of this entry, and returns the offset of the next one.
    fn name(
        &self,
        body: &[u8],
        start: usize,
        path: &mut Vec<u8>,
        short: bool,
    ) -> Option<(PathRelation, usize)> {
        let (drop, from) = if short { varint(body, self.path)? } else { (path.len(), self.path) };
        let keep = path.len().checked_sub(drop)?;
        let rest = body.get(from..)?;
        let length = rest.iter().take(index_paths::LONGEST + 1).position(|byte| *byte == 0)?;
        let rest = &rest[..length];
        let order = rest.cmp(&path[keep..]);
        let shared = path[keep..].iter().zip(rest).take_while(|(old, new)| old == new).count();
        let known = path[..keep + shared].iter().rposition(|byte| *byte == b'/').map_or(0, |last| last + 1);
        path.truncate(keep);
        path.extend(rest);
        // The length is stated twice, and git trusts the other one.
        let told = usize::from(self.flags & LENGTH);
        if path.is_empty() || path.len() > index_paths::LONGEST || told != path.len().min(usize::from(LENGTH))
        {
            return None;
        }
        let end = from + length;
        let next = if short { end + 1 } else { start + (end - start) / 8 * 8 + 8 };
        let kept = PathRelation { after: order.is_gt(), same: order.is_eq(), known };
        body.get(end..next)?.iter().all(|byte| *byte == 0).then_some((kept, next))
    }
}

/// Validates the extensions after the entries. Returns whether the index is sparse.
fn extensions(body: &[u8], mut at: usize) -> Option<bool> {
    let mut sparse = false;
    // ends: `at` grows
    while at < body.len() {
        let name = body.get(at..at + 4)?;
        let length = usize::try_from(number(body, at + 4)?).ok()?;
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

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
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
        if value > index_paths::LONGEST {
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
        let (Some(then), Some(now)) = (entries(&then, id), entries(&now, id)) else { return false };
        if then == now {
            return true;
        }
        let new = new_bytes.get_or_insert_with(|| read_index_file(new));
        let Some(new) = new.as_ref().and_then(|new| entries(new, id)) else { return false };
        let changed = now.keys().chain(then.keys()).filter(|path| then.get(*path) != now.get(*path));
        changed.into_iter().all(|path| new.get(path) == now.get(path))
    })
}

/// Reads the file from its start, independent of the position of other readers.
pub(super) fn read_index_file(file: &File) -> Option<Vec<u8>> {
    let size = rustix::fs::fstat(file).ok().map(|stat| super::sys::size(&stat))?;
    let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Mode, id and flags by path and stage.
type IndexEntryMap<'a> = HashMap<(&'a [u8], u8), (&'a [u8], &'a [u8])>;

/// Returns the entries of an index whose object ids have `id` bytes, without cached file metadata. Returns `None` if
/// it is malformed, or if some entries are stored elsewhere.
fn entries(index: &[u8], id: usize) -> Option<IndexEntryMap<'_>> {
    let version = number(index, 4).filter(|_| index.starts_with(b"DIRC"))?;
    // Version 4 compresses paths, which is not worth the effort.
    let count = number(index, 8).filter(|_| matches!(version, 2 | 3))?;
    let mut found = HashMap::new();
    let mut at = START;
    for _ in 0..count {
        // Layout: two times, device and inode; the mode; owner and size; the id; flags; the path and one to eight
        // zeros.
        let path = at + ID + id + 2;
        let flags = index.get(path - 2..path)?;
        let extended = usize::from(flags[0] & 0x40 != 0) * 2;
        let path = path + extended;
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        let known = (index.get(at + MODE..at + MODE + 4)?, index.get(at + ID..path)?);
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
        at = at.checked_add(8)?.checked_add(usize::try_from(number(index, at + 4)?).ok()?)?;
    }
    (at + id == index.len()).then_some(found)
}
