//! Index of a pack: the ids of its objects and their offsets.

use super::object_format::ObjectFormat;

/// The maximum number of objects in a pack.
pub(super) const MAX_OBJECTS: usize = 400_000;
/// The maximum size of an index: an id, a checksum and two offsets for each object.
pub(super) const MAX_PACK_INDEX_BYTES: u64 = (MAX_OBJECTS as u64) * (32 + 4 + 4 + 8) + 2048;

const HEADER_BYTES: usize = 8 + FANOUT_BYTES;
const FANOUT_BYTES: usize = 256 * 4;

/// A valid index.
#[derive(Debug)]
pub(super) struct PackIndex<'a> {
    ids: &'a [u8],
    id_length: usize,
    /// The offset of each object, in the order of the ids.
    offsets: Vec<u64>,
    /// The checksum that the pack must end with.
    pub(super) pack_checksum: &'a [u8],
}

impl<'a> PackIndex<'a> {
    /// Parses `bytes`, an index of version 2.
    pub(super) fn read(bytes: &'a [u8], format: ObjectFormat) -> Option<Self> {
        let id_length = format.id_length();
        let body = bytes.get(..bytes.len().checked_sub(id_length)?)?;
        if !bytes.starts_with(b"\xfftOc\0\0\0\x02") || bytes[body.len()..] != format.hash_bytes(body) {
            return None;
        }
        let count = read_u32(bytes, 8 + FANOUT_BYTES - 4).filter(|count| *count <= MAX_OBJECTS)?;
        let ids = bytes.get(HEADER_BYTES..HEADER_BYTES + count * id_length)?;
        let small = HEADER_BYTES + count * (id_length + 4);
        let large = small + count * 4;
        let tail = body.len().checked_sub(id_length)?;
        let far = tail.checked_sub(large).filter(|length| length % 8 == 0)? / 8;
        let place = |number_of: usize| {
            let place = read_u32(bytes, small + number_of * 4)?;
            if place < 1 << 31 {
                return Some(place as u64);
            }
            let at = place - (1 << 31);
            let eight = bytes.get(large + at * 8..large + at * 8 + 8).filter(|_| at < far)?;
            Some(u64::from_be_bytes(eight.try_into().ok()?))
        };
        let offsets = (0..count).map(place).collect::<Option<Vec<u64>>>()?;
        let found = Self { ids, id_length, offsets, pack_checksum: &body[tail..] };
        (found.is_sorted() && found.has_valid_fanout(bytes)).then_some(found)
    }

    /// Returns the id of the object `number`.
    pub(super) fn id(&self, number: usize) -> &'a [u8] {
        &self.ids[number * self.id_length..(number + 1) * self.id_length]
    }

    /// Returns the offset of the object `number`.
    pub(super) fn offset(&self, number: usize) -> u64 {
        self.offsets[number]
    }

    /// Returns the number of the object with this id.
    pub(super) fn find(&self, id: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.offsets.len());
        // ends: the interval halves
        while low < high {
            let middle = low.midpoint(high);
            match self.id(middle).cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the objects in pack order: offset and number.
    pub(super) fn in_order(&self) -> Vec<(u64, usize)> {
        let mut order: Vec<(u64, usize)> =
            self.offsets.iter().enumerate().map(|(number, place)| (*place, number)).collect();
        order.sort_unstable();
        order
    }

    fn is_sorted(&self) -> bool {
        (1..self.offsets.len()).all(|number| self.id(number - 1) < self.id(number))
    }

    /// Returns true if the fan-out table matches the ids.
    fn has_valid_fanout(&self, bytes: &[u8]) -> bool {
        let mut end = 0;
        (0..=255_u8).all(|first| {
            // ends: `end` grows
            while end < self.offsets.len() && self.id(end)[0] <= first {
                end += 1;
            }
            read_u32(bytes, 8 + usize::from(first) * 4) == Some(end)
        })
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(four)).ok()
}
