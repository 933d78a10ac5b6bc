//! Head and tail of a stream: holds its first and last bytes, in buffers that grow up to a limit.

use super::StreamPortion;

#[derive(Debug, Default)]
pub(super) struct HeadTail {
    pub(super) head: Vec<u8>,
    /// A ring buffer once it is full.
    pub(super) tail: Vec<u8>,
    /// Index of the ring's oldest byte, which the next byte overwrites.
    oldest: usize,
    bytes: u64,
}

impl HeadTail {
    /// Appends `bytes`, and holds at most `limit` bytes of each end. Every call must pass the same limit.
    pub(super) fn push(&mut self, bytes: &[u8], limit: usize) {
        self.bytes += bytes.len() as u64;
        let bytes = fill(&mut self.head, bytes, limit);
        let bytes = &bytes[bytes.len().saturating_sub(limit)..];
        let bytes = fill(&mut self.tail, bytes, limit);
        if bytes.is_empty() {
            return;
        }
        let (before, after) = bytes.split_at(bytes.len().min(limit - self.oldest));
        self.tail[self.oldest..][..before.len()].copy_from_slice(before);
        self.tail[..after.len()].copy_from_slice(after);
        self.oldest = (self.oldest + bytes.len()) % limit;
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns head and tail, with a line between them that counts the omitted bytes, if there are any.
    pub(super) fn join_with_gap(&self) -> Vec<u8> {
        let held = (self.head.len() + self.tail.len()) as u64;
        let gap = match self.bytes - held {
            0 => Vec::new(),
            missing => format!("\n[… {missing} bytes are not here …]\n").into_bytes(),
        };
        let (newest, oldest) = self.tail.split_at(self.oldest);
        [&self.head, &gap, oldest, newest].concat()
    }

    pub(super) fn last(&self) -> Option<u8> {
        let newest = self.tail[..self.oldest].last();
        newest.or(self.tail.last()).or(self.head.last()).copied()
    }
}

impl From<HeadTail> for StreamPortion {
    fn from(mut head_tail: HeadTail) -> Self {
        head_tail.tail.rotate_left(head_tail.oldest);
        let omitted = head_tail.bytes - (head_tail.head.len() + head_tail.tail.len()) as u64;
        Self { head: head_tail.head, tail: head_tail.tail, omitted, bytes: head_tail.bytes }
    }
}

/// Appends the part of `bytes` that fits to `buffer`, and returns the rest.
fn fill<'a>(buffer: &mut Vec<u8>, bytes: &'a [u8], limit: usize) -> &'a [u8] {
    let (part, rest) = bytes.split_at(bytes.len().min(limit - buffer.len()));
    let needed = buffer.len() + part.len();
    if needed > buffer.capacity() {
        // Doubling would exceed the limit.
        buffer.reserve_exact(needed.max(2 * buffer.capacity()).min(limit) - buffer.len());
    }
    buffer.extend_from_slice(part);
    rest
}
