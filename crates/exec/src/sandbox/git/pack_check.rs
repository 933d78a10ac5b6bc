//! Verifies a pack to its last byte: every object matches its id, and is where the index says.
//!
//! The first pass reads the pack from beginning to end and hashes complete objects. The second pass builds the
//! deltas, from each base outwards, so that no object is built twice.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Result};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use super::delta;
use super::inflate::{Inflater, invalid_data};
use super::object_format::{ObjectFormat, ObjectHasher};
use super::pack_index::PackIndex;

/// The maximum memory for bases, and the maximum size of one.
const MAX_BASE_BYTES: usize = 128 << 20;
/// Marks "no child" in the delta tree.
const NO_CHILD: u32 = u32::MAX;

/// Verifies the pack in `file`, of `size` bytes, with its index `index`. `inflate_budget` is the remaining budget of
/// inflated bytes. An `InvalidData` error means that the pack must not land.
pub(super) fn check_pack(
    file: &File,
    size: u64,
    index: &[u8],
    format: ObjectFormat,
    inflate_budget: &mut u64,
) -> Result<()> {
    let index = PackIndex::read(index, format).ok_or_else(invalid_data)?;
    let end = size.checked_sub(format.id_length() as u64).ok_or_else(invalid_data)?;
    let order = index.in_order();
    let delta_tree = DeltaTree::new(order.len());
    let reader = BufReader::new(HashingReader { file, at: 0, end, hash: Some(ObjectHasher::new(format)) });
    let mut verifier = PackVerifier {
        file,
        index,
        order,
        delta_tree,
        format,
        inflate_budget,
        reader,
        inflater: Inflater::new(),
    };
    verifier.read_all_entries()?;
    verifier.verify_deltas()
}

/// The kinds of the objects, and the tree of deltas, by number in the pack.
struct DeltaTree {
    kinds: Vec<PackObjectKind>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
    Delta,
}

impl DeltaTree {
    fn new(count: usize) -> Self {
        Self {
            kinds: Vec::with_capacity(count),
            first_child: vec![NO_CHILD; count],
            next_sibling: vec![NO_CHILD; count],
        }
    }
}

struct PackVerifier<'a> {
    file: &'a File,
    index: PackIndex<'a>,
    order: Vec<(u64, usize)>,
    delta_tree: DeltaTree,
    format: ObjectFormat,
    inflate_budget: &'a mut u64,
    reader: BufReader<HashingReader<'a>>,
    inflater: Inflater,
}

/// The header of an object.
struct PackEntryHeader {
    kind: PackObjectKind,
    size: u64,
    /// The base of a delta, by its number in the pack.
    base: Option<usize>,
}

impl PackVerifier<'_> {
    /// First pass: reads everything once, and hashes complete objects.
    fn read_all_entries(&mut self) -> Result<()> {
        let mut start = [0; 12];
        self.reader.read_exact(&mut start)?;
        let count = u32::try_from(self.order.len()).map_err(|_| invalid_data())?;
        if !start.starts_with(b"PACK\0\0\0\x02") || start[8..] != count.to_be_bytes() {
            return Err(invalid_data());
        }
        for number in 0..self.order.len() {
            if position(&self.reader) != self.order[number].0 {
                return Err(invalid_data());
            }
            let head = self.read_header(number)?;
            self.delta_tree.kinds.push(head.kind);
            match head.base {
                Some(base) => {
                    let number_of = u32::try_from(number).map_err(|_| invalid_data())?;
                    self.delta_tree.next_sibling[number] =
                        std::mem::replace(&mut self.delta_tree.first_child[base], number_of);
                    self.skip_delta(head.size)?;
                }
                None => self.hash_whole_object(number, &head)?,
            }
        }
        let end = self.reader.get_ref().end;
        if position(&self.reader) != end || !self.reader.fill_buf()?.is_empty() {
            return Err(invalid_data());
        }
        let sum = self.reader.get_mut().hash.take().map(ObjectHasher::finish);
        let mut stated_checksum = vec![0; self.format.id_length()];
        self.file.read_exact_at(&mut stated_checksum, end)?;
        if sum.as_ref() == Some(&stated_checksum) && self.index.pack_checksum == stated_checksum {
            Ok(())
        } else {
            Err(invalid_data())
        }
    }

    fn read_header(&mut self, number: usize) -> Result<PackEntryHeader> {
        let mut byte = read_byte(&mut self.reader)?;
        let code = byte >> 4 & 7;
        let (mut size, mut shift) = (u64::from(byte & 0x0f), 4);
        // ends: `shift` grows
        while byte & 0x80 != 0 && shift < 57 {
            byte = read_byte(&mut self.reader)?;
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let kind = match code {
            1 => PackObjectKind::Commit,
            2 => PackObjectKind::Tree,
            3 => PackObjectKind::Blob,
            4 => PackObjectKind::Tag,
            6 | 7 => PackObjectKind::Delta,
            _ => return Err(invalid_data()),
        };
        let base = match code {
            6 => {
                let place =
                    self.order[number].0.checked_sub(self.read_base_distance()?).ok_or_else(invalid_data)?;
                let found = self.order.binary_search_by_key(&place, |(place, _)| *place);
                Some(found.ok().filter(|base| *base < number).ok_or_else(invalid_data)?)
            }
            7 => {
                let mut id = vec![0; self.format.id_length()];
                self.reader.read_exact(&mut id)?;
                let which = self.index.find(&id).ok_or_else(invalid_data)?;
                let place = self.index.offset(which);
                let found = self.order.binary_search_by_key(&place, |(place, _)| *place);
                Some(found.map_err(|_| invalid_data())?)
            }
            _ => None,
        };
        if byte & 0x80 != 0 && shift >= 57 {
            Err(invalid_data())
        } else {
            Ok(PackEntryHeader { kind, size, base })
        }
    }

    /// Reads the distance from this object back to its base.
    fn read_base_distance(&mut self) -> Result<u64> {
        let mut byte = read_byte(&mut self.reader)?;
        let mut value = u64::from(byte & 0x7f);
        // ends: `value` grows by seven bits, and may not be long
        while byte & 0x80 != 0 {
            byte = read_byte(&mut self.reader)?;
            value = value.checked_add(1).filter(|value| *value < 1 << 48).ok_or_else(invalid_data)?;
            value = value << 7 | u64::from(byte & 0x7f);
        }
        Ok(value)
    }

    /// Hashes a complete object.
    fn hash_whole_object(&mut self, number: usize, head: &PackEntryHeader) -> Result<()> {
        let mut hash = start_hash(self.format, head.kind, head.size);
        let (mut length, room) = (0_u64, &mut *self.inflate_budget);
        self.inflater.inflate_stream(&mut self.reader, |piece| {
            hash.update(piece);
            length += piece.len() as u64;
            if length <= head.size { charge_budget(room, piece.len()) } else { ControlFlow::Break(()) }
        })?;
        let is_named = hash.finish() == self.index.id(self.order[number].1);
        if length == head.size && is_named { Ok(()) } else { Err(invalid_data()) }
    }

    /// Skips a delta, and charges the size of its result.
    fn skip_delta(&mut self, size: u64) -> Result<()> {
        const DELTA_HEADER_BYTES: usize = 20;
        let (mut length, mut start, room) = (0_u64, Vec::new(), &mut *self.inflate_budget);
        self.inflater.inflate_stream(&mut self.reader, |piece| {
            length += piece.len() as u64;
            start.extend(piece.iter().take(DELTA_HEADER_BYTES.saturating_sub(start.len())));
            if length <= size { charge_budget(room, piece.len()) } else { ControlFlow::Break(()) }
        })?;
        let result = delta::result_length(&start).and_then(|result| usize::try_from(result).ok());
        let fits = result.is_some_and(|result| {
            result <= MAX_BASE_BYTES && charge_budget(self.inflate_budget, result).is_continue()
        });
        if fits && length == size { Ok(()) } else { Err(invalid_data()) }
    }

    /// Second pass: builds the deltas and hashes the results.
    fn verify_deltas(&mut self) -> Result<()> {
        let mut left = self.delta_tree.kinds.iter().filter(|kind| **kind == PackObjectKind::Delta).count();
        for root in 0..self.order.len() {
            let kind = self.delta_tree.kinds[root];
            if kind == PackObjectKind::Delta || self.delta_tree.first_child[root] == NO_CHILD {
                continue;
            }
            let base = self.read_content(root)?;
            let mut held = base.len();
            let mut stack = vec![(base, self.delta_tree.first_child[root])];
            // ends: each object is the delta of one other, so it is visited at most once
            while let Some((base, next)) = stack.last_mut() {
                let Some(number) = usize::try_from(*next).ok().filter(|_| *next != NO_CHILD) else {
                    held -= base.len();
                    stack.pop();
                    continue;
                };
                *next = self.delta_tree.next_sibling[number];
                let change = self.read_content(number)?;
                let object = delta::apply(base, &change, MAX_BASE_BYTES.saturating_sub(held))
                    .ok_or_else(invalid_data)?;
                let mut hash = start_hash(self.format, kind, object.len() as u64);
                hash.update(&object);
                if hash.finish() != self.index.id(self.order[number].1) {
                    return Err(invalid_data());
                }
                left -= 1;
                held += object.len();
                stack.push((object, self.delta_tree.first_child[number]));
            }
        }
        // Cyclic deltas have no base.
        if left == 0 { Ok(()) } else { Err(invalid_data()) }
    }

    /// Returns the content of an object, or of a delta.
    fn read_content(&mut self, number: usize) -> Result<Vec<u8>> {
        let source = HashingReader { at: self.order[number].0, hash: None, ..*self.reader.get_ref() };
        self.reader = BufReader::with_capacity(4096, source);
        let head = self.read_header(number)?;
        let size = usize::try_from(head.size)
            .ok()
            .filter(|size| *size <= MAX_BASE_BYTES)
            .ok_or_else(invalid_data)?;
        let (mut content, room) = (Vec::new(), &mut *self.inflate_budget);
        self.inflater.inflate_stream(&mut self.reader, |piece| {
            content.extend_from_slice(piece);
            if content.len() <= size { charge_budget(room, piece.len()) } else { ControlFlow::Break(()) }
        })?;
        Ok(content)
    }
}

fn charge_budget(room: &mut u64, length: usize) -> ControlFlow<()> {
    match room.checked_sub(length as u64) {
        Some(left) => {
            *room = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    }
}

/// Starts the hash of an object with its header.
fn start_hash(format: ObjectFormat, kind: PackObjectKind, size: u64) -> ObjectHasher {
    let name = match kind {
        PackObjectKind::Commit => "commit",
        PackObjectKind::Tree => "tree",
        PackObjectKind::Blob => "blob",
        PackObjectKind::Tag => "tag",
        PackObjectKind::Delta => "",
    };
    let mut hash = ObjectHasher::new(format);
    hash.update(format!("{name} {size}\0").as_bytes());
    hash
}

fn read_byte(from: &mut impl Read) -> Result<u8> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Reads a file from an offset on, and hashes the bytes.
struct HashingReader<'a> {
    file: &'a File,
    at: u64,
    end: u64,
    hash: Option<ObjectHasher>,
}

impl Read for HashingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let most = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += got as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[..got]);
        }
        Ok(got)
    }
}

/// Returns the position of `from` in the pack.
fn position(from: &BufReader<HashingReader<'_>>) -> u64 {
    from.get_ref().at - from.buffer().len() as u64
}
