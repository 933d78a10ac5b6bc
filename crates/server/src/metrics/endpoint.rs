//! The HTTP endpoint of the metrics and the probes: `GET` of `/metrics`, `/livez` and `/readyz`, and nothing else.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use config::OperationFault;
use http::header::{CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use runtime::{AddressClass, LOCALHOST_SPELLINGS};
use tokio::task::JoinSet;

use super::exposition;
use crate::listen_address;

/// The path of the metrics.
const PATH: &str = "/metrics";
/// The path that tells that the server answers.
const LIVE_PATH: &str = "/livez";
/// The path that tells whether sessions can start.
const READY_PATH: &str = "/readyz";
/// The content type of the probes.
const PROBE_TYPE: &str = "text/plain; charset=utf-8";
/// Maximum number of connections; a scraper needs one.
const MAX_CONNECTIONS: usize = 16;
/// Maximum bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The bound endpoint.
#[derive(Debug)]
pub(crate) struct MetricsEndpoint {
    listener: tokio::net::TcpListener,
    hosts: Arc<[String]>,
}

/// The status for a request, by its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScrapeVerdict {
    Admit(ServedPage),
    Refuse(StatusCode),
}

/// A page of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServedPage {
    Metrics,
    Live,
    Ready,
}

/// The content of the pages.
pub(crate) trait PageSource: Send + Sync {
    /// Returns the metrics.
    fn metrics(&self) -> String;
    /// Returns the reason why no session can start, if there is one.
    fn unready_reason(&self) -> Option<&'static str>;
}

impl MetricsEndpoint {
    /// Binds `address`, and says on stderr where the metrics are. Other machines reach it only if `remote_names` has a
    /// name of this machine.
    ///
    /// # Errors
    /// If other machines could reach the address without being allowed, or it cannot be bound.
    pub(crate) fn bind(address: SocketAddr, remote_names: &[String]) -> Result<Self, OperationFault> {
        if remote_names.is_empty() {
            listen_address::require_loopback(address).map_err(|fault| {
                fault.with_hint("take 127.0.0.1, or --allow-remote NAME for scrapers on other machines")
            })?;
        }
        let wrong =
            |error: std::io::Error| listen_address::bind_fault(&format!("metrics at {address}"), &error);
        let listener = TcpListener::bind(address).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(wrong)?;
        let bound = listener.local_addr().map_err(wrong)?;
        terminal::print_stderr(&format!("metrics at http://{bound}{PATH}"));
        Ok(Self { listener, hosts: accepted_hosts(bound, remote_names).into() })
    }

    /// Serves the pages of `source`. Never returns.
    pub(crate) async fn serve(self, source: Arc<dyn PageSource>) {
        let mut connections = JoinSet::new();
        // ends: with the server
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                        let (hosts, source) = (Arc::clone(&self.hosts), Arc::clone(&source));
                        connections.spawn(serve_connection(stream, hosts, source));
                    }
                    Ok((_, from)) => tracing::warn!(%from, "too many connections for metrics"),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

async fn serve_connection(stream: tokio::net::TcpStream, hosts: Arc<[String]>, source: Arc<dyn PageSource>) {
    let answer = service_fn(|request: http::Request<hyper::body::Incoming>| {
        let (head, _) = request.into_parts();
        let (status, kind, body) = answer_request(&head, &hosts, &*source);
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    if let Ok(Err(error)) = tokio::time::timeout(REQUEST_TIMEOUT, connection).await {
        tracing::debug!(%error, "a scrape ended");
    }
}

/// Returns the status, the content type and the body of the answer to a request.
fn answer_request(
    head: &Parts,
    hosts: &[String],
    source: &dyn PageSource,
) -> (StatusCode, &'static str, String) {
    match admit(head, hosts) {
        ScrapeVerdict::Admit(ServedPage::Metrics) => {
            (StatusCode::OK, exposition::CONTENT_TYPE, source.metrics())
        }
        ScrapeVerdict::Admit(ServedPage::Live) => (StatusCode::OK, PROBE_TYPE, "live\n".to_owned()),
        ScrapeVerdict::Admit(ServedPage::Ready) => match source.unready_reason() {
            None => (StatusCode::OK, PROBE_TYPE, "ready\n".to_owned()),
            Some(why) => (StatusCode::SERVICE_UNAVAILABLE, PROBE_TYPE, format!("{why}\n")),
        },
        ScrapeVerdict::Refuse(status) => (status, PROBE_TYPE, refusal_text(status)),
    }
}

fn refusal_text(status: StatusCode) -> String {
    match status {
        StatusCode::FORBIDDEN => {
            format!("{status}: the Host header names another machine; --allow-remote NAME admits it\n")
        }
        _ => format!("{status}; the metrics are at {PATH}\n"),
    }
}

/// Decides about a request. A page in a browser that reaches this address under a name of its own is refused.
fn admit(head: &Parts, hosts: &[String]) -> ScrapeVerdict {
    let mut named = head.headers.get_all(HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => return ScrapeVerdict::Refuse(StatusCode::FORBIDDEN),
    };
    if !hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return ScrapeVerdict::Refuse(StatusCode::FORBIDDEN);
    }
    let page = match head.uri.path() {
        PATH => ServedPage::Metrics,
        LIVE_PATH => ServedPage::Live,
        READY_PATH => ServedPage::Ready,
        _ => return ScrapeVerdict::Refuse(StatusCode::NOT_FOUND),
    };
    match head.method == Method::GET || head.method == Method::HEAD {
        true => ScrapeVerdict::Admit(page),
        false => ScrapeVerdict::Refuse(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// Returns the accepted values of the `Host` header, with and without the port.
fn accepted_hosts(address: SocketAddr, remote_names: &[String]) -> Vec<String> {
    let port = address.port();
    let mut hosts: Vec<String> = LOCALHOST_SPELLINGS.iter().map(|host| format!("{host}:{port}")).collect();
    // An unspecified address (listening on all interfaces) is no host name.
    if AddressClass::of(address.ip()) != AddressClass::Unspecified {
        hosts.push(address.to_string());
    }
    for name in remote_names {
        hosts.extend([format!("{name}:{port}"), name.clone()]);
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_get_of_the_metrics_by_a_name_of_this_server_is_admitted() {
        let hosts = accepted_hosts("0.0.0.0:9100".parse().unwrap(), &["10.0.0.7".to_owned()]);
        let verdict = |method: &str, path: &str, host: &[&str]| {
            let mut request = http::Request::builder().method(method).uri(path);
            for host in host {
                request = request.header(HOST, *host);
            }
            match admit(&request.body(()).unwrap().into_parts().0, &hosts) {
                ScrapeVerdict::Admit(_) => 200,
                ScrapeVerdict::Refuse(status) => status.as_u16(),
            }
        };
        for (method, path, host, expected) in [
            ("GET", "/metrics", &["127.0.0.1:9100"][..], 200),
            ("HEAD", "/metrics", &["LOCALHOST:9100"], 200),
            ("GET", "/metrics", &["10.0.0.7:9100"], 200),
            ("GET", "/metrics?x=1", &["10.0.0.7"], 200),
            ("GET", "/livez", &["10.0.0.7:9100"], 200),
            ("GET", "/readyz", &["10.0.0.7:9100"], 200),
            ("POST", "/readyz", &["10.0.0.7:9100"], 405),
            ("GET", "/livez", &["evil.example:9100"], 403),
            ("GET", "/", &["127.0.0.1:9100"], 404),
            ("POST", "/metrics", &["127.0.0.1:9100"], 405),
            ("GET", "/metrics", &["evil.example:9100"], 403),
            ("GET", "/metrics", &["0.0.0.0:9100"], 403),
            ("GET", "/metrics", &["127.0.0.1:9100", "127.0.0.1:9100"], 403),
            ("GET", "/metrics", &[], 403),
        ] {
            assert_eq!(verdict(method, path, host), expected, "{method} {path} {host:?}");
        }
    }
}
