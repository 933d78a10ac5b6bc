//! Inflates untrusted zlib streams piece by piece.

use std::io::{BufRead, Error, ErrorKind, Result};
use std::ops::ControlFlow;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

const BUFFER_BYTES: usize = 32 * 1024;

/// Inflates one stream after another.
pub(super) struct Inflater {
    state: Box<InflateState>,
    buffer: Vec<u8>,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { state: InflateState::new_boxed(DataFormat::Zlib), buffer: vec![0; BUFFER_BYTES] }
    }

    /// Inflates one stream from `from`, and passes each piece to `each`, which may stop it. Leaves `from` at the end
    /// of the stream.
    pub(super) fn inflate_stream(
        &mut self,
        from: &mut impl BufRead,
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.state.reset(DataFormat::Zlib);
        // ends: each turn takes or gives bytes
        loop {
            let done = inflate(&mut self.state, from.fill_buf()?, &mut self.buffer, MZFlush::None);
            from.consume(done.bytes_consumed);
            if each(&self.buffer[..done.bytes_written]).is_break() {
                return Err(invalid_data());
            }
            match done.status {
                Ok(MZStatus::StreamEnd) => return Ok(()),
                Ok(_) if done.bytes_consumed + done.bytes_written > 0 => {}
                _ => return Err(invalid_data()),
            }
        }
    }
}

/// Returns the error for invalid content, as opposed to a system error.
pub(super) fn invalid_data() -> Error {
    Error::from(ErrorKind::InvalidData)
}
