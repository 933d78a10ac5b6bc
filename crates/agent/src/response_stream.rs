//! Reads the events of an HTTP response (SSE or JSON), with size limits.

use futures_util::stream::StreamExt;
use http_client::sse_events;
use reqwest::Response;
use serde_json::Value;
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
    let events = sse_events(response, MAX_EVENT_BYTES);
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
