//! URL policy and HTTP client for model and telemetry requests: no plain HTTP beyond loopback, no redirects.

use std::sync::Once;
use std::time::Duration;

use policy::{HostLocality, PlainHttp, UrlParts, UrlRefusal};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// Time limits for connecting and for a silent connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Parses a URL to which secrets may be sent: `https`, or loopback.
pub(crate) fn parse_safe_url(base: &str) -> Result<Url, UrlRefusal> {
    let url = Url::parse(base).map_err(|_| UrlRefusal::NotAUrl)?;
    check_url(&url)?;
    Ok(url)
}

/// Checks a URL that the user wrote.
pub(crate) fn check_url(url: &Url) -> Result<(), UrlRefusal> {
    let parts = UrlParts {
        scheme: url.scheme(),
        host: url.host_str(),
        username: url.username(),
        password: url.password(),
    };
    parts.check(PlainHttp::Loopback)
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
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
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

/// Returns whether a URL points to this machine.
fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| HostLocality::of(host).is_loopback())
}

/// Installs `ring` as the TLS crypto provider, unless the program has installed one.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
