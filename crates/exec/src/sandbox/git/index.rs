//! The index: read to its last byte before it lands, and compared with another.
//!
//! git believes an index. What could lead it astray is not landed, and what it could work out itself is left out: a list of
//! trees (`TREE`) that lies would be committed in place of what is staged.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::hash::Format;
use super::tracked;

/// How large an index may be.
pub(super) const LARGEST: u64 = 64 << 20;

const START: usize = 12;
/// Times, device and inode come before the mode; owner and size before the id.
const MODE: usize = 24;
const ID: usize = 40;

const ASSUMED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
/// Of the second flags.
const SKIPPED: u16 = 0x4000;
const INTENDED: u16 = 0x2000;

const GITLINK: u32 = 0o160_000;
const DIRECTORY: u32 = 0o40_000;

/// One entry.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a [u8],
    mode: u32,
    /// Where its flags are.
    at: usize,
    flags: u16,
    more: u16,
}

/// Paths of the host's index that have something a stranger may not add.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Other repositories.
    pub(super) links: HashSet<Vec<u8>>,
    /// Entries of which git is told not to look at the file.
    assumed: HashSet<Vec<u8>>,
    skipped: HashSet<Vec<u8>>,
    /// The host leaves out parts of the tree.
    pub(super) sparse: bool,
}

/// An index that is nothing but entries.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) bytes: Vec<u8>,
    /// Paths at which there is another repository, and that the host's index does not have as such.
    pub(super) links: Vec<Vec<u8>>,
}

impl Known {
    /// What the host's index has. Nothing if it cannot be read.
    pub(super) fn of(index: &[u8], format: Format) -> Self {
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

/// Reads `index` and leaves of it what may land. `None` if it is none, or if it holds what must not land.
pub(super) fn check(mut index: Vec<u8>, format: Format, known: &Known) -> Option<Checked> {
    let mut links = Vec::new();
    let mut changed = Vec::new();
    let (end, sparse) = walk(&index, format, |entry| {
        if entry.mode == GITLINK && !known.links.contains(entry.path) {
            links.push(entry.path.to_vec());
        }
        // A stranger could hide that a file was changed.
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
    let sum = format.hash(&index);
    index.extend(sum);
    Some(Checked { bytes: index, links })
}

/// Calls `each` with every entry. Says where they end, and whether there may be whole directories among them.
fn walk(
    index: &[u8],
    format: Format,
    mut each: impl FnMut(Entry<'_>) -> Option<()>,
) -> Option<(usize, bool)> {
    let id = format.bytes();
    let body = index.get(..index.len().checked_sub(id)?)?;
    let sum = &index[body.len()..];
    // All zeros: `index.skipHash`.
    if sum.iter().any(|byte| *byte != 0) && sum != format.hash(body) {
        return None;
    }
    let version = number(body, 4).filter(|version| body.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = number(body, 8)?;
    let (mut at, mut path, mut stage) = (START, Vec::new(), 0);
    let mut directories = false;
    // ends: every entry takes bytes of `body`
    for _ in 0..count {
        let entry = Head::read(body, at, (id, version))?;
        let kept;
        (kept, at) = entry.name(body, at, &mut path, version == 4)?;
        // Of a path that is not merged there may be several.
        let other = kept.same && stage > 0 && entry.flags & STAGE > stage;
        if !kept.after && !other {
            return None;
        }
        stage = entry.flags & STAGE;
        let plain = if entry.mode == DIRECTORY { path.strip_suffix(b"/")? } else { &path };
        directories |= entry.mode == DIRECTORY;
        if !tracked::is_plain(plain.get(kept.known..)?) {
            return None;
        }
        each(Entry { path: &path, mode: entry.mode, at: entry.at, flags: entry.flags, more: entry.more })?;
    }
    let sparse = extensions(body, at)?;
    (sparse || !directories).then_some((at, sparse))
}

/// What an entry has before its path.
struct Head {
    mode: u32,
    at: usize,
    flags: u16,
    more: u16,
    path: usize,
}

/// How a path stands to the one before it.
struct Kept {
    /// It comes after it.
    after: bool,
    same: bool,
    /// How much of it is whole parts that were looked at with the one before.
    known: usize,
}

impl Head {
    fn read(body: &[u8], start: usize, (id, version): (usize, u32)) -> Option<Self> {
        let mode = number(body, start + MODE)?;
        if !matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | DIRECTORY | GITLINK) {
            return None;
        }
        let at = start + ID + id;
        let flags = half(body, at)?;
        let (more, path) = if flags & EXTENDED == 0 { (0, at + 2) } else { (half(body, at + 2)?, at + 4) };
        let fits = more & !(SKIPPED | INTENDED) == 0 && (version > 2 || flags & EXTENDED == 0);
        // git leaves out whole directories only where it is not to look at them.
        let looked_at = mode == DIRECTORY && more & SKIPPED == 0;
        (fits && !looked_at).then_some(Self { mode, at, flags, more, path })
    }

    /// Makes `path` the path of this entry, and says where the next begins.
    fn name(&self, body: &[u8], start: usize, path: &mut Vec<u8>, short: bool) -> Option<(Kept, usize)> {
        let (drop, from) = if short { varint(body, self.path)? } else { (path.len(), self.path) };
        let keep = path.len().checked_sub(drop)?;
        let rest = body.get(from..)?;
        let length = rest.iter().take(tracked::LONGEST + 1).position(|byte| *byte == 0)?;
        let rest = &rest[..length];
        let order = rest.cmp(&path[keep..]);
        let shared = path[keep..].iter().zip(rest).take_while(|(old, new)| old == new).count();
        let known = path[..keep + shared].iter().rposition(|byte| *byte == b'/').map_or(0, |last| last + 1);
        path.truncate(keep);
        path.extend(rest);
        // The length is told twice, and git believes the other one.
        let told = usize::from(self.flags & LENGTH);
        if path.is_empty() || path.len() > tracked::LONGEST || told != path.len().min(usize::from(LENGTH)) {
            return None;
        }
        let end = from + length;
        let next = if short { end + 1 } else { start + (end - start) / 8 * 8 + 8 };
        let kept = Kept { after: order.is_gt(), same: order.is_eq(), known };
        body.get(end..next)?.iter().all(|byte| *byte == 0).then_some((kept, next))
    }
}

/// Reads what follows the entries. Says whether there may be whole directories among them.
fn extensions(body: &[u8], mut at: usize) -> Option<bool> {
    let mut sparse = false;
    // ends: `at` grows
    while at < body.len() {
        let name = body.get(at..at + 4)?;
        let length = usize::try_from(number(body, at + 4)?).ok()?;
        at = at.checked_add(8)?.checked_add(length).filter(|end| *end <= body.len())?;
        match name {
            b"sdir" if length == 0 => sparse = true,
            // Small letters: one that git must understand. `link` has entries elsewhere.
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

/// A small number as git writes it in few bytes, and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0;
    // ends: `at` grows
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value = value << 7 | usize::from(byte & 0x7f);
        if value > tracked::LONGEST {
            return None;
        }
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value += 1;
    }
}

/// Whether `new` has every change of paths, objects and flags that was made from `then` to `now`.
pub(super) fn includes(then: &File, now: &File, new: &File) -> bool {
    let (Some(then), Some(now)) = (bytes(then), bytes(now)) else { return false };
    let mut new_bytes = None;
    [20, 32].into_iter().any(|id| {
        let (Some(then), Some(now)) = (entries(&then, id), entries(&now, id)) else { return false };
        if then == now {
            return true;
        }
        let new = new_bytes.get_or_insert_with(|| bytes(new));
        let Some(new) = new.as_ref().and_then(|new| entries(new, id)) else { return false };
        let changed = now.keys().chain(then.keys()).filter(|path| then.get(*path) != now.get(*path));
        changed.into_iter().all(|path| new.get(path) == now.get(path))
    })
}

/// Reads it where it is, wherever another reader of the same file has come to.
pub(super) fn bytes(file: &File) -> Option<Vec<u8>> {
    let size = rustix::fs::fstat(file).ok().map(|stat| super::sys::size(&stat))?;
    let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Paths with their stage, and what is known of each: mode, id and flags.
type Entries<'a> = HashMap<(&'a [u8], u8), (&'a [u8], &'a [u8])>;

/// The entries of an index whose object ids have `id` bytes, without what was noted of the files on disk. `None` if it is
/// no such index, or if its entries are not all in it.
fn entries(index: &[u8], id: usize) -> Option<Entries<'_>> {
    let version = number(index, 4).filter(|_| index.starts_with(b"DIRC"))?;
    // Paths of version 4 are cut short, and not worth the work.
    let count = number(index, 8).filter(|_| matches!(version, 2 | 3))?;
    let mut found = HashMap::new();
    let mut at = START;
    for _ in 0..count {
        // Two times, device and inode; the mode; owner and size; the id; flags; the path and one to eight zeros.
        let path = at + ID + id + 2;
        let flags = index.get(path - 2..path)?;
        let extended = usize::from(flags[0] & 0x40 != 0) * 2;
        let path = path + extended;
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        let known = (index.get(at + MODE..at + MODE + 4)?, index.get(at + ID..path)?);
        found.insert((index.get(path..path + length)?, flags[0] & 0x30), known);
        at += (path + length - at) / 8 * 8 + 8;
    }
    // What follows must be whole, or else the ids have another length.
    while at + id < index.len() {
        let name = index.get(at..at + 4)?;
        // Small letters: an extension without which the entries cannot be understood.
        if !name[0].is_ascii_uppercase() {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(number(index, at + 4)?).ok()?)?;
    }
    (at + id == index.len()).then_some(found)
}
