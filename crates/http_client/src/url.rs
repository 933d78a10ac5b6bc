//! URL policy: the URLs to which secrets may be sent.

use policy::{HostLocality, PlainHttp, UrlParts, UrlRefusal};
use reqwest::Url;

/// Parses a URL to which secrets may be sent: `https`, or loopback.
///
/// # Errors
/// If secrets must not be sent there, or it is not a URL.
pub fn parse_safe_url(base: &str) -> Result<Url, UrlRefusal> {
    parse_checked_url(base, PlainHttp::Loopback)
}

/// Parses a URL to which secrets may be sent: `https`, or plain HTTP to the hosts that `plain` accepts.
///
/// # Errors
/// If secrets must not be sent there, or it is not a URL.
pub fn parse_checked_url(base: &str, plain: PlainHttp) -> Result<Url, UrlRefusal> {
    let url = Url::parse(base).map_err(|_| UrlRefusal::NotAUrl)?;
    check_url(&url, plain)?;
    Ok(url)
}

/// Checks a URL that the user or a server wrote.
///
/// # Errors
/// If secrets must not be sent there.
pub fn check_url(url: &Url, plain: PlainHttp) -> Result<(), UrlRefusal> {
    let parts = UrlParts {
        scheme: url.scheme(),
        host: url.host_str(),
        username: url.username(),
        password: url.password(),
    };
    parts.check(plain)
}

/// Returns `base` with `path` appended.
pub fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Returns where the host of a URL is: on this machine, or elsewhere.
pub fn locality(url: &Url) -> HostLocality {
    url.host_str().map_or(HostLocality::Elsewhere, HostLocality::of)
}
