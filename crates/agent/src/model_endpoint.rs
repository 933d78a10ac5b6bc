//! HTTP client of a model API: sends requests, and reads the events of responses (SSE or JSON).

use std::time::SystemTime;

use futures_util::stream::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_client::{
    PublicAddressFault, build_client, build_private_client, find_cause, join_path, parse_checked_url,
    root_cause, sse_events,
};
use policy::{PlainHttp, UrlRefusal};
use reqwest::{Response, Url};
use serde_json::Value;
use tool::BoxFuture;
use wire::{Dialect, ModelError, ModelErrorCode, RetryAdvice};

use crate::response_body::{broken_stream, read_body};
use crate::{ModelBackend, ModelEventStream};

/// Maximum size of one event. The decoder limits the response as a whole.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// The end marker of some APIs.
const END_MARKER: &str = "[DONE]";
/// Maximum number of bytes that are read of an error response.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// The reason why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum EndpointFault {
    /// The URL or the key is invalid: one sentence.
    #[error("{0}")]
    Wrong(String),
    /// The URL is plain HTTP to a host that `plain` does not accept.
    #[error("the base URL `{base}` would show your key and your files to everybody on the way: use https")]
    PlainText {
        /// The URL.
        base: String,
        /// The accepted hosts.
        plain: PlainHttp,
        /// True if [`PlainHttp::PrivateNetwork`] would accept the URL.
        may_be_private: bool,
    },
}

/// A model behind a URL, with a reusable connection.
pub struct ModelEndpoint {
    dialect: Dialect,
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
}

impl ModelEndpoint {
    /// Creates a client for the API at `base`, e.g. `https://api.openai.com/v1`, which speaks `dialect`. The key goes
    /// to this origin only: redirects are not followed.
    ///
    /// # Errors
    /// If the URL or the key is invalid.
    pub fn new(dialect: Dialect, base: &str, key: Option<&str>) -> Result<Self, EndpointFault> {
        Self::with_plain_http(dialect, base, key, PlainHttp::Loopback)
    }

    /// Creates a client as [`new`](Self::new) does, with plain HTTP to the hosts that `plain` accepts.
    ///
    /// # Errors
    /// If the URL or the key is invalid.
    pub fn with_plain_http(
        dialect: Dialect,
        base: &str,
        key: Option<&str>,
        plain: PlainHttp,
    ) -> Result<Self, EndpointFault> {
        let url = request_url(base, dialect, plain)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in dialect.request_headers(key) {
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                EndpointFault::Wrong(format!(
                    "the key in {} has letters that cannot be sent",
                    dialect.api_key_variable()
                ))
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let http = match plain {
            PlainHttp::PrivateNetwork if url.scheme() == "http" => build_private_client(&url),
            PlainHttp::PrivateNetwork | PlainHttp::Localhost | PlainHttp::Loopback => build_client(&url),
        };
        let http = http.map_err(EndpointFault::Wrong)?;
        Ok(Self { dialect, http, url, headers })
    }

    async fn send(&self, request: String) -> Result<ModelEventStream, ModelError> {
        let sent = self.http.post(self.url.clone()).headers(self.headers.clone()).body(request).send().await;
        let response = sent.map_err(|error| self.connection_error(&error))?;
        let status = response.status();
        if status.is_success() {
            return response_events(response).await;
        }
        let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
        let after = after.map(|after| retry_after_seconds(after, SystemTime::now()));
        let body = read_body(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        Err(self.dialect.http_error(status.as_u16(), after.as_deref(), &body))
    }

    fn connection_error(&self, error: &reqwest::Error) -> ModelError {
        if let Some(fault) = find_cause::<PublicAddressFault>(error) {
            let (code, message) = (ModelErrorCode::BadRequest, format!("the model is not asked: {fault}"));
            return ModelError { code, message, retry: RetryAdvice::Never };
        }
        let why = root_cause(error);
        let host = self.url.host_str().unwrap_or_default();
        let message = match error.is_timeout() {
            true => {
                format!("the model at {host} did not answer in time; is it up, and is the address right?")
            }
            false => {
                format!("the model at {host} cannot be reached: {why}; is it up, and is the address right?")
            }
        };
        ModelError { code: ModelErrorCode::Server, message, retry: RetryAdvice::Soon }
    }
}

impl ModelBackend for ModelEndpoint {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn respond(&self, body: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>> {
        Box::pin(self.send(body))
    }
}

/// Returns the request URL.
fn request_url(base: &str, dialect: Dialect, plain: PlainHttp) -> Result<Url, EndpointFault> {
    let wrong = |why: &str| {
        EndpointFault::Wrong(format!("the base URL `{base}` {why}; one looks like https://api.openai.com/v1"))
    };
    let url = parse_checked_url(base, plain).map_err(|unfit| match unfit {
        UrlRefusal::NotAUrl => wrong("is not a URL"),
        UrlRefusal::NoHost | UrlRefusal::NotHttp => wrong("is neither http nor https"),
        UrlRefusal::PlainText => {
            let may_be_private = parse_checked_url(base, PlainHttp::PrivateNetwork).is_ok();
            EndpointFault::PlainText { base: base.to_owned(), plain, may_be_private }
        }
        UrlRefusal::Credentials => EndpointFault::Wrong(
            "the base URL has a user name or a password in it; put the key into the environment".to_owned(),
        ),
    })?;
    Ok(join_path(&url, dialect.endpoint_path()))
}

/// Returns the events of `response`. A response that is plain JSON is one event.
async fn response_events(response: Response) -> Result<ModelEventStream, ModelError> {
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

/// Converts the HTTP date of a `Retry-After` header to seconds; returns other values unchanged.
fn retry_after_seconds(after: &str, now: SystemTime) -> String {
    match httpdate::parse_http_date(after.trim()) {
        Ok(until) => until.duration_since(now).unwrap_or_default().as_secs().to_string(),
        Err(_) => after.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_says_how_long_to_wait() {
        let now = httpdate::parse_http_date("Tue, 17 Nov 2026 05:00:00 GMT").unwrap();
        let rows = [
            ("Tue, 17 Nov 2026 05:01:30 GMT", "90"),
            ("Tue, 17 Nov 2026 04:00:00 GMT", "0"),
            ("12", "12"),
            ("soon", "soon"),
        ];
        for (said, seconds) in rows {
            assert_eq!(retry_after_seconds(said, now), seconds);
        }
    }

    #[test]
    fn a_base_url_must_be_https_or_loopback() {
        let rows = [
            ("https://api.openai.com/v1", Ok("https://api.openai.com/v1/responses")),
            ("https://api.openai.com/v1/", Ok("https://api.openai.com/v1/responses")),
            ("http://127.0.0.1:8080/v1", Ok("http://127.0.0.1:8080/v1/responses")),
            ("http://[::1]:1/", Ok("http://[::1]:1/responses")),
            ("http://localhost:1", Ok("http://localhost:1/responses")),
            ("http://example.com/v1", Err("https")),
            ("http://127.0.0.1.example.com/v1", Err("https")),
            ("ftp://127.0.0.1/", Err("neither")),
            ("https://me:pw@example.com", Err("password")),
            ("api.openai.com", Err("not a URL")),
        ];
        for (base, expected) in rows {
            match (request_url(base, Dialect::Responses, PlainHttp::Loopback), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
                (Err(why), Err(expected)) => assert!(why.to_string().contains(expected), "{base}: {why}"),
                (found, _) => panic!("{base}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_key_of_two_lines_is_refused_without_showing_it() {
        let fault = ModelEndpoint::new(Dialect::Chat, "http://127.0.0.1:1/v1", Some("a\nsecret")).err();
        insta::assert_snapshot!(fault.map(|fault| fault.to_string()).unwrap_or_default(), @"the key in OPENAI_API_KEY has letters that cannot be sent");
    }
}
