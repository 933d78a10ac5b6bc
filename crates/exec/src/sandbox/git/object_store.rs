//! Reads commits, trees and tags of a host's repository by id, loose or packed, to find gitlinks.
//!
//! Nothing is verified here: a wrong answer only means that a path is watched, or not. Every length is bounded.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::inflate::Inflater;
use super::object_format::ObjectFormat;
use super::{delta, sys};

/// The maximum number of packs that are searched.
const MAX_PACKS: usize = 200;
/// The maximum size of an object.
const MAX_OBJECT_BYTES: usize = 16 << 20;
/// The maximum length of a delta chain; git makes chains of 50, and at most of 4095.
const MAX_DELTA_CHAIN: usize = 4_096;
/// The end of the fan-out table in an index.
const FAN_END: u64 = 8 + 256 * 4;

/// The objects of one repository.
pub(super) struct ObjectStore {
    git: OwnedFd,
    format: ObjectFormat,
    packs: Vec<StoredPack>,
    inflater: RefCell<Inflater>,
}

/// A pack and its index, both open.
struct StoredPack {
    index: File,
    pack: File,
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredObjectKind {
    Commit,
    Tree,
    Tag,
}

/// The start of a pack entry.
enum PackedEntry {
    FullObject(Option<StoredObjectKind>),
    OffsetDelta(u64),
    RefDelta(Vec<u8>),
}

impl ObjectStore {
    /// Opens the objects of the git directory `git`.
    pub(super) fn open(git: OwnedFd, format: ObjectFormat) -> Self {
        let mut names = Vec::new();
        if let Ok(directory) = sys::beneath(git.as_fd(), Path::new("objects/pack"), sys::LIST_FLAGS) {
            let _seen = sys::list(directory.as_fd(), |name, _| {
                if name.as_bytes().ends_with(b".idx") {
                    names.push(Path::new("objects/pack").join(name));
                }
                if names.len() < MAX_PACKS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        let open = |path: &Path| sys::beneath(git.as_fd(), path, sys::READ_FLAGS).ok().map(File::from);
        let packs = names.iter().filter_map(|name| {
            Some(StoredPack { index: open(name)?, pack: open(&name.with_extension("pack"))? })
        });
        let packs = packs.collect();
        Self { git, format, packs, inflater: RefCell::new(Inflater::new()) }
    }

    /// Returns the object with this id, unless it is a blob.
    pub(super) fn read(&self, id: &[u8]) -> Option<(StoredObjectKind, Vec<u8>)> {
        self.read_loose(id).or_else(|| self.read_packed(id))
    }

    fn read_loose(&self, id: &[u8]) -> Option<(StoredObjectKind, Vec<u8>)> {
        let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = format!("objects/{}/{}", digits.get(..2)?, digits.get(2..)?);
        let file = File::from(sys::beneath(self.git.as_fd(), Path::new(&path), sys::READ_FLAGS).ok()?);
        let whole = self.inflate_object(&mut BufReader::new(file))?;
        let end = whole.iter().position(|&byte| byte == 0)?;
        let kind = match whole[..end].split(|&byte| byte == b' ').next()? {
            b"commit" => StoredObjectKind::Commit,
            b"tree" => StoredObjectKind::Tree,
            b"tag" => StoredObjectKind::Tag,
            _ => return None,
        };
        Some((kind, whole[end + 1..].to_vec()))
    }

    fn read_packed(&self, id: &[u8]) -> Option<(StoredObjectKind, Vec<u8>)> {
        let (mut pack, mut at) = self.find(id)?;
        let mut deltas: Vec<Vec<u8>> = Vec::new();
        // ends: only so many deltas are followed
        while deltas.len() < MAX_DELTA_CHAIN {
            let mut from = BufReader::new(PackReader { file: &pack.pack, at });
            let entry = read_entry_header(&mut from, at, self.format)?;
            if let PackedEntry::FullObject(kind) = entry {
                let kind = kind?;
                let mut content = self.inflate_object(&mut from)?;
                for change in deltas.iter().rev() {
                    content = delta::apply(&content, change, MAX_OBJECT_BYTES)?;
                }
                return Some((kind, content));
            }
            deltas.push(self.inflate_object(&mut from)?);
            match entry {
                PackedEntry::OffsetDelta(base) => at = base,
                PackedEntry::RefDelta(base) => (pack, at) = self.find(&base)?,
                PackedEntry::FullObject(_) => return None,
            }
        }
        None
    }

    /// Inflates the stream at `from`, unless it is too long.
    fn inflate_object(&self, from: &mut impl BufRead) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let done = self.inflater.borrow_mut().inflate_stream(from, |piece| {
            content.extend_from_slice(piece);
            if content.len() <= MAX_OBJECT_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        done.ok().map(|()| content)
    }

    fn find(&self, id: &[u8]) -> Option<(&StoredPack, u64)> {
        self.packs.iter().find_map(|pack| Some((pack, pack.offset_of(id)?)))
    }
}

impl StoredPack {
    /// Returns the offset of the object `id` in the pack.
    fn offset_of(&self, id: &[u8]) -> Option<u64> {
        let first = u64::from(*id.first()?);
        let count = self.read_u32(FAN_END - 4)?;
        let mut low = if first == 0 { 0 } else { self.read_u32(8 + (first - 1) * 4)? };
        let mut high = self.read_u32(8 + first * 4)?.min(count);
        let length = id.len() as u64;
        let mut found = vec![0; id.len()];
        // ends: the interval halves
        while low < high {
            let middle = low.midpoint(high);
            self.index.read_exact_at(&mut found, FAN_END + middle * length).ok()?;
            match found.as_slice().cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let small = FAN_END + count * (length + 4);
                    let place = self.read_u32(small + middle * 4)?;
                    if place < 1 << 31 {
                        return Some(place);
                    }
                    let mut eight = [0; 8];
                    let large = small + count * 4 + (place - (1 << 31)) * 8;
                    self.index.read_exact_at(&mut eight, large).ok()?;
                    return Some(u64::from_be_bytes(eight));
                }
            }
        }
        None
    }

    fn read_u32(&self, at: u64) -> Option<u64> {
        let mut four = [0; 4];
        self.index.read_exact_at(&mut four, at).ok()?;
        Some(u64::from(u32::from_be_bytes(four)))
    }
}

/// Reads the header of the entry at `at`.
fn read_entry_header(from: &mut impl Read, at: u64, format: ObjectFormat) -> Option<PackedEntry> {
    let mut next = || {
        let mut byte = [0];
        from.read_exact(&mut byte).ok().map(|()| byte[0])
    };
    let first = next()?;
    let mut byte = first;
    // ends: ten bytes encode any length
    for _ in 0..10 {
        if byte & 0x80 == 0 {
            break;
        }
        byte = next()?;
    }
    Some(match first >> 4 & 7 {
        1 => PackedEntry::FullObject(Some(StoredObjectKind::Commit)),
        2 => PackedEntry::FullObject(Some(StoredObjectKind::Tree)),
        4 => PackedEntry::FullObject(Some(StoredObjectKind::Tag)),
        6 => {
            let mut byte = next()?;
            let mut distance = u64::from(byte & 0x7f);
            // ends: `distance` grows by seven bits, and may not be long
            while byte & 0x80 != 0 {
                byte = next()?;
                distance = distance.checked_add(1).filter(|distance| *distance < 1 << 48)?;
                distance = distance << 7 | u64::from(byte & 0x7f);
            }
            PackedEntry::OffsetDelta(at.checked_sub(distance).filter(|base| *base < at)?)
        }
        7 => PackedEntry::RefDelta((0..format.id_length()).map(|_| next()).collect::<Option<Vec<u8>>>()?),
        _ => PackedEntry::FullObject(None),
    })
}

/// Reads a pack from an offset on.
struct PackReader<'a> {
    file: &'a File,
    at: u64,
}

impl Read for PackReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let got = self.file.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}
