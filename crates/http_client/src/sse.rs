//! Server-sent events of a response, with a limit on the size of each event.

use futures_util::stream::{BoxStream, Stream, StreamExt, unfold};
use hyper::body::Bytes;
use reqwest::Response;
use sse_stream::{Error, Sse, SseStream};

/// The events of a response.
pub type SseEvents = BoxStream<'static, Result<Sse, Error>>;

/// Returns the events of `response`. An event of more than `max_event_bytes` ends the stream with an error.
pub fn sse_events(response: Response, max_event_bytes: usize) -> SseEvents {
    SseStream::from_bytes_stream(limited_bytes(response, max_event_bytes).boxed()).boxed()
}

/// Returns whether a stream ended because an event was too long.
pub fn is_too_long(error: &Error) -> bool {
    match error {
        Error::Body(error) => matches!(error.downcast_ref(), Some(SseReadError::TooLong(_))),
        _ => false,
    }
}

/// The error that ends a stream.
#[derive(Debug, thiserror::Error)]
enum SseReadError {
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
    #[error(transparent)]
    Failed(#[from] reqwest::Error),
}

/// Returns the bytes of a response, until an event is too long.
fn limited_bytes(
    response: Response,
    max_event_bytes: usize,
) -> impl Stream<Item = Result<Bytes, SseReadError>> {
    unfold(Some((response, SseEventSize::default())), move |open| async move {
        let (mut response, mut event) = open?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if event.add_chunk(&chunk) <= max_event_bytes => {
                Some((Ok(chunk), Some((response, event))))
            }
            Ok(Some(_)) => Some((Err(SseReadError::TooLong(max_event_bytes)), None)),
            Err(error) => Some((Err(error.into()), None)),
        }
    })
}

/// Size of the event that is being received. An empty line ends an event, and a line ends as the parser ends it: with
/// CR, LF or CR LF. With other rules, an event could grow in the parser while it is not counted here.
#[derive(Default)]
struct SseEventSize {
    bytes: usize,
    line_bytes: usize,
    is_after_cr: bool,
}

impl SseEventSize {
    /// Counts the bytes of a chunk. Returns the size of the longest event so far that the chunk is a part of.
    fn add_chunk(&mut self, chunk: &[u8]) -> usize {
        let mut longest = 0;
        for byte in chunk {
            let is_second_of_pair = *byte == b'\n' && self.is_after_cr;
            match byte {
                b'\n' if is_second_of_pair => {}
                b'\r' | b'\n' if self.line_bytes == 0 => self.bytes = 0,
                b'\r' | b'\n' => self.line_bytes = 0,
                _ => (self.bytes, self.line_bytes) = (self.bytes + 1, self.line_bytes + 1),
            }
            self.is_after_cr = *byte == b'\r';
            longest = longest.max(self.bytes);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the longest event of chunks, and the size of the last one.
    fn sizes(chunks: &[&str]) -> (usize, usize) {
        let mut event = SseEventSize::default();
        let longest = chunks.iter().map(|chunk| event.add_chunk(chunk.as_bytes())).max();
        (longest.unwrap_or_default(), event.bytes)
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        for (chunks, expected) in [
            (&["data: 1\ndata"][..], (11, 11)),
            (&["data: 1\ndata", ": 2\r\n\r\n"], (14, 0)),
            (&["a\r\n", "b\r", "\nc\r\n\r", "\nd"], (3, 1)),
            (&["a\r\rb\r\rc"], (1, 1)),
            (&["a\n\nb\n\rc"], (1, 1)),
            (&["aaaa\n\nb"], (4, 1)),
        ] {
            assert_eq!(sizes(chunks), expected, "{chunks:?}");
        }
    }

    #[tokio::test]
    async fn the_parser_ends_events_where_they_are_counted() {
        for text in ["data:1\r\rdata:2\r\r", "data:1\n\rdata:2\n\n", "data:1\r\n\rdata:2\r\n\r\n"] {
            let chunks = text.bytes().map(|byte| Ok::<_, std::io::Error>(Bytes::copy_from_slice(&[byte])));
            let events = SseStream::from_bytes_stream(futures_util::stream::iter(chunks));
            let parsed = events.collect::<Vec<_>>().await.len();
            let mut size = SseEventSize::default();
            let counted = text.bytes().filter(|byte| {
                let before = size.bytes;
                size.add_chunk(&[*byte]);
                before > 0 && size.bytes == 0
            });
            assert_eq!((parsed, counted.count()), (2, 2), "{text:?}");
        }
    }
}
