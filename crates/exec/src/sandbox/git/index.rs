//! Whether an index has all that was changed in another. `git status` on the host rewrites the index only to note new
//! times of files; that is no change that a commit from the sandbox could lose.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How large an index may be to be compared.
const LARGEST: u64 = 256 << 20;

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
fn bytes(file: &File) -> Option<Vec<u8>> {
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
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|_| index.starts_with(b"DIRC"))?;
    // Paths of version 4 are cut short, and not worth the work.
    let count = number(8).filter(|_| matches!(version, 2 | 3))?;
    let mut found = HashMap::new();
    let mut at = 12;
    for _ in 0..count {
        // Two times, device and inode; the mode; owner and size; the id; flags; the path and one to eight zeros.
        let path = at + 40 + id + 2;
        let flags = index.get(path - 2..path)?;
        let extended = usize::from(flags[0] & 0x40 != 0) * 2;
        let path = path + extended;
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        let known = (index.get(at + 24..at + 28)?, index.get(at + 40..path)?);
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
        at = at.checked_add(8)?.checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    (at + id == index.len()).then_some(found)
}
