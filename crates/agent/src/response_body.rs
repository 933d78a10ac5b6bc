//! Reads the body of an HTTP response, with a size limit.

use reqwest::Response;
use wire::{ModelError, ModelErrorCode, RetryAdvice};

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
