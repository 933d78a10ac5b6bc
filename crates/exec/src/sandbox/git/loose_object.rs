//! Copies a loose object, only if its content matches its id.
//!
//! Git does not check an object that it already has: with other content under the id of a file that the user is about
//! to add, `git add` would keep the other content.

use std::io::{BufReader, Read, Result, Write};
use std::ops::ControlFlow;

use super::inflate::{Inflater, invalid_data};
use super::object_format::{ObjectFormat, ObjectHasher};

/// The maximum length of an object header: the kind, a length, a zero.
const MAX_HEADER_BYTES: usize = 32;

/// Copies the object `id` from `from` to `to`. `inflate_budget` is the remaining budget of inflated bytes. An
/// `InvalidData` error means that the content does not match.
pub(super) fn copy_object(
    from: impl Read,
    to: &mut impl Write,
    (id, format): (&[u8], ObjectFormat),
    inflate_budget: &mut u64,
) -> Result<()> {
    let mut from = BufReader::new(TeeReader { from, to });
    let (mut hash, mut start, mut length) = (ObjectHasher::new(format), Vec::new(), 0_u64);
    Inflater::new().inflate_stream(&mut from, |piece| {
        if start.len() < MAX_HEADER_BYTES {
            start.extend(piece.iter().take(MAX_HEADER_BYTES - start.len()));
        }
        hash.update(piece);
        let taken = piece.len() as u64;
        length += taken;
        let (left, spent) = inflate_budget.overflowing_sub(taken);
        *inflate_budget = if spent { 0 } else { left };
        // The stated length must not be exceeded, and content without a length is not an object.
        let unfit =
            start.len() == MAX_HEADER_BYTES && object_length(&start).is_none_or(|whole| length > whole);
        if spent || unfit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // Nothing may follow, and everything must have been copied.
    let rest = from.read(&mut [0])?;
    if rest > 0 || object_length(&start) != Some(length) || hash.finish() != id {
        return Err(invalid_data());
    }
    Ok(())
}

/// Returns the length of the object with this start, including its header.
fn object_length(start: &[u8]) -> Option<u64> {
    let end = start.iter().position(|byte| *byte == 0)?;
    let header = std::str::from_utf8(&start[..end]).ok()?;
    let (kind, size) = header.split_once(' ')?;
    let plain = size == "0" || size.starts_with(|digit: char| matches!(digit, '1'..='9'));
    let size: u64 = size.parse().ok().filter(|_| plain)?;
    matches!(kind, "blob" | "tree" | "commit" | "tag").then(|| size.checked_add(end as u64 + 1)).flatten()
}

/// Reader that copies all bytes to a writer.
struct TeeReader<'a, R, W> {
    from: R,
    to: &'a mut W,
}

impl<R: Read, W: Write> Read for TeeReader<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let got = self.from.read(buffer)?;
        self.to.write_all(&buffer[..got])?;
        Ok(got)
    }
}
