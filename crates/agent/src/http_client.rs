//! URL policy and HTTP client for model and telemetry requests: no plain HTTP beyond loopback, no redirects.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Time limits for connecting and for a silent connection.
const CONNECT: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(600);

/// The reason why a URL is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlRejection {
    NoUrl,
    NotHttp,
    /// Plain HTTP to another machine: anyone on the network could read it.
    Open,
    /// It contains a user name or a password.
    Named,
}

/// Parses a URL to which secrets may be sent: `https`, or loopback.
pub(crate) fn parse_safe_url(base: &str) -> Result<Url, UrlRejection> {
    let url = Url::parse(base).map_err(|_| UrlRejection::NoUrl)?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(UrlRejection::NotHttp);
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(UrlRejection::Open);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRejection::Named);
    }
    Ok(url)
}

/// Returns `base` with `path` appended.
pub(crate) fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Builds a client for `url` that follows no redirects.
pub(crate) fn build_client(url: &Url) -> Result<Client, String> {
    install_tls();
    let mut http = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .tcp_nodelay(true)
        .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        // Loopback traffic must not go through a proxy.
        http = http.no_proxy();
    }
    if url.scheme() == "http" {
        // No certificates are needed for plain HTTP, and loading the system's takes a while.
        http = http.tls_certs_only([]);
    }
    http.build().map_err(|error| format!("no connection can be prepared: {error}"))
}

/// Returns the innermost cause of an error. It does not contain the URL.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut why: &dyn std::error::Error = error;
    // ends: at the cause that has no source
    while let Some(cause) = why.source() {
        why = cause;
    }
    why.to_string()
}

/// Returns whether a URL points to this machine (loopback).
pub(crate) fn is_loopback(url: &Url) -> bool {
    let bare = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let loopback = bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    loopback || bare == "localhost" || bare.ends_with(".localhost")
}

/// Installs `ring` as the TLS crypto provider, unless the program has installed one.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
