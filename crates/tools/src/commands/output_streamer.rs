//! Streams command output to observers, in whole UTF-8 characters.

use std::sync::Arc;
use std::time::Duration;

use exec::capture::CapturedStream;
use exec::session::{OutputStreaming, ProcessSession};
use tokio::time::timeout;
use tool::{Cx, OutputStream, ToolNotice};

/// The longest incomplete UTF-8 character, in bytes.
const MAX_PARTIAL_CHAR_BYTES: usize = 3;

/// The time that observers have for the remaining output when a call is answered.
const FINAL_SEND_TIMEOUT: Duration = Duration::from_secs(1);

const NO_PARTIAL_CHARS: [(CapturedStream, Vec<u8>); 3] = [
    (CapturedStream::Stdout, Vec::new()),
    (CapturedStream::Stderr, Vec::new()),
    (CapturedStream::Terminal, Vec::new()),
];

/// Streams a command's output to the observers, if there are any.
pub(crate) struct OutputStreamer {
    streaming: Option<OutputStreaming>,
    /// A piece that was not yet sent.
    pending: Option<(CapturedStream, String)>,
    /// Per stream, the first bytes of an incomplete character.
    partial_chars: [(CapturedStream, Vec<u8>); 3],
}

impl OutputStreamer {
    /// Creates a streamer that starts with the output that no call has taken yet, since it was not streamed.
    pub(crate) fn for_session(session: &Arc<ProcessSession>, cx: &Cx) -> Self {
        Self {
            streaming: cx.is_watched().then(|| session.stream_output()),
            pending: None,
            partial_chars: NO_PARTIAL_CHARS,
        }
    }

    /// Creates a streamer that sends nothing.
    pub(crate) fn disabled() -> Self {
        Self { streaming: None, pending: None, partial_chars: NO_PARTIAL_CHARS }
    }

    /// Sends all available output, as fast as observers accept it. A piece not sent when this is dropped is sent the
    /// next time.
    pub(crate) async fn send_available(&mut self, cx: &Cx) {
        // ends: when nothing is there; others get their turn between two pieces
        loop {
            self.send_pending(cx).await;
            let Some((stream, bytes)) = self.streaming.as_ref().and_then(OutputStreaming::next) else {
                return;
            };
            self.pending = Some((stream, self.decode_complete(stream, &bytes)));
            tokio::task::yield_now().await;
        }
    }

    /// Sends the pieces that remained when the output was taken. If the command has ended, incomplete characters are
    /// sent too.
    pub(crate) async fn send_rest(mut self, pieces: Vec<(CapturedStream, Vec<u8>)>, is_over: bool, cx: &Cx) {
        let sending = async {
            self.send_pending(cx).await;
            for (stream, bytes) in pieces {
                self.pending = Some((stream, self.decode_complete(stream, &bytes)));
                self.send_pending(cx).await;
            }
            for (stream, rest) in
                self.partial_chars.iter_mut().filter(|(_, rest)| is_over && !rest.is_empty())
            {
                let text = String::from_utf8_lossy(rest).into_owned();
                cx.stream(ToolNotice::Output { stream: output_stream(*stream), text }).await;
            }
        };
        let _not_heard = timeout(FINAL_SEND_TIMEOUT, sending).await;
    }

    async fn send_pending(&mut self, cx: &Cx) {
        if let Some((stream, text)) = &self.pending
            && !text.is_empty()
        {
            cx.stream(ToolNotice::Output { stream: output_stream(*stream), text: text.clone() }).await;
        }
        self.pending = None;
    }

    /// Lifts the backpressure, so that the command can write on without observers.
    pub(crate) fn lift_backpressure(&self) {
        if let Some(streaming) = &self.streaming {
            streaming.without_limit();
        }
    }

    /// Decodes `bytes` up to the last complete character and keeps the rest.
    fn decode_complete(&mut self, stream: CapturedStream, bytes: &[u8]) -> String {
        let Some((_, rest)) = self.partial_chars.iter_mut().find(|(of, _)| *of == stream) else {
            return String::new();
        };
        rest.extend(bytes);
        let from = rest.len().saturating_sub(MAX_PARTIAL_CHAR_BYTES);
        let cut = match std::str::from_utf8(&rest[from..]) {
            Ok(_) => rest.len(),
            Err(_) => partial_char_start(rest).unwrap_or(rest.len()),
        };
        let text = String::from_utf8_lossy(&rest[..cut]).into_owned();
        rest.drain(..cut);
        text
    }
}

fn output_stream(stream: CapturedStream) -> OutputStream {
    match stream {
        CapturedStream::Stdout => OutputStream::Stdout,
        CapturedStream::Stderr => OutputStream::Stderr,
        CapturedStream::Terminal => OutputStream::Terminal,
    }
}

/// Returns the start of a character that the end of `bytes` cuts off.
fn partial_char_start(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(MAX_PARTIAL_CHAR_BYTES);
    let begin = (from..bytes.len()).rev().find(|&at| bytes[at] & 0b1100_0000 != 0b1000_0000)?;
    let length = match bytes[begin] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    (bytes.len() - begin < length).then_some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_told_when_it_is_whole() {
        for (bytes, at) in [
            (&b"abc"[..], None),
            (b"ab\xc3", Some(2)),
            (b"ab\xe2\x82", Some(2)),
            (b"\xf0\x9f\x98", Some(0)),
            ("é".as_bytes(), None),
            (b"ab\xff", None),
            (b"\x80\x80\x80\x80", None),
            (b"", None),
        ] {
            assert_eq!(partial_char_start(bytes), at, "{bytes:?}");
        }
    }
}
