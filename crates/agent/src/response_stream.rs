//! Reads the events of an HTTP response (SSE or JSON), with size limits.

use futures_util::stream::{Stream, StreamExt, unfold};
use hyper::body::Bytes;
use reqwest::Response;
use serde_json::Value;
use sse_stream::SseStream;
use wire::{ModelError, ModelErrorCode, RetryAdvice};

use crate::ModelEventStream;

/// Maximum size of one event. The decoder limits the response as a whole.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// The end marker of some APIs.
const END_MARKER: &str = "[DONE]";

/// Returns the events of `response`. A response that is plain JSON is one event.
pub(crate) async fn response_events(response: Response) -> Result<ModelEventStream, ModelError> {
    let kind = response.headers().get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        let whole = read_body(response, MAX_EVENT_BYTES).await?;
        let json = parse_event(&whole);
        return Ok(futures_util::stream::iter([json]).boxed());
    }
    let events = SseStream::from_bytes_stream(limited_bytes(response).boxed());
    let read = events.take_while(|event| {
        let over = event.as_ref().is_ok_and(|event| event.data.as_deref() == Some(END_MARKER));
        std::future::ready(!over)
    });
    let json = read.filter_map(|event| {
        std::future::ready(match event {
            Ok(event) => event.data.filter(|data| !data.is_empty()).map(|data| parse_event(&data)),
            Err(error) => Some(Err(broken_stream(&error.to_string()))),
        })
    });
    // A fused stream can be polled again after its end.
    Ok(json.fuse().boxed())
}

fn parse_event(text: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|error| broken_stream(&format!("it is not JSON: {error}")))
}

/// Returns the error of a stream that broke off.
pub(crate) fn broken_stream(why: &str) -> ModelError {
    let why: String = why.chars().filter(|letter| !policy::is_invisible(*letter)).take(300).collect();
    let message = format!("the stream of the model broke off: {why}");
    ModelError { code: ModelErrorCode::Broken, message, retry: RetryAdvice::Soon }
}

/// Reads the text of a response, up to `most` bytes.
pub(crate) async fn read_body(mut response: Response, most: usize) -> Result<String, ModelError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken_stream(&error.to_string()))? {
        if body.len() + chunk.len() > most {
            return Err(broken_stream(&format!("it is longer than {most} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The error that ends a stream.
#[derive(Debug, thiserror::Error)]
enum ModelStreamError {
    #[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
    Long,
    #[error(transparent)]
    Failed(#[from] reqwest::Error),
}

/// Returns the bytes of a response, until an event is too long.
fn limited_bytes(response: Response) -> impl Stream<Item = Result<Bytes, ModelStreamError>> {
    unfold(Some((response, (0_usize, 0_usize))), |open| async {
        let (mut response, mut event) = open?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) => {
                event = grow_event(event, &chunk);
                if event.0 > MAX_EVENT_BYTES {
                    return Some((Err(ModelStreamError::Long), None));
                }
                Some((Ok(chunk), Some((response, event))))
            }
            Err(error) => Some((Err(error.into()), None)),
        }
    })
}

/// Returns the size of the current event and of its last line after `chunk`. An empty line ends an event.
fn grow_event((mut event, mut line): (usize, usize), chunk: &[u8]) -> (usize, usize) {
    let mut longest = 0;
    for byte in chunk {
        match byte {
            b'\r' => {}
            b'\n' if line == 0 => event = 0,
            b'\n' => line = 0,
            _ => (event, line) = (event + 1, line + 1),
        }
        longest = longest.max(event);
    }
    (if longest > MAX_EVENT_BYTES { longest } else { event }, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line() {
        assert_eq!(grow_event((0, 0), b"data: 1\ndata"), (11, 4));
        assert_eq!(grow_event((11, 4), b": 2\r\n\r\n"), (0, 0));
        assert_eq!(grow_event((MAX_EVENT_BYTES, 9), b"x\n\n"), (MAX_EVENT_BYTES + 1, 0));
    }
}
