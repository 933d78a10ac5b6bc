//! Client of a telemetry collector that accepts OTLP over HTTP as JSON.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_client::{build_client, join_path, parse_safe_url, root_cause};
use policy::UrlRefusal;
use reqwest::{Client, Url};

use crate::response_body::read_body;

/// Maximum number of response bytes that are read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// A telemetry collector with a reusable connection.
pub struct OtlpCollector {
    http: Client,
    base: Url,
    headers: HeaderMap,
}

impl OtlpCollector {
    /// Creates a client for the collector at `base`, e.g. `http://127.0.0.1:4318`, which sends `headers` with every
    /// request. The headers go to this origin only: redirects are not followed, and plain HTTP is allowed on loopback
    /// only.
    ///
    /// # Errors
    /// One sentence, if the URL or a header is invalid. It never contains a header value.
    pub fn new(base: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let wrong = |why: &str| format!("the collector's URL {why}; one looks like http://127.0.0.1:4318");
        let base = parse_safe_url(base).map_err(|unfit| match unfit {
            UrlRefusal::NotAUrl => wrong("is not a URL"),
            UrlRefusal::NoHost | UrlRefusal::NotHttp => wrong("is neither http nor https"),
            UrlRefusal::PlainText => wrong("would show what you do to everybody on the way: use https"),
            UrlRefusal::Credentials => wrong("has a user name or a password in it: use a header"),
        })?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let unsent = |_| format!("the header `{name}` cannot be sent");
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| "a header's name has letters that cannot be sent".to_owned())?;
            let mut value = HeaderValue::from_str(value).map_err(unsent)?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        // Overrides a content type among the user's headers.
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { http: build_client(&base)?, base, headers: map })
    }

    /// Returns the host, and the port if the URL has one. Other parts of the URL may be secret.
    pub fn host_and_port(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Posts `report` to `path`, e.g. `v1/traces`, and returns the response body.
    ///
    /// # Errors
    /// A few words, if the collector did not accept it within `timeout`.
    pub async fn post(&self, path: &str, report: String, timeout: Duration) -> Result<String, String> {
        let sent = self.http.post(join_path(&self.base, path)).headers(self.headers.clone()).timeout(timeout);
        let response = sent.body(report).send().await.map_err(|error| match error.is_timeout() {
            true => "it did not answer in time".to_owned(),
            false => root_cause(&error),
        })?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("it answered with {status}"));
        }
        read_body(response, MAX_RESPONSE_BYTES).await.map_err(|_| "its answer broke off".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(base: &str, headers: &[(&str, &str)]) -> String {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        OtlpCollector::new(base, &headers).err().unwrap_or_default()
    }

    #[test]
    fn a_collector_url_must_be_https_or_loopback() {
        for base in
            ["https://otel.example.com/in", "http://127.0.0.1:4318", "http://[::1]:4318/", "http://localhost"]
        {
            assert_eq!(fault(base, &[("x-key", "k")]), "");
        }
        for (base, expected) in [
            ("http://otel.example.com:4318", "use https"),
            ("https://me:pw@example.com", "password"),
            ("127.0.0.1:4318", "not a URL"),
            ("ftp://127.0.0.1", "neither"),
        ] {
            let fault = fault(base, &[]);
            assert!(fault.contains(expected), "{base}: {fault}");
            assert!(!fault.contains("pw"), "{fault}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_not_shown() {
        assert_eq!(fault("http://[::1]", &[("key", "a\nsecret")]), "the header `key` cannot be sent");
        assert_eq!(
            fault("http://[::1]", &[("a b", "secret")]),
            "a header's name has letters that cannot be sent"
        );
    }
}
