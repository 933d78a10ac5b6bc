//! Whether two indexes hold the same entries. `git status` on the host rewrites the index only to note new times of
//! files; that is no change that a commit from the sandbox could lose.

use std::fs::File;
use std::io::Read;

/// How large an index may be to be compared.
const LARGEST: u64 = 256 << 20;

/// Whether both files hold the same paths, objects and flags.
pub(super) fn agree(one: &File, other: &File) -> bool {
    let (Some(one), Some(other)) = (bytes(one), bytes(other)) else { return false };
    [20, 32].into_iter().any(|id| {
        let (Some(one), Some(other)) = (entries(&one, id), entries(&other, id)) else { return false };
        one == other
    })
}

fn bytes(file: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Read from the start, wherever another reader of the same file left off.
    let mut file = file;
    std::io::Seek::rewind(&mut file).ok()?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST).then_some(bytes)
}

/// The entries of an index whose object ids have `id` bytes, without what was noted of the files on disk. `None` if it is
/// no such index, or if its entries are not all in it.
fn entries(index: &[u8], id: usize) -> Option<Vec<&[u8]>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|_| index.starts_with(b"DIRC"))?;
    // Paths of version 4 are cut short, and not worth the work.
    let count = number(8).filter(|_| matches!(version, 2 | 3))?;
    let mut found = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        // Two times, device and inode; the mode; owner and size; the id; flags; the path and one to eight zeros.
        let path = at + 40 + id + 2;
        let flags = index.get(path - 2..path)?;
        let extended = usize::from(flags[0] & 0x40 != 0) * 2;
        let path = path + extended;
        let length = index.get(path..)?.iter().position(|byte| *byte == 0)?;
        found.push(index.get(at + 24..at + 28)?);
        found.push(index.get(at + 40..path + length)?);
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
