//! Binary encoding of messages: a length prefix, then numbers and byte strings.

use std::io;
use std::ops::Range;
use std::time::Duration;

/// The size of the length prefix in bytes.
pub(crate) const LENGTH_PREFIX_BYTES: usize = 4;

/// Returns the range of the first message in `received`, without its length prefix; `None` while it is incomplete. A
/// message of more than `limit` bytes is an error.
pub(crate) fn find_message(received: &[u8], limit: usize) -> io::Result<Option<Range<usize>>> {
    let Some(prefix) = received.first_chunk() else { return Ok(None) };
    let length = message_length(*prefix, limit).ok_or(io::ErrorKind::InvalidData)?;
    let message = LENGTH_PREFIX_BYTES..LENGTH_PREFIX_BYTES + length;
    Ok((message.end <= received.len()).then_some(message))
}

/// Returns the length that a message has by its prefix, if it is at most `limit`.
pub(crate) fn message_length(prefix: [u8; LENGTH_PREFIX_BYTES], limit: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(prefix)).ok().filter(|&length| length <= limit)
}

/// Encodes a message.
pub(crate) struct MessageEncoder(Vec<u8>);

impl MessageEncoder {
    pub(crate) fn new() -> Self {
        Self(vec![0; LENGTH_PREFIX_BYTES])
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn signed(&mut self, number: i32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn time(&mut self, time: Duration) {
        self.number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - LENGTH_PREFIX_BYTES).unwrap_or(u32::MAX);
        self.0[..LENGTH_PREFIX_BYTES].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// Decodes a message. The sender may be a compromised process: no content is trusted.
pub(crate) struct MessageDecoder<'a>(pub(crate) &'a [u8]);

impl<'a> MessageDecoder<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn signed(&mut self) -> Option<i32> {
        Some(i32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn time(&mut self) -> Option<Duration> {
        Some(Duration::from_micros(self.number()?))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub(crate) fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let count = self.number()?;
        (0..count).map(|_| Some(self.bytes()?.to_owned())).collect()
    }
}
