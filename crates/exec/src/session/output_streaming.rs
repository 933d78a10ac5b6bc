//! Streams the output of a session to an observer, with backpressure on the process.

use std::sync::Arc;

use super::{MAX_FINAL_STREAMED_BYTES, MAX_STREAMED_BYTES, ProcessSession};
use crate::capture::CapturedStream;

impl ProcessSession {
    /// Keeps all output for a later [`ProcessSession::stream_output`]. Call it before the pump runs, so that no output
    /// is lost between the start of the process and its observer. The process is slowed down as if it were observed.
    pub fn keep_for_stream(&self) {
        self.state.lock().streamed.get_or_insert_default();
    }

    /// Streams the output to [`OutputStreaming::next`] until the guard is dropped, beginning with output that was not
    /// taken yet. The process is slowed down while no piece is taken.
    pub fn stream_output(self: &Arc<Self>) -> OutputStreaming {
        let mut state = self.state.lock();
        if state.streamed.is_none() {
            state.streamed = Some(state.capture.peek().into());
        }
        drop(state);
        OutputStreaming(Arc::clone(self))
    }
}

/// Guard of streamed output.
#[derive(Debug)]
pub struct OutputStreaming(Arc<ProcessSession>);

impl OutputStreaming {
    /// Returns the next piece, if there is one.
    pub fn next(&self) -> Option<(CapturedStream, Vec<u8>)> {
        let mut state = self.0.state.lock();
        let next = state.streamed.as_mut()?.pop_front()?;
        drop(state);
        self.0.work.send_replace(());
        Some(next)
    }

    /// Lifts the backpressure limit: the process is about to end, and must not wait for the observer.
    pub fn without_limit(&self) {
        self.0.state.lock().stream_limit = MAX_FINAL_STREAMED_BYTES;
        self.0.work.send_replace(());
    }
}

impl Drop for OutputStreaming {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.streamed = None;
        state.stream_limit = MAX_STREAMED_BYTES;
        drop(state);
        self.0.work.send_replace(());
    }
}
