//! Builds HTTP clients: `ring` for TLS, and no proxy for this machine.

use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use crate::private_resolver::{PrivateResolver, lookup_with_system};
use crate::url::locality;

/// Time limits for connecting and for a silent connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Returns the builder of a client for `url`. Without a call of `redirect`, it follows redirects.
pub fn client_builder(url: &Url) -> ClientBuilder {
    install_tls();
    let builder = Client::builder();
    // Loopback traffic must not go through a proxy.
    if locality(url).is_loopback() { builder.no_proxy() } else { builder }
}

/// Builds a client for `url` that follows no redirects.
///
/// # Errors
/// One sentence, if the system's certificates cannot be loaded.
pub fn build_client(url: &Url) -> Result<Client, String> {
    finish_client(url, client_builder(url))
}

/// Builds a client for `url` that connects to private addresses only, past every proxy. It follows no redirects.
///
/// # Errors
/// One sentence, if the client cannot be built.
pub fn build_private_client(url: &Url) -> Result<Client, String> {
    let resolver = PrivateResolver::new(lookup_with_system);
    finish_client(url, client_builder(url).no_proxy().dns_resolver(Arc::new(resolver)))
}

fn finish_client(url: &Url, builder: ClientBuilder) -> Result<Client, String> {
    let mut http = builder
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .tcp_nodelay(true)
        .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // No certificates are needed for plain HTTP, and loading the system's takes a while.
        http = http.tls_certs_only([]);
    }
    http.build().map_err(|error| format!("no connection can be prepared: {error}"))
}

/// Returns the innermost cause of an error. It does not contain the URL.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut why: &dyn std::error::Error = error;
    // ends: at the cause that has no source
    while let Some(cause) = why.source() {
        why = cause;
    }
    why.to_string()
}

/// Returns the first cause of this type in the chain of `error`.
pub fn find_cause<T: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut cause = std::error::Error::source(error);
    // ends: at the cause that has no source
    while let Some(found) = cause {
        if let Some(found) = found.downcast_ref() {
            return Some(found);
        }
        cause = found.source();
    }
    None
}

/// Installs `ring` as the TLS crypto provider, unless the program has installed one.
pub fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
