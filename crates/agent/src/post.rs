//! Who may be sent something over HTTP, and how: nothing goes in the open, and nothing goes on to somebody else.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// How long it may take until somebody listens, and how long they may then say nothing.
const CONNECT: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(600);

/// Why an address is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    NoUrl,
    NotHttp,
    /// Whoever is on the way could read along.
    Open,
    /// There is a user name or a password in it.
    Named,
}

/// An address that secrets may be sent to: `https`, or on this machine.
pub(crate) fn address(base: &str) -> Result<Url, Unfit> {
    let url = Url::parse(base).map_err(|_| Unfit::NoUrl)?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(Unfit::NotHttp);
    }
    if url.scheme() == "http" && !is_here(&url) {
        return Err(Unfit::Open);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Unfit::Named);
    }
    Ok(url)
}

/// What lies at `path` below `base`.
pub(crate) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Sends to `url`, and follows no redirect from there.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    install_tls();
    let mut http = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .tcp_nodelay(true)
        .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")));
    if is_here(url) {
        // What is said on this machine is nothing for whoever stands between it and others.
        http = http.no_proxy();
    }
    if url.scheme() == "http" {
        // Nobody is asked for certificates that nobody will look at: reading the system's takes a while.
        http = http.tls_certs_only([]);
    }
    http.build().map_err(|error| format!("no connection can be prepared: {error}"))
}

/// What lies behind an error, without the address that it names.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut why: &dyn std::error::Error = error;
    // ends: with the cause that has no cause
    while let Some(cause) = why.source() {
        why = cause;
    }
    why.to_string()
}

/// Whether a URL leads to this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    let bare = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let loopback = bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    loopback || bare == "localhost" || bare.ends_with(".localhost")
}

/// Makes `ring` what does the cryptography, unless the program has chosen already.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that somebody was faster.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
