//! Client of a telemetry collector that accepts OTLP over HTTP as JSON.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_client::{build_client, build_private_client, join_path, parse_checked_url, root_cause};
use policy::{PlainHttp, UrlRefusal};
use reqwest::{Client, Url};

use crate::response_body::read_body;

/// Maximum number of response bytes that are read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The reason why a collector cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorFault {
    /// The URL or a header is invalid: one sentence. It never contains a header value.
    #[error("{0}")]
    Wrong(String),
    /// The URL is plain HTTP to a host that `plain` does not accept.
    #[error("the collector's URL would show what you do to everybody on the way: use https")]
    PlainText {
        /// The accepted hosts.
        plain: PlainHttp,
        /// True if [`PlainHttp::PrivateNetwork`] would accept the URL.
        may_be_private: bool,
    },
}

/// A telemetry collector with a reusable connection.
pub struct OtlpCollector {
    http: Client,
    base: Url,
    headers: HeaderMap,
}

impl OtlpCollector {
    /// Creates a client for the collector at `base`, e.g. `http://127.0.0.1:4318`, which sends `headers` with every
    /// request. The headers go to this origin only: redirects are not followed, and plain HTTP goes only to the hosts
    /// that `plain` accepts.
    ///
    /// # Errors
    /// If the URL or a header is invalid.
    pub fn new(base: &str, headers: &[(String, String)], plain: PlainHttp) -> Result<Self, CollectorFault> {
        let wrong = |why: &str| {
            CollectorFault::Wrong(format!("the collector's URL {why}; one looks like http://127.0.0.1:4318"))
        };
        let base = parse_checked_url(base, plain).map_err(|unfit| match unfit {
            UrlRefusal::NotAUrl => wrong("is not a URL"),
            UrlRefusal::NoHost | UrlRefusal::NotHttp => wrong("is neither http nor https"),
            UrlRefusal::PlainText => {
                let may_be_private = parse_checked_url(base, PlainHttp::PrivateNetwork).is_ok();
                CollectorFault::PlainText { plain, may_be_private }
            }
            UrlRefusal::Credentials => wrong("has a user name or a password in it: use a header"),
        })?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let unsent = |_| CollectorFault::Wrong(format!("the header `{name}` cannot be sent"));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                CollectorFault::Wrong("a header's name has letters that cannot be sent".to_owned())
            })?;
            let mut value = HeaderValue::from_str(value).map_err(unsent)?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        // Overrides a content type among the user's headers.
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let http = match plain {
            PlainHttp::PrivateNetwork if base.scheme() == "http" => build_private_client(&base),
            PlainHttp::PrivateNetwork | PlainHttp::Localhost | PlainHttp::Loopback => build_client(&base),
        };
        Ok(Self { http: http.map_err(CollectorFault::Wrong)?, base, headers: map })
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
        let made = OtlpCollector::new(base, &headers, PlainHttp::Loopback);
        made.err().map(|fault| fault.to_string()).unwrap_or_default()
    }

    #[test]
    fn plain_http_to_a_private_address_is_a_choice() {
        for (base, plain, is_accepted) in [
            ("http://10.0.0.1:4318", PlainHttp::Loopback, false),
            ("http://10.0.0.1:4318", PlainHttp::PrivateNetwork, true),
            ("http://otel:4318", PlainHttp::PrivateNetwork, true),
            ("http://93.184.216.34:4318", PlainHttp::PrivateNetwork, false),
            ("https://93.184.216.34:4318", PlainHttp::PrivateNetwork, true),
        ] {
            let made = OtlpCollector::new(base, &[], plain);
            assert_eq!(made.is_ok(), is_accepted, "{base} {plain:?}");
            assert!(!matches!(made, Err(CollectorFault::Wrong(_))), "{base} {plain:?}");
        }
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
