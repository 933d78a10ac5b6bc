//! Client of a search engine that answers with JSON, such as SearXNG: `GET URL?q=…&format=json`.

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, StatusCode};
use http_client::{build_client, check_url, root_cause};
use policy::{PlainHttp, UrlRefusal};
use reqwest::Url;
use tool::BoxFuture;

use super::{SearchHit, SearchProvider, SearchQuery, parse_search_hits};
use crate::response_body::read_body;

/// Maximum number of response bytes that are read.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

/// A search engine behind a URL. Redirects are not followed.
pub struct SearchEndpoint {
    http: reqwest::Client,
    url: Url,
    bearer: Option<HeaderValue>,
    timeout: Duration,
}

impl SearchEndpoint {
    /// Creates a client for the engine at `url`, which sends `bearer` as the token and waits at most `timeout`.
    ///
    /// # Errors
    /// One sentence, if the URL or the token is invalid.
    pub fn new(url: &str, bearer: Option<&str>, timeout: Duration) -> Result<Self, String> {
        let no_url = || format!("`{url}` is not an http or https URL");
        let parsed = Url::parse(url).map_err(|_| no_url())?;
        match check_url(&parsed, PlainHttp::Loopback) {
            Ok(()) => {}
            Err(UrlRefusal::NotAUrl | UrlRefusal::NoHost | UrlRefusal::NotHttp) => return Err(no_url()),
            Err(UrlRefusal::Credentials) => {
                return Err(
                    "the URL has a user name or a password in it; use `bearer_token_env_var`".to_owned()
                );
            }
            // The user may choose plain HTTP for searches. A token is never sent over plain HTTP to another machine.
            Err(UrlRefusal::PlainText) if bearer.is_none() => {}
            Err(UrlRefusal::PlainText) => {
                return Err("the token would be shown to everybody on the way: use https".to_owned());
            }
        }
        let header = |token: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| "the token has letters that cannot be sent".to_owned())?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        };
        let bearer = bearer.map(header).transpose()?;
        Ok(Self { http: build_client(&parsed)?, url: parsed, bearer, timeout })
    }

    async fn fetch_hits(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, String> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("q", &query.text).append_pair("format", "json");
        let mut request = self.http.get(url).header(ACCEPT, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        let host = self.url.host_str().unwrap_or_default();
        let sent = request.send().await;
        let response = sent.map_err(|error| format!("{host} cannot be reached: {}", root_cause(&error)))?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::FORBIDDEN => {
                return Err(format!(
                    "{host} refused (403); a SearXNG server needs `json` among `search.formats` of its settings"
                ));
            }
            status => return Err(format!("{host} answered {status}")),
        }
        let printed = read_body(response, MAX_RESPONSE_BYTES)
            .await
            .map_err(|why| format!("{host}: {}", why.message))?;
        parse_search_hits(printed.as_bytes(), query.max_results).map_err(|why| format!("{host}: {why}"))
    }
}

impl SearchProvider for SearchEndpoint {
    fn hosts(&self) -> Vec<String> {
        let (host, port) = (self.url.host_str(), self.url.port_or_known_default());
        host.zip(port).map(|(host, port)| format!("{host}:{port}")).into_iter().collect()
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, String>> {
        let seconds = self.timeout.as_secs();
        Box::pin(async move {
            let found = tokio::time::timeout(self.timeout, self.fetch_hits(query)).await;
            found.unwrap_or_else(|_| Err(format!("nothing came within {seconds} seconds")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_validated_and_hosts_are_listed() {
        let told = |url: &str, bearer: Option<&str>| {
            let endpoint = SearchEndpoint::new(url, bearer, Duration::from_secs(1));
            endpoint.map_or_else(|why| why, |endpoint| endpoint.hosts().join(" "))
        };
        for (url, bearer, expected) in [
            ("https://searx.example.org/search", None, "searx.example.org:443"),
            ("http://searxng:8080/search", None, "searxng:8080"),
            ("http://[::1]:8080/search", Some("t"), "[::1]:8080"),
            (
                "http://searxng:8080/",
                Some("t"),
                "the token would be shown to everybody on the way: use https",
            ),
            ("ftp://x", None, "`ftp://x` is not an http or https URL"),
            ("x", None, "`x` is not an http or https URL"),
            (
                "https://a:b@c",
                None,
                "the URL has a user name or a password in it; use `bearer_token_env_var`",
            ),
        ] {
            assert_eq!(told(url, bearer), expected, "{url}");
        }
    }
}
